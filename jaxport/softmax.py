"""Softmax in JAX: composed of primitives, as jax.nn.softmax is too."""

import jax
import jax.numpy as jnp

from jaxport._model import Model, of_function
from workloads.core.spec import Dimensions


def softmax(scores: jax.Array) -> jax.Array:
    """scores: [rows, classes] -> [rows, classes]."""
    largest = jax.lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True))
    exponentials = jnp.exp(scores - largest)
    return exponentials / jnp.sum(exponentials, axis=-1, keepdims=True)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/softmax.py."""
    return of_function(softmax)
