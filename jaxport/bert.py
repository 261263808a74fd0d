"""BERT in Flax NNX: masked words and next sentences (Devlin et al. 2019)."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jaxport import Model, optimizers
from jaxport._dense import Dense
from jaxport._dropout import dropout
from jaxport._nnx import Parameters, WeightMap, structure, trainable_model
from jaxport._transformer import EncoderBlock, Paths, dense_paths, encoder_block_paths, gelu, layer_norm, norm_paths
from jaxport.loss_scaling import scaled_for
from jaxport.schedules import warm_up
from workloads import _sentence_pairs, bert
from workloads.core.precision import compute_dtype
from workloads.core.spec import Dimensions


class Embeddings(nnx.Module):
    """Tokens, positions and segments, added, normalised and dropped: i32[batch, length] -> [batch, length, width]."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        self.block = bert.block_of(dimensions)
        self.tokens = nnx.Embed(dimensions["vocabulary"], self.block.width, **kinds)
        self.positions = nnx.Embed(dimensions["length"], self.block.width, **kinds)
        self.segments = nnx.Embed(2, self.block.width, **kinds)
        self.norm = layer_norm(self.block, **kinds)

    def __call__(self, tokens: jax.Array, segments: jax.Array, draws: jax.Array | None = None) -> jax.Array:
        """The draws are u8[batch, length, width]; None for no dropout."""
        positions = self.positions.embedding[...].astype(self.positions.dtype)
        embeddings = self.norm(_rows(self.tokens, tokens) + positions + _rows(self.segments, segments))
        return embeddings if draws is None else dropout(embeddings, draws, self.block.rate)


class Words(nnx.Module):
    """Guesses words: states [batch, predictions, width] -> logits [batch, predictions, vocabulary]."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        block = bert.block_of(dimensions)
        self.dense = Dense(block.width, block.width, **kinds)
        self.norm = layer_norm(block, **kinds)
        self.bias = nnx.Param(jnp.zeros(dimensions["vocabulary"], kinds["param_dtype"]))

    def __call__(self, states: jax.Array, tokens: nnx.Embed) -> jax.Array:
        """The products are with the embedding of the tokens itself."""
        logits = tokens.attend(self.norm(gelu(self.dense(states))))
        return logits.astype(self.bias.dtype) + self.bias[...]


class Bert(nnx.Module):
    """Encoder with both heads, whose biases are added in the type of the parameters: losses are not narrowed."""

    def __init__(self, dimensions: Dimensions, **kinds: Any) -> None:
        block = bert.block_of(dimensions)
        self.embeddings = Embeddings(dimensions, **kinds)
        self.blocks = nnx.List([EncoderBlock(block, **kinds) for _ in range(dimensions["layers"])])
        self.words = Words(dimensions, **kinds)
        self.pooler = nnx.Linear(block.width, block.width, **kinds)
        self.follows = nnx.Linear(block.width, 2, **kinds | {"dtype": kinds["param_dtype"]})

    def __call__(
        self,
        tokens: jax.Array,
        segments: jax.Array,
        positions: jax.Array,
        embedding_draws: jax.Array | None = None,
        attention_draws: jax.Array | None = None,
        hidden_draws: jax.Array | None = None,
    ) -> dict[str, jax.Array]:
        """Logits of the words at the positions [batch, predictions, vocabulary] and of the pairs [batch, 2].

        Without draws nothing is dropped.
        """
        mask = (tokens != _sentence_pairs.PADDING)[:, None, None]
        states = self.embeddings(tokens, segments, embedding_draws)
        for layer, block in enumerate(self.blocks):
            draws = [None if by_layer is None else by_layer[layer] for by_layer in (attention_draws, hidden_draws)]
            states = block(states, mask, *draws)
        word_logits = self.words(jax.vmap(_take)(states, positions), self.embeddings.tokens)
        pairs = self.follows(jnp.tanh(self.pooler(states[:, 0])))
        return {"words": word_logits, "follows": pairs}


def _rows(table: nnx.Embed, ids: jax.Array) -> jax.Array:
    return _take(table.embedding[...].astype(table.dtype), ids)


def _take(rows: jax.Array, ids: jax.Array) -> jax.Array:
    # The mode that XLA's gather has anyway: the default would compare every index to make its rows NaN.
    return jnp.take(rows, ids, axis=0, mode="clip")


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/bert.py."""
    kinds = {"dtype": jnp.dtype(compute_dtype(dimensions, dtype)), "param_dtype": jnp.dtype(dtype)}
    graph = structure(lambda: Bert(dimensions, **kinds, rngs=nnx.Rngs(0)))
    optimizer = _optimizer(dimensions, dtype)
    weight_map = WeightMap(dict(_paths(dimensions)))

    def forward(parameters: Parameters, *inputs: jax.Array) -> dict[str, jax.Array]:
        tokens, segments, positions, *_ = inputs
        return nnx.merge(graph, parameters)(tokens, segments, positions)

    def loss(parameters: Parameters, *inputs: jax.Array) -> jax.Array:
        tokens, segments, positions, words, weights, follows, *draws = inputs
        logits = nnx.merge(graph, parameters)(tokens, segments, positions, *draws)
        word_losses = optax.softmax_cross_entropy_with_integer_labels(logits["words"], words)
        pairs = optax.softmax_cross_entropy_with_integer_labels(logits["follows"], follows)
        return jnp.sum(weights * word_losses) / (jnp.sum(weights) + 1e-5) + pairs.mean()

    return trainable_model(forward, loss, optimizer, weight_map)


def _optimizer(dimensions: Dimensions, dtype: str) -> optax.GradientTransformation:
    rate = warm_up(bert.peak_rate(dimensions), bert.WARM_UP_STEPS, bert.TOTAL_STEPS)
    kind = optimizers.lamb if dimensions.get("lamb") else optimizers.adamw
    optimizer = kind(rate, bert.WEIGHT_DECAY, exclude=("bias", "scale"), epsilon=bert.EPSILON)
    return scaled_for(compute_dtype(dimensions, dtype), optimizer)


def _paths(dimensions: Dimensions) -> Paths:
    bias = bert.block_of(dimensions).attention_bias
    for table in ("tokens", "positions", "segments"):
        yield f"embeddings/{table}", ("embeddings", table, "embedding")
    yield from norm_paths("embeddings/norm", ("embeddings", "norm"))
    for layer in range(dimensions["layers"]):
        yield from encoder_block_paths(f"layer{layer}", ("blocks", layer), bias)
    yield from dense_paths("words/dense", ("words", "dense"))
    yield from norm_paths("words/norm", ("words", "norm"))
    yield "words/bias", ("words", "bias")
    yield from dense_paths("follows/pooler", ("pooler",))
    yield from dense_paths("follows/logits", ("follows",))
