"""mean(x**2 * 3 + y) in JAX."""

import jax
import jax.numpy as jnp

from jaxport._model import Model, of_function
from workloads.core.spec import Dimensions


def running_example(x: jax.Array, y: jax.Array) -> jax.Array:
    """x, y: [side, side] -> []."""
    return jnp.mean((x**2) * 3 + y)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/running_example.py."""
    return of_function(running_example)
