"""Recurrent translation with attention in Flax NNX, trained with optax."""

from functools import partial

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jaxport import Model, optimizers
from jaxport._dense import Dense
from jaxport._nnx import Parameters, WeightMap, structure, trainable_model
from jaxport.recurrent import Product, gru_step, scan
from workloads import _parallel_text, seq2seq
from workloads.core.spec import Dimensions


class Gru(nnx.Module):
    """A gated recurrent unit as Keras has it: gates update, reset, candidate, and a bias before the reset gate too."""

    def __init__(self, features: int, units: int, dtype: str) -> None:
        self.kernel = nnx.Param(jnp.zeros((features, 3 * units), dtype))
        self.recurrent_kernel = nnx.Param(jnp.zeros((units, 3 * units), dtype))
        self.bias = nnx.Param(jnp.zeros((2, 3 * units), dtype))


class Translator(nnx.Module):
    """source [batch, length], target words so far [batch, length] -> logits [batch, length, vocabulary]."""

    def __init__(self, dimensions: Dimensions, dtype: str, rngs: nnx.Rngs) -> None:
        vocabulary, embedding, units = dimensions["vocabulary"], dimensions["embedding"], dimensions["units"]
        attention = dimensions["attention"]
        linear = partial(Dense, dtype=jnp.dtype(dtype), param_dtype=jnp.dtype(dtype), rngs=rngs)
        embed = partial(nnx.Embed, dtype=jnp.dtype(dtype), param_dtype=jnp.dtype(dtype), rngs=rngs)
        self.source_embedding = embed(vocabulary, embedding)
        self.target_embedding = embed(vocabulary, embedding)
        self.forward = Gru(embedding, units, dtype)
        self.backward = Gru(embedding, units, dtype)
        self.bridge = linear(units, units)
        self.memory_projection = linear(2 * units, attention)
        self.query_projection = linear(units, attention, use_bias=False)
        self.score = linear(attention, 1, use_bias=False)
        self.decoder = Gru(embedding + 2 * units, units, dtype)
        self.logits = linear(units, vocabulary)

    def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
        """Source and target i32[batch, length] -> logits [batch, length, vocabulary]."""
        mask = source != _parallel_text.PAD
        grus = [_weights_of(gru) for gru in (self.forward, self.backward)]
        memory, first_word = _encode(grus, self.source_embedding(source.T), mask.T)
        attention = (
            self.query_projection.kernel[...],
            self.score.kernel[...],
            self.memory_projection(memory),
            memory,
            mask,
        )
        state = jnp.tanh(self.bridge(first_word))
        states = _decode(*_weights_of(self.decoder), attention, state, self.target_embedding(target.T))
        return self.logits(states.transpose(1, 0, 2))


def _weights_of(gru: Gru) -> tuple[jax.Array, jax.Array, jax.Array]:
    return gru.kernel[...], gru.recurrent_kernel[...], gru.bias[...]


