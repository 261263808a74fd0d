"""Greedy and beam search in a lax.while_loop, with the translation model's weights."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import Model
from jaxport._nnx import Parameters
from jaxport._transformer import DecoderBlock
from jaxport.translation import Translator, network, weight_map
from workloads import _parallel_text
from workloads.core.spec import Dimensions
from workloads.translation_decode import NEVER, PENALTY

Cache = tuple[jax.Array, jax.Array]
"""Keys and values [batch * beams, positions, heads, depth]."""


class Beams(NamedTuple):
    """tokens i32[batch, beams, steps], last i32[batch, beams], scores [batch, beams], ended bool[batch, beams]."""

    time: jax.Array
    tokens: jax.Array
    last: jax.Array
    scores: jax.Array
    ended: jax.Array
    caches: list[Cache]


def search(
    model: Translator, memory: jax.Array, words: jax.Array, beams: int, steps: int
) -> tuple[jax.Array, jax.Array]:
    """Tokens i32[batch, beams, steps], the best beam first, and scores [batch, beams]; a beam of one is greedy.

    Args:
      model: with its weights.
      memory: [batch, source, width], of the encoder.
      words: bool[batch, source], false for padding.
      beams: how many translations are followed.
      steps: how many tokens each may have.
    """
    # The memory's keys and values are the same for every beam: projected once, then repeated.
    memory_pairs = [
        jax.tree.map(partial(jnp.repeat, repeats=beams, axis=0), block.memory_attention.project(memory))
        for block in model.decoder
    ]
    mask = jnp.repeat(words, beams, axis=0)[:, None, None]

    def going_on(state: Beams) -> jax.Array:
        return (state.time < steps) & ~state.ended.all()

    final = jax.lax.while_loop(
        going_on, partial(_extend, model, memory_pairs, mask), _start(model, memory, beams, steps)
    )
    length = (final.tokens != _parallel_text.PAD).sum(-1).astype(memory.dtype)
    scores, order = jax.lax.top_k(final.scores / ((5 + length) / 6) ** PENALTY, beams)
    return jnp.take_along_axis(final.tokens, order[..., None], 1), scores


def _start(model: Translator, memory: jax.Array, beams: int, steps: int) -> Beams:
    """Before the first step: one beam is possible, so that the others do not repeat it."""
    shape, block = (memory.shape[0], beams), model.block
    cache = jnp.zeros((shape[0] * beams, steps, block.heads, block.depth), memory.dtype)
    return Beams(
        time=jnp.zeros((), jnp.int32),
        tokens=jnp.full((*shape, steps), _parallel_text.PAD, jnp.int32),
        last=jnp.full(shape, _parallel_text.START, jnp.int32),
        scores=jnp.full(shape, NEVER, memory.dtype).at[:, 0].set(0),
        ended=jnp.zeros(shape, bool),
        caches=[(cache, cache) for _ in model.decoder],
    )


def _extend(model: Translator, memory_pairs: list[Cache], mask: jax.Array, state: Beams) -> Beams:
    """Every beam by one token; those that ended only by padding, at no cost."""
    logits, caches = _next_logits(model, memory_pairs, mask, state)
    (batch, beams), vocabulary = state.last.shape, logits.shape[-1]
    steps = jax.nn.log_softmax(logits).reshape(batch, beams, vocabulary)
    padding = jnp.where(jnp.arange(vocabulary) == _parallel_text.PAD, 0, jnp.asarray(NEVER, steps.dtype))
    totals = state.scores[..., None] + jnp.where(state.ended[..., None], padding, steps)
    scores, places = jax.lax.top_k(totals.reshape(batch, -1), beams)
    parents, last = jnp.divmod(places, vocabulary)
    rows = (parents + jnp.arange(batch)[:, None] * beams).ravel()
    tokens = jnp.take_along_axis(state.tokens, parents[..., None], 1)
    return Beams(
        time=state.time + 1,
        tokens=jax.lax.dynamic_update_index_in_dim(tokens, last, state.time, 2),
        last=last,
        scores=scores,
        ended=jnp.take_along_axis(state.ended, parents, 1) | (last == _parallel_text.END),
        caches=jax.tree.map(lambda cache: cache.at[rows].get(mode="promise_in_bounds"), caches),
    )


def _next_logits(
    model: Translator, memory_pairs: list[Cache], mask: jax.Array, state: Beams
) -> tuple[jax.Array, list[Cache]]:
    """Logits [batch * beams, vocabulary] of the next token, and the caches with the last one in them."""
    states = model.embedding(state.last.reshape(-1, 1)) * model.block.width**0.5
    states += model.sines(state.tokens.shape[-1], states.dtype)[state.time]
    caches = []
    for block, cache, memory in zip(model.decoder, state.caches, memory_pairs, strict=True):
        states, cache = _decode(block, states, cache, memory, state.time, mask)
        caches.append(cache)
    return model.embedding.attend(states[:, 0]), caches


def _decode(
    block: DecoderBlock, states: jax.Array, cache: Cache, memory: Cache, time: jax.Array, mask: jax.Array
) -> tuple[jax.Array, Cache]:
    """States [rows, 1, width] at a position through a block, and the cache with them in it."""
    earlier = jnp.arange(cache[0].shape[1]) <= time

    def attend(values: jax.Array) -> jax.Array:
        nonlocal cache
        new = block.attention.project(values)
        write = partial(jax.lax.dynamic_update_slice_in_dim, start_index=time, axis=1)
        cache = write(cache[0], new[0]), write(cache[1], new[1])
        return block.attention.attend(block.attention.query(values), *cache, earlier)

    def attend_memory(values: jax.Array) -> jax.Array:
        attention = block.memory_attention
        return attention.attend(attention.query(values), *memory, mask)

    states = block.attention_residual(states, attend)
    states = block.memory_attention_residual(states, attend_memory)
    return block.feed_forward_residual(states, block.feed_forward), cache


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/translation_decode.py: source [batch, length] -> tokens and scores of both searches."""
    graph, weights = network(dimensions, dtype), weight_map(dimensions)

    # Compiled as a whole even in eager mode: a loop over functions made anew would be compiled at every call.
    @jax.jit
    def decode(parameters: Parameters, source: jax.Array) -> dict[str, Any]:
        model = nnx.merge(graph, parameters)
        words = source != _parallel_text.PAD
        memory = model.encode(source)
        by_search = {}
        for name, beams in (("greedy", 1), ("beams", dimensions["beams"])):
            tokens, scores = search(model, memory, words, beams, dimensions["steps"])
            by_search[name] = {"tokens": tokens, "scores": scores}
        return by_search

    def forward(parameters: Parameters, source: jax.Array) -> dict[str, Any]:
        # Which words are best has no gradient, and the loop that finds them no bound to unroll it by.
        return decode(jax.lax.stop_gradient(parameters), source)

    return Model(forward, weights.from_weights, weights.to_weights)
