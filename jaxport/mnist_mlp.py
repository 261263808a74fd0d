"""The dense digit classifier in Flax NNX, trained with optax."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jaxport import Model, _optimizers
from workloads._spec import Dimensions


class Classifier(nnx.Module):
    """images [batch, features] -> logits [batch, 10]."""

    def __init__(self, features: int, hidden: int, dtype: str, rngs: nnx.Rngs) -> None:
        self.hidden = nnx.Linear(features, hidden, dtype=jnp.dtype(dtype), param_dtype=jnp.dtype(dtype), rngs=rngs)
        self.logits = nnx.Linear(hidden, 10, dtype=jnp.dtype(dtype), param_dtype=jnp.dtype(dtype), rngs=rngs)

    def __call__(self, images: jax.Array) -> jax.Array:
        return self.logits(nnx.relu(self.hidden(images)))


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/mnist_mlp.py; state is split from structure once, so that each call is one dispatch."""
    classifier = Classifier(dimensions["features"], dimensions["hidden"], dtype, nnx.Rngs(0))
    graph, _ = nnx.split(classifier, nnx.Param)
    optimizer = _optimizers.adam(1e-3)

    def forward(parameters: nnx.State, images: jax.Array, labels: jax.Array) -> jax.Array:
        return nnx.merge(graph, parameters)(images)

    def loss(parameters: nnx.State, images: jax.Array, labels: jax.Array) -> jax.Array:
        logits = forward(parameters, images, labels)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def step(parameters: nnx.State, state: Any, images: jax.Array, labels: jax.Array) -> tuple[Any, Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    return Model(forward, _from_weights, _to_weights, loss=loss, init=optimizer.init, step=step)


_PATHS = {
    "hidden/kernel": ("hidden", "kernel"),
    "hidden/bias": ("hidden", "bias"),
    "logits/kernel": ("logits", "kernel"),
    "logits/bias": ("logits", "bias"),
}


def _from_weights(weights: Mapping[str, jax.Array]) -> nnx.State:
    return nnx.from_flat_state({_PATHS[name]: nnx.Param(array) for name, array in weights.items()})


def _to_weights(parameters: nnx.State) -> dict[str, Any]:
    flat = dict(nnx.to_flat_state(parameters))
    return {name: flat[path].get_value() for name, path in _PATHS.items()}
