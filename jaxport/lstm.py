"""Classification of sequences by an LSTM in Flax NNX and lax.scan, trained with optax."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jaxport import Model, optimizers
from jaxport._lstm import LSTMWeights, last_hidden
from jaxport._nnx import Parameters, WeightMap, structure, trainable_model
from workloads import lstm
from workloads.core.spec import Dimensions


class Classifier(nnx.Module):
    """sequences [batch, time, features], lengths i32[batch] -> logits [batch, classes]."""

    def __init__(self, dimensions: Dimensions, dtype: str, rngs: nnx.Rngs) -> None:
        units, types = dimensions["units"], jnp.dtype(dtype)
        self.lstm = LSTMWeights(dimensions["features"], units, dtype)
        self.logits = nnx.Linear(units, dimensions["classes"], dtype=types, param_dtype=types, rngs=rngs)

    def __call__(self, sequences: jax.Array, lengths: jax.Array) -> jax.Array:
        """Sequences [batch, time, features], lengths i32[batch] -> logits [batch, classes]."""
        mask = jnp.arange(sequences.shape[1]) < lengths[:, None]
        return self.logits(last_hidden(self.lstm, sequences, mask))


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/lstm.py: forward gives the probabilities [batch, classes]."""
    graph = structure(lambda: Classifier(dimensions, dtype, nnx.Rngs(0)))
    optimizer = optimizers.adam(lstm.LEARNING_RATE)

    def forward(parameters: Parameters, sequences: jax.Array, lengths: jax.Array, labels: jax.Array) -> jax.Array:
        return jax.nn.softmax(nnx.merge(graph, parameters)(sequences, lengths))

    def loss(parameters: Parameters, sequences: jax.Array, lengths: jax.Array, labels: jax.Array) -> jax.Array:
        logits = nnx.merge(graph, parameters)(sequences, lengths)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    return trainable_model(forward, loss, optimizer, _WEIGHTS)


_WEIGHTS = WeightMap(
    {
        "lstm/kernel": ("lstm", "kernel"),
        "lstm/recurrent_kernel": ("lstm", "recurrent_kernel"),
        "lstm/bias": ("lstm", "bias"),
        "logits/kernel": ("logits", "kernel"),
        "logits/bias": ("logits", "bias"),
    }
)
