"""Classification of sequences by an LSTM in Flax NNX and lax.scan, trained with optax."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jaxport import Model, _optimizers
from jaxport._lstm import LSTMWeights, last_hidden
from workloads import lstm
from workloads._spec import Dimensions


class Classifier(nnx.Module):
    """sequences [batch, time, features], lengths i32[batch] -> logits [batch, classes]."""

    def __init__(self, dimensions: Dimensions, dtype: str, rngs: nnx.Rngs) -> None:
        units, types = dimensions["units"], jnp.dtype(dtype)
        self.lstm = LSTMWeights(dimensions["features"], units, dtype)
        self.logits = nnx.Linear(units, dimensions["classes"], dtype=types, param_dtype=types, rngs=rngs)

    def __call__(self, sequences: jax.Array, lengths: jax.Array) -> jax.Array:
        mask = jnp.arange(sequences.shape[1]) < lengths[:, None]
        return self.logits(last_hidden(self.lstm, sequences, mask))


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/lstm.py: forward gives the probabilities [batch, classes]."""
    classifier = nnx.eval_shape(lambda: Classifier(dimensions, dtype, nnx.Rngs(0)))
    graph, _ = nnx.split(classifier, nnx.Param)
    optimizer = _optimizers.adam(lstm.LEARNING_RATE)

    def forward(parameters: nnx.State, sequences: jax.Array, lengths: jax.Array, labels: jax.Array) -> jax.Array:
        return jax.nn.softmax(nnx.merge(graph, parameters)(sequences, lengths))

    def loss(parameters: nnx.State, sequences: jax.Array, lengths: jax.Array, labels: jax.Array) -> jax.Array:
        logits = nnx.merge(graph, parameters)(sequences, lengths)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def step(parameters: nnx.State, state: Any, *inputs: jax.Array) -> tuple[Any, Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(parameters, *inputs)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    return Model(forward, _from_weights, _to_weights, loss=loss, init=optimizer.init, step=step)


_PATHS = {
    "lstm/kernel": ("lstm", "kernel"),
    "lstm/recurrent_kernel": ("lstm", "recurrent_kernel"),
    "lstm/bias": ("lstm", "bias"),
    "logits/kernel": ("logits", "kernel"),
    "logits/bias": ("logits", "bias"),
}


def _from_weights(weights: Mapping[str, jax.Array]) -> nnx.State:
    return nnx.from_flat_state({_PATHS[name]: nnx.Param(array) for name, array in weights.items()})


def _to_weights(parameters: nnx.State) -> dict[str, Any]:
    flat = dict(nnx.to_flat_state(parameters))
    return {name: flat[path].get_value() for name, path in _PATHS.items()}
