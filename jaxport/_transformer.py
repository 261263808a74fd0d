"""Transformer layers in Flax NNX whose dropout masks are handed over (Vaswani et al. 2017, arXiv:1706.03762).

jax.nn.dot_product_attention computes its softmax in float32 whatever the inputs are, which no float64 twin
can use, and it takes no dropout mask: attention is spelled out here. `kinds` are what every Flax layer takes:
dtype, in which it computes, param_dtype and rngs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport._dense import Dense
from jaxport._dropout import dropout
from jaxport._gelu import gelu
from jaxport._nnx import Place
from workloads._transformer import Block

Paths = Iterator[tuple[str, Place]]


class MultiHeadAttention(nnx.Module):
    """queries [batch, q, width] over memory [batch, k, width] -> [batch, q, width].

    `project` and `attend` are the two halves, for a decoder that keeps keys and values of earlier positions.
    """

    def __init__(self, block: Block, **kinds: Any) -> None:
        self.block = block
        width, inner = block.width, (block.heads, block.depth)
        kinds = {"use_bias": block.attention_bias, **kinds}
        self.query = Dense(width, inner, **kinds)
        self.key = Dense(width, inner, **kinds)
        self.value = Dense(width, inner, **kinds)
        self.output = Dense(inner, width, **kinds)

    def __call__(
        self, queries: jax.Array, memory: jax.Array, mask: jax.Array | None = None, draws: jax.Array | None = None
    ) -> jax.Array:
        """The mask broadcasts to [batch, heads, q, k], true where attention may look; draws are u8 of that shape.

        Args:
          queries: [batch, q, width].
          memory: [batch, k, width].
          mask: bool, broadcast to [batch, heads, q, k]; None lets every position look everywhere.
          draws: u8[batch, heads, q, k] of the dropout; None for none.
        """
        return self.attend(self.query(queries), *self.project(memory), mask, draws)

    def project(self, memory: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Keys and values [batch, k, heads, depth].

        Args:
          memory: [batch, k, width].
        """
        return self.key(memory), self.value(memory)

    def attend(
        self,
        query: jax.Array,
        key: jax.Array,
        value: jax.Array,
        mask: jax.Array | None = None,
        draws: jax.Array | None = None,
    ) -> jax.Array:
        """Projected queries [batch, q, heads, depth] over keys and values -> [batch, q, width].

        Args:
          query: [batch, q, heads, depth].
          key: [batch, k, heads, depth].
          value: [batch, k, heads, depth].
          mask: bool, broadcast to [batch, heads, q, k]; None lets every position look everywhere.
          draws: u8[batch, heads, q, k] of the dropout; None for none.
        """
        scores = jnp.einsum("bqhd,bkhd->bhqk", query * self.block.depth**-0.5, key)
        if mask is not None:
            scores = jnp.where(mask, scores, _mask_value(scores.dtype))
        weights = jax.nn.softmax(scores)
        if draws is not None:
            weights = dropout(weights, draws, self.block.rate)
        return self.output(jnp.einsum("bhqk,bkhd->bqhd", weights, value))


class FeedForward(nnx.Module):
    """[..., width] -> hidden, the activation -> [..., width]."""

    def __init__(self, block: Block, **kinds: Any) -> None:
        self.expand = Dense(block.width, block.hidden, **kinds)
        self.contract = Dense(block.hidden, block.width, **kinds)
        self.activation = _ACTIVATIONS[block.activation]

    def __call__(self, inputs: jax.Array) -> jax.Array:
        """Two dense layers.

        Args:
          inputs: [batch, length, width].
        """
        return self.contract(self.activation(self.expand(inputs)))


class Residual(nnx.Module):
    """A sublayer, dropout, the residual connection, and layer norm last."""

    def __init__(self, block: Block, **kinds: Any) -> None:
        self.block = block
        self.norm = layer_norm(block, **kinds)

    def __call__(
        self, inputs: jax.Array, sublayer: Callable[[jax.Array], jax.Array], draws: jax.Array | None = None
    ) -> jax.Array:
        """Inputs plus what the sublayer makes of them; draws are u8 of the inputs' shape.

        Args:
          inputs: [batch, length, width].
          draws: u8 of the inputs' shape; None for no dropout.
        """
        branch = sublayer(inputs)
        return self.norm(inputs + (branch if draws is None else dropout(branch, draws, self.block.rate)))


class EncoderBlock(nnx.Module):
    """Self-attention and feed-forward, each in a residual connection: [batch, length, width] -> the same."""

    def __init__(self, block: Block, **kinds: Any) -> None:
        self.attention = MultiHeadAttention(block, **kinds)
        self.attention_residual = Residual(block, **kinds)
        self.feed_forward = FeedForward(block, **kinds)
        self.feed_forward_residual = Residual(block, **kinds)

    def __call__(
        self,
        inputs: jax.Array,
        mask: jax.Array | None = None,
        attention_draws: jax.Array | None = None,
        hidden_draws: jax.Array | None = None,
    ) -> jax.Array:
        """Attention draws u8[batch, heads, length, length], hidden draws u8[2, batch, length, width].

        Args:
          inputs: [batch, length, width].
          mask: bool, broadcast to [batch, heads, length, length]; None lets every position look everywhere.
          attention_draws: u8[batch, heads, length, length].
          hidden_draws: u8[2, batch, length, width].
        """
        first, second = parts_of(hidden_draws, 2)
        states = self.attention_residual(inputs, lambda x: self.attention(x, x, mask, attention_draws), first)
        return self.feed_forward_residual(states, self.feed_forward, second)


