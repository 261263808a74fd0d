"""The Transformer that translates in Flax NNX (Vaswani et al. 2017)."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import Model, optimizers
from jaxport._dropout import dropout
from jaxport._nnx import Parameters, WeightMap, structure, trainable_model
from jaxport._transformer import (
    DecoderBlock,
    EncoderBlock,
    Paths,
    decoder_block_paths,
    encoder_block_paths,
    parts_of,
)
from jaxport.loss_scaling import scaled_for
from jaxport.schedules import inverse_square_root
from workloads import _parallel_text, translation
from workloads.core.precision import compute_dtype
from workloads.core.spec import Dimensions


class Translator(nnx.Module):
    """source and target words so far [batch, length] -> logits [batch, length, vocabulary], in the parameters' type."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        self.block = translation.block_of(dimensions)
        layers = range(dimensions["layers"])
        self.embedding = nnx.Embed(dimensions["vocabulary"], self.block.width, **kinds)
        self.encoder = nnx.List([EncoderBlock(self.block, **kinds) for _ in layers])
        self.decoder = nnx.List([DecoderBlock(self.block, **kinds) for _ in layers])

    def __call__(
        self,
        source: jax.Array,
        target: jax.Array,
        embedding_draws: jax.Array | None = None,
        encoder_attention_draws: jax.Array | None = None,
        encoder_hidden_draws: jax.Array | None = None,
        decoder_attention_draws: jax.Array | None = None,
        decoder_hidden_draws: jax.Array | None = None,
    ) -> jax.Array:
        """Logits [batch, length, vocabulary]; without draws nothing is dropped.

        Args:
          source: i32[batch, length].
          target: i32[batch, length], the words so far.
          embedding_draws: u8[2, batch, length, width].
          encoder_attention_draws: u8[layers, batch, heads, length, length].
          encoder_hidden_draws: u8[layers, 2, batch, length, width].
          decoder_attention_draws: u8[layers, 2, batch, heads, length, length].
          decoder_hidden_draws: u8[layers, 3, batch, length, width].
        """
        words = (source != _parallel_text.PAD)[:, None, None]
        of_source, of_target = parts_of(embedding_draws, 2)
        memory = self.encode(source, of_source, encoder_attention_draws, encoder_hidden_draws)
        earlier = jnp.tri(target.shape[1], dtype=bool)
        states = self.embed(target, of_target)
        number = len(self.decoder)
        draws = zip(parts_of(decoder_attention_draws, number), parts_of(decoder_hidden_draws, number), strict=True)
        for block, (attention, hidden) in zip(self.decoder, draws, strict=True):
            states = block(states, memory, (earlier, words), attention, hidden)
        return self.embedding.attend(states).astype(self.embedding.param_dtype)

    def encode(
        self,
        source: jax.Array,
        embedding_draws: jax.Array | None = None,
        attention_draws: jax.Array | None = None,
        hidden_draws: jax.Array | None = None,
    ) -> jax.Array:
        """Encode the source: the memory [batch, length, width]; without draws no dropout.

        Args:
          source: i32[batch, length].
          embedding_draws: u8[batch, length, width].
          attention_draws: u8[layers, batch, heads, length, length].
          hidden_draws: u8[layers, 2, batch, length, width].
        """
        words = (source != _parallel_text.PAD)[:, None, None]
        memory = self.embed(source, embedding_draws)
        for layer, block in enumerate(self.encoder):
            draws = [None if by_layer is None else by_layer[layer] for by_layer in (attention_draws, hidden_draws)]
            memory = block(memory, words, *draws)
        return memory

    def embed(self, tokens: jax.Array, draws: jax.Array | None) -> jax.Array:
        """Embed tokens at their positions, with dropout: [batch, length, width]."""
        rows = self.embedding(tokens)
        values = rows * self.block.width**0.5 + self.sines(tokens.shape[1], rows.dtype)
        return values if draws is None else dropout(values, draws, self.block.rate)

    def sines(self, length: int, dtype: jnp.dtype) -> jax.Array:
        """Sinusoids that encode positions: [length, width]."""
        return jnp.asarray(translation.positions(length, self.block.width), dtype)


def smoothed_cross_entropy(logits: jax.Array, targets: jax.Array, smoothing: float) -> jax.Array:
    """Cross entropy with labels of which `smoothing` is spread over the vocabulary; logits [..., vocabulary] -> [...].

    Without the labels as an array: log(sum(exp(logits))) less the wanted logit and the mean of all, by their shares.
    A comparison picks the wanted logit, since the gradient of a gather would be a scatter into all logits.

    Args:
      logits: [..., vocabulary].
      targets: i32[...].
      smoothing: the part of a label that all words share.
    """
    is_target = jnp.arange(logits.shape[-1]) == targets[..., None]
    target_logits = jnp.where(is_target, logits, 0).sum(-1)
    return jax.nn.logsumexp(logits, axis=-1) - (1 - smoothing) * target_logits - smoothing * logits.mean(-1)


def network(dimensions: Dimensions, dtype: str) -> nnx.GraphDef[Translator]:
    """The translator without its weights."""
    kinds = {"dtype": jnp.dtype(compute_dtype(dimensions, dtype)), "param_dtype": jnp.dtype(dtype)}
    return structure(lambda: Translator(dimensions, **kinds, rngs=nnx.Rngs(0)))


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/translation.py."""
    graph, weights = network(dimensions, dtype), weight_map(dimensions)
    rate = inverse_square_root(dimensions["width"], dimensions["warm_up"])
    adam = optimizers.adam(rate, beta_2=translation.BETA_2, epsilon=translation.EPSILON)
    optimizer = scaled_for(compute_dtype(dimensions, dtype), adam)

    def forward(parameters: Parameters, source: jax.Array, target: jax.Array, *draws: jax.Array) -> jax.Array:
        return nnx.merge(graph, parameters)(source, target[:, :-1])

    def loss(parameters: Parameters, source: jax.Array, target: jax.Array, *draws: jax.Array) -> jax.Array:
        targets = target[:, 1:]
        words = (targets != _parallel_text.PAD).astype(dtype)
        logits = nnx.merge(graph, parameters)(source, target[:, :-1], *draws)
        return (smoothed_cross_entropy(logits, targets, translation.SMOOTHING) * words).sum() / words.sum()

    return trainable_model(forward, loss, optimizer, weights)


def weight_map(dimensions: Dimensions) -> WeightMap:
    """Where the weights of workloads/translation.py are."""
    return WeightMap(dict(_paths(dimensions["layers"])))


def _paths(layers: int) -> Paths:
    yield "embedding", ("embedding", "embedding")
    for layer in range(layers):
        yield from encoder_block_paths(f"encoder{layer}", ("encoder", layer), attention_bias=False)
        yield from decoder_block_paths(f"decoder{layer}", ("decoder", layer), attention_bias=False)