# Compiled as a whole even in eager mode: a scan over a function made anew would be compiled at every call.
@jax.jit
def _encode(
    grus: list[tuple[jax.Array, jax.Array, jax.Array]], words: jax.Array, mask: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Memory [batch, time, 2 * units] and the state after the first word, of words [time, batch, features].

    One loop reads both ways: half the loops, and each of its kernels has twice the work.
    """
    kernels, recurrent, biases = (jnp.stack(pair) for pair in zip(*grus, strict=True))
    both = jnp.stack([words, words[::-1]], 1)
    # What depends on no state is one product over all steps.
    projection = jnp.einsum("tdbi,dio->tdbo", both, kernels) + biases[:, :1]
    xs = projection, jnp.stack([mask, mask[::-1]], 1)[..., None]
    state = jnp.zeros((*both.shape[1:3], recurrent.shape[1]), words.dtype)
    last, outputs = scan(_encode_step, {"state": recurrent}, biases[:, 1:], state, xs)
    memory = jnp.concatenate([outputs[:, 0], outputs[::-1, 1]], -1)
    return memory.transpose(1, 0, 2), last[1]


def _encode_step(
    product: Product, bias: jax.Array, state: jax.Array, x: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    projection, mask = x
    state = jnp.where(mask, gru_step(projection, product("state", state) + bias, state), state)
    return state, state


@jax.jit
def _decode(
    kernel: jax.Array,
    recurrent: jax.Array,
    bias: jax.Array,
    attention: tuple[jax.Array, ...],
    state: jax.Array,
    words: jax.Array,
) -> jax.Array:
    """States [time, batch, units] of words [time, batch, features]; attention: kernels, keys, memory and mask."""
    query, score, keys, memory, mask = attention
    features = words.shape[-1]
    # One product asks the memory and feeds the gates: both start from the state.
    kernels = {"state": jnp.concatenate([query, recurrent], 1), "context": kernel[features:]}
    constants = bias[1], score[:, 0], keys, memory, jnp.where(mask, 0, jnp.asarray(-1e9, keys.dtype))
    projection = words @ kernel[:features] + bias[0]
    return scan(_decode_step, kernels, constants, state, projection)[1]


def _decode_step(
    product: Product, constants: tuple[jax.Array, ...], state: jax.Array, projection: jax.Array
) -> tuple[jax.Array, jax.Array]:
    bias, score, keys, memory, mask_scores = constants
    query, inner = jnp.split(product("state", state), [keys.shape[-1]], -1)
    scores = jnp.tanh(keys + query[:, None]) @ score + mask_scores
    context = jnp.einsum("bs,bsd->bd", jax.nn.softmax(scores), memory)
    state = gru_step(projection + product("context", context), inner + bias, state)
    return state, state


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/seq2seq.py: source [batch, length], target [batch, length + 1] -> logits."""
    graph = structure(lambda: Translator(dimensions, dtype, nnx.Rngs(0)))
    optimizer = optax.chain(optax.clip_by_global_norm(seq2seq.CLIP_NORM), optimizers.adam(seq2seq.LEARNING_RATE))

    def forward(parameters: Parameters, source: jax.Array, target: jax.Array) -> jax.Array:
        return nnx.merge(graph, parameters)(source, target[:, :-1])

    def loss(parameters: Parameters, source: jax.Array, target: jax.Array) -> jax.Array:
        targets = target[:, 1:]
        words = (targets != _parallel_text.PAD).astype(dtype)
        logits = forward(parameters, source, target)
        return (optax.softmax_cross_entropy_with_integer_labels(logits, targets) * words).sum() / words.sum()

    return trainable_model(forward, loss, optimizer, _WEIGHTS)


_WEIGHTS = WeightMap(
    {
        "source/embedding": ("source_embedding", "embedding"),
        "target/embedding": ("target_embedding", "embedding"),
        "forward/kernel": ("forward", "kernel"),
        "forward/recurrent_kernel": ("forward", "recurrent_kernel"),
        "forward/bias": ("forward", "bias"),
        "backward/kernel": ("backward", "kernel"),
        "backward/recurrent_kernel": ("backward", "recurrent_kernel"),
        "backward/bias": ("backward", "bias"),
        "bridge/kernel": ("bridge", "kernel"),
        "bridge/bias": ("bridge", "bias"),
        "attention/memory/kernel": ("memory_projection", "kernel"),
        "attention/memory/bias": ("memory_projection", "bias"),
        "attention/query/kernel": ("query_projection", "kernel"),
        "attention/score/kernel": ("score", "kernel"),
        "decoder/kernel": ("decoder", "kernel"),
        "decoder/recurrent_kernel": ("decoder", "recurrent_kernel"),
        "decoder/bias": ("decoder", "bias"),
        "logits/kernel": ("logits", "kernel"),
        "logits/bias": ("logits", "bias"),
    }
)