class DecoderBlock(nnx.Module):
    """Self-attention, attention over a memory and feed-forward, each in a residual connection."""

    def __init__(self, block: Block, **kinds: Any) -> None:
        self.attention = MultiHeadAttention(block, **kinds)
        self.attention_residual = Residual(block, **kinds)
        self.memory_attention = MultiHeadAttention(block, **kinds)
        self.memory_attention_residual = Residual(block, **kinds)
        self.feed_forward = FeedForward(block, **kinds)
        self.feed_forward_residual = Residual(block, **kinds)

    def __call__(
        self,
        inputs: jax.Array,
        memory: jax.Array,
        masks: tuple[jax.Array, jax.Array],
        attention_draws: jax.Array | None = None,
        hidden_draws: jax.Array | None = None,
    ) -> jax.Array:
        """The block's states [batch, length, width], from those before it and from what it attends to.

        Args:
          inputs: [batch, length, width].
          memory: [batch, source, width].
          masks: bool: over the inputs, and over the memory.
          attention_draws: u8[2, batch, heads, length, source], where source is length; None for no dropout.
          hidden_draws: u8[3, batch, length, width]; None for no dropout.
        """
        own, foreign = parts_of(attention_draws, 2)
        first, second, third = parts_of(hidden_draws, 3)
        states = self.attention_residual(inputs, lambda x: self.attention(x, x, masks[0], own), first)
        states = self.memory_attention_residual(
            states, lambda x: self.memory_attention(x, memory, masks[1], foreign), second
        )
        return self.feed_forward_residual(states, self.feed_forward, third)


def parts_of(draws: jax.Array | None, number: int) -> tuple[jax.Array | None, ...]:
    """Draws u8[number, ...] one by one; each None where there are none, so that nothing is dropped."""
    return tuple(None if draws is None else draws[part] for part in range(number))


def layer_norm(block: Block, **kinds: Any) -> nnx.LayerNorm:
    """Layer norm whose variance is that of the deviations: E[x^2] - E[x]^2 cancels where the mean is large."""
    return nnx.LayerNorm(block.width, epsilon=block.epsilon, use_fast_variance=False, **kinds)


_ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {"gelu": gelu, "relu": nnx.relu}


def dense_paths(name: str, path: Place, bias: bool = True) -> Paths:
    """Canonical names of kernel and bias, if there is one, and their places in the module.

    Args:
      bias: whether there is one.
    """
    return ((f"{name}/{leaf}", (*path, leaf)) for leaf in ("kernel", "bias")[: 1 + bias])


def norm_paths(name: str, path: Place) -> Paths:
    """Canonical names of gamma and beta, and their places in the module."""
    return ((f"{name}/{leaf}", (*path, flax)) for leaf, flax in (("gamma", "scale"), ("beta", "bias")))


def attention_paths(name: str, path: Place, bias: bool = True) -> Paths:
    """Canonical names of the four projections, and their places in the module.

    Args:
      bias: whether the projections have biases.
    """
    for part in ("query", "key", "value", "output"):
        yield from dense_paths(f"{name}/{part}", (*path, part), bias)


def feed_forward_paths(name: str, path: Place) -> Paths:
    """Canonical names of both dense layers, and their places in the module."""
    for part in ("expand", "contract"):
        yield from dense_paths(f"{name}/{part}", (*path, part))


def encoder_block_paths(name: str, path: Place, attention_bias: bool = True) -> Paths:
    """Canonical names of a block, and their places in the module.

    Args:
      attention_bias: whether the projections have biases.
    """
    yield from attention_paths(f"{name}/attention", (*path, "attention"), attention_bias)
    yield from norm_paths(f"{name}/attention_norm", (*path, "attention_residual", "norm"))
    yield from feed_forward_paths(f"{name}/feed_forward", (*path, "feed_forward"))
    yield from norm_paths(f"{name}/feed_forward_norm", (*path, "feed_forward_residual", "norm"))


def decoder_block_paths(name: str, path: Place, attention_bias: bool = True) -> Paths:
    """Canonical names of a block, and their places in the module.

    Args:
      attention_bias: whether the projections have biases.
    """
    yield from encoder_block_paths(name, path, attention_bias)
    yield from attention_paths(f"{name}/memory_attention", (*path, "memory_attention"), attention_bias)
    yield from norm_paths(f"{name}/memory_attention_norm", (*path, "memory_attention_residual", "norm"))


def _mask_value(dtype: jnp.dtype) -> float:
    # Those of keras.layers.Softmax: float16 ends at 65504.
    return -3e4 if dtype == jnp.float16 else -1e9
