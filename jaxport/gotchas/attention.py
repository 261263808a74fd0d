"""Attention in JAX with its weights as arguments."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx


def _mha(query: jax.Array, key: jax.Array, value: jax.Array, output: jax.Array) -> Any:
    layer: Any = nnx.MultiHeadAttention(2, 6, 8, use_bias=False, decode=False, rngs=nnx.Rngs(0))
    parts = layer.query, layer.key, layer.value, layer.out
    for part, kernel in zip(parts, (query, key, value, output), strict=True):
        part.kernel[...] = kernel
    return layer


def mha_argument_order(query: jax.Array, value: jax.Array, key: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, key, value)


def naive_mha_argument_order(query: jax.Array, value: jax.Array, key: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, value, key)


def mha_key_dim(query: jax.Array, value: jax.Array, *weights: jax.Array) -> jax.Array:
    return _attention(query, value, weights, scale=4**-0.5)


def naive_mha_key_dim(query: jax.Array, value: jax.Array, *weights: jax.Array) -> jax.Array:
    return _attention(query, value, weights, scale=8**-0.5)


def _attention(query: jax.Array, values: jax.Array, weights: Any, scale: float | None = None) -> jax.Array:
    query, key, value = (
        jnp.einsum("btd,dhk->bthk", sequence, kernel)
        for sequence, kernel in zip((query, values, values), weights[:3], strict=True)
    )
    return jnp.einsum("bthk,hkd->btd", jax.nn.dot_product_attention(query, key, value, scale=scale), weights[3])


def mha_mask_polarity(query: jax.Array, value: jax.Array, mask: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, value, mask=mask[:, None])


def naive_mha_mask_polarity(query: jax.Array, value: jax.Array, mask: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, value, mask=~mask[:, None])


def mha_query_mask(
    query: jax.Array, value: jax.Array, query_mask: jax.Array, value_mask: jax.Array, *weights: jax.Array
) -> jax.Array:
    return _mha(*weights)(query, value, mask=value_mask[:, None, None, :])


def naive_mha_query_mask(
    query: jax.Array, value: jax.Array, query_mask: jax.Array, value_mask: jax.Array, *weights: jax.Array
) -> jax.Array:
    return _mha(*weights)(query, value, mask=nnx.make_attention_mask(query_mask, value_mask, jnp.logical_and))


def mha_causal_and_mask(query: jax.Array, value: jax.Array, mask: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, value, mask=mask[:, None] & jnp.tril(jnp.ones((4, 5), bool)))


def naive_mha_causal_and_mask(query: jax.Array, value: jax.Array, mask: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, value, mask=mask[:, None])


def mha_causal_lengths(query: jax.Array, value: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, value, mask=jnp.tril(jnp.ones((4, 5), bool)))


def naive_mha_causal_lengths(query: jax.Array, value: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, value, mask=jnp.tril(jnp.ones((4, 5), bool), 5 - 4))


def mha_scores(query: jax.Array, value: jax.Array, *weights: jax.Array) -> jax.Array:
    queries, key = (
        jnp.einsum("btd,dhk->bthk", sequence, kernel)
        for sequence, kernel in zip((query, value), weights[:2], strict=True)
    )
    return jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", queries * 4**-0.5, key))


def naive_mha_scores(query: jax.Array, value: jax.Array, *weights: jax.Array) -> jax.Array:
    return mha_scores(query, value, *weights).mean(1)


def grouped_query_heads(query: jax.Array, value: jax.Array, *weights: jax.Array) -> jax.Array:
    queries, key, values, output = weights
    return _attention(query, value, (queries, jnp.repeat(key, 2, 1), jnp.repeat(values, 2, 1), output))


def naive_grouped_query_heads(query: jax.Array, value: jax.Array, *weights: jax.Array) -> jax.Array:
    queries, key, values, output = weights
    return _attention(query, value, (queries, jnp.tile(key, (1, 2, 1)), jnp.tile(values, (1, 2, 1)), output))


def _one_head(query: jax.Array, key: jax.Array, value: jax.Array, scale: float | None = None) -> jax.Array:
    query, key, value = (sequence[:, :, None] for sequence in (query, key, value))
    return jax.nn.dot_product_attention(query, key, value, scale=scale)[:, :, 0]


def attention_masked_row(query: jax.Array, value: jax.Array, value_mask: jax.Array) -> jax.Array:
    absent = ~(value_mask & (jnp.arange(2)[:, None] > 0))
    scores = query @ value.swapaxes(1, 2) - 1e9 * absent[:, None].astype(query.dtype)
    return jax.nn.softmax(scores) @ value


def naive_attention_masked_row(query: jax.Array, value: jax.Array, value_mask: jax.Array) -> jax.Array:
    present = value_mask & (jnp.arange(2)[:, None] > 0)
    scores = jnp.where(present[:, None], query @ value.swapaxes(1, 2), -jnp.inf)
    return jax.nn.softmax(scores) @ value


def additive_attention_scale(query: jax.Array, value: jax.Array, key: jax.Array, scale: jax.Array) -> jax.Array:
    scores = (scale * jnp.tanh(query[:, :, None] + key[:, None])).sum(-1)
    return jax.nn.softmax(scores) @ value


def naive_additive_attention_scale(query: jax.Array, value: jax.Array, key: jax.Array, scale: jax.Array) -> jax.Array:
    scores = jnp.tanh(query[:, :, None] + key[:, None]).sum(-1)
    return jax.nn.softmax(scores) @ value


def mha(query: jax.Array, value: jax.Array, key: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, key, value)


def mha_causal(query: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, mask=nnx.make_causal_mask(query[..., 0]))


def mha_masked_row(query: jax.Array, value: jax.Array, mask: jax.Array, *weights: jax.Array) -> jax.Array:
    return _mha(*weights)(query, value, mask=(mask & (jnp.arange(4)[:, None] > 0))[:, None])
