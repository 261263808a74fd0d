"""The dense digit classifier in Flax NNX, trained with optax."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jaxport import Model, optimizers
from jaxport._nnx import Parameters, WeightMap, structure, trainable_model
from workloads.core.spec import Dimensions


class Classifier(nnx.Module):
    """images [batch, features] -> logits [batch, 10]."""

    def __init__(self, features: int, hidden: int, dtype: str, rngs: nnx.Rngs) -> None:
        self.hidden = nnx.Linear(features, hidden, dtype=jnp.dtype(dtype), param_dtype=jnp.dtype(dtype), rngs=rngs)
        self.logits = nnx.Linear(hidden, 10, dtype=jnp.dtype(dtype), param_dtype=jnp.dtype(dtype), rngs=rngs)

    def __call__(self, images: jax.Array) -> jax.Array:
        """[batch, features] -> logits [batch, 10]."""
        return self.logits(nnx.relu(self.hidden(images)))


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/mnist_mlp.py; state is split from structure once, so that each call is one dispatch."""
    graph = structure(lambda: Classifier(dimensions["features"], dimensions["hidden"], dtype, nnx.Rngs(0)))
    optimizer = optimizers.adam(1e-3)

    def forward(parameters: Parameters, images: jax.Array, labels: jax.Array) -> jax.Array:
        return nnx.merge(graph, parameters)(images)

    def loss(parameters: Parameters, images: jax.Array, labels: jax.Array) -> jax.Array:
        logits = forward(parameters, images, labels)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    return trainable_model(forward, loss, optimizer, _WEIGHTS)


_WEIGHTS = WeightMap(
    {
        "hidden/kernel": ("hidden", "kernel"),
        "hidden/bias": ("hidden", "bias"),
        "logits/kernel": ("logits", "kernel"),
        "logits/bias": ("logits", "bias"),
    }
)
