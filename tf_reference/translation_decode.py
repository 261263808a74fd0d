"""Greedy and beam search in a tf.while_loop, with the translation model's weights."""

from typing import Any, NamedTuple

import tensorflow as tf

from tf_reference import Model
from tf_reference._transformer import DecoderBlock
from tf_reference.translation import Translator
from workloads import _parallel_text
from workloads.core.spec import Dimensions
from workloads.translation_decode import NEVER, PENALTY


class Beams(NamedTuple):
    """tokens i32[batch, beams, steps], last i32[batch, beams], scores [batch, beams], ended bool[batch, beams].

    caches: keys and values [batch * beams, steps, heads, depth] of each layer.
    """

    time: tf.Tensor
    tokens: Any
    last: Any
    scores: Any
    ended: Any
    caches: list[tuple[Any, Any]]


class Search:
    """Beam search over a source; a beam of one is greedy."""

    def __init__(self, model: Translator, beams: int, steps: int) -> None:
        self.model, self.beams, self.steps = model, beams, steps

    def __call__(self, memory: tf.Tensor, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Memory [batch, source, width], words bool[batch, source] -> tokens [batch, beams, steps] and scores."""
        memories = tf.repeat(memory, self.beams, axis=0)
        projections = [block.memory_attention.project(memories) for block in self.model.decoder]
        mask = tf.repeat(words, self.beams, axis=0)[:, tf.newaxis, tf.newaxis]

        def going_on(time: tf.Tensor, *state: Any) -> tf.Tensor:
            return (time < self.steps) & ~tf.reduce_all(Beams(time, *state).ended)

        def extend(*state: Any) -> Beams:
            return self.extend(Beams(*state), projections, mask)

        final = tf.while_loop(going_on, extend, self.start(memory))
        length = tf.reduce_sum(tf.cast(final.tokens != _parallel_text.PAD, memory.dtype), -1)
        scores, order = tf.math.top_k(final.scores / ((5 + length) / 6) ** PENALTY, self.beams)
        return tf.gather(final.tokens, order, batch_dims=1), scores

    def start(self, memory: Any) -> Beams:
        """Make the state before the first step: one beam is possible, so that the others do not repeat it."""
        batch, block = memory.shape[0], self.model.block
        shape = (batch, self.beams)
        cache = tf.zeros((batch * self.beams, self.steps, block.heads, block.depth), memory.dtype)
        impossible = tf.fill((batch, self.beams - 1), tf.constant(NEVER, memory.dtype))
        return Beams(
            time=tf.constant(0),
            tokens=tf.fill((*shape, self.steps), _parallel_text.PAD),
            last=tf.fill(shape, _parallel_text.START),
            scores=tf.concat([tf.zeros((batch, 1), memory.dtype), impossible], 1),
            ended=tf.zeros(shape, tf.bool),
            caches=[(cache, cache) for _ in self.model.decoder],
        )

    def extend(self, state: Beams, projections: list[Any], mask: tf.Tensor) -> Beams:
        """Extend every beam by one token; a beam that ended only by padding, at no cost.

        Args:
          projections: by block, keys and values of the memory.
          mask: bool, false for padding of the memory.
        """
        logits, caches = self.next_logits(state, projections, mask)
        batch, vocabulary = state.last.shape[0], logits.shape[-1]
        steps = tf.reshape(tf.nn.log_softmax(logits), (batch, self.beams, vocabulary))
        padding = tf.where(tf.range(vocabulary) == _parallel_text.PAD, tf.zeros((), steps.dtype), NEVER)
        totals = state.scores[..., tf.newaxis] + tf.where(state.ended[..., tf.newaxis], padding, steps)
        scores, choices = tf.math.top_k(tf.reshape(totals, (batch, -1)), self.beams)
        parents, last = choices // vocabulary, choices % vocabulary
        rows = tf.reshape(parents + tf.range(batch)[:, tf.newaxis] * self.beams, [-1])
        tokens = tf.gather(state.tokens, parents, batch_dims=1)
        return Beams(
            time=state.time + 1,
            tokens=tf.where(tf.range(self.steps) == state.time, last[..., tf.newaxis], tokens),
            last=last,
            scores=scores,
            ended=tf.gather(state.ended, parents, batch_dims=1) | (last == _parallel_text.END),
            caches=[(tf.gather(key, rows), tf.gather(value, rows)) for key, value in caches],
        )

    def next_logits(self, state: Beams, projections: list[Any], mask: tf.Tensor) -> tuple[tf.Tensor, list[Any]]:
        """Logits [batch * beams, vocabulary] of the next token, and the caches with the last one in them.

        Args:
          projections: by block, keys and values of the memory.
          mask: bool, false for padding of the memory.
        """
        model, now = self.model, tf.range(self.steps) == state.time
        tokens = model.embedding(tf.reshape(state.last, (-1, 1))) * model.block.width**0.5
        states = tokens + tf.gather(model.sines(self.steps), state.time)
        caches = []
        for block, cache, memory in zip(model.decoder, state.caches, projections, strict=True):
            states, cache = _decode_block(block, states, cache, memory, now, mask)
            caches.append(cache)
        return model.embedding(states[:, 0], reverse=True), caches


def _decode_block(
    block: DecoderBlock, states: tf.Tensor, cache: Any, memory: Any, now: tf.Tensor, mask: tf.Tensor
) -> tuple[tf.Tensor, Any]:
    """Run states [rows, 1, width] through a block; `now` bool[steps] is true at their position in the cache."""
    earlier = tf.cumsum(tf.cast(now, tf.int32), reverse=True) > 0

    def attend(values: tf.Tensor) -> Any:
        nonlocal cache
        new = block.attention.project(values)
        cache = tuple(tf.where(now[:, tf.newaxis, tf.newaxis], *pair) for pair in zip(new, cache, strict=True))
        return block.attention.attend(block.attention.query(values), *cache, mask=earlier)

    def attend_memory(values: tf.Tensor) -> Any:
        attention = block.memory_attention
        return attention.attend(attention.query(values), *memory, mask=mask)

    states = block.attention_residual(states, sublayer=attend)
    states = block.memory_attention_residual(states, sublayer=attend_memory)
    return block.feed_forward_residual(states, sublayer=block.feed_forward), cache


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/translation_decode.py: source [batch, length] -> tokens and scores of both searches."""
    model = Translator(dimensions, dtype=dtype, name="translator")
    searches = {name: Search(model, beams, dimensions["steps"]) for name, beams in _searches(dimensions)}

    def forward(source: tf.Tensor) -> dict[str, Any]:
        words = source != _parallel_text.PAD
        memory = model.encode(source)
        results = {name: search(memory, words) for name, search in searches.items()}
        # Which words are best has no gradient, and the loop that finds them no bound to unroll it by.
        return {
            name: {"tokens": tokens, "scores": tf.stop_gradient(scores)} for name, (tokens, scores) in results.items()
        }

    return Model(forward, model.canonical())


def _searches(dimensions: Dimensions) -> list[tuple[str, int]]:
    return [("greedy", 1), ("beams", dimensions["beams"])]
