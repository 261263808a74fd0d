"""x + y in JAX."""

import jax

from jaxport._model import Model, of_function
from workloads.core.spec import Dimensions


def add(x: jax.Array, y: jax.Array) -> jax.Array:
    """x, y: [side, side] -> [side, side]."""
    return x + y


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/add.py."""
    return of_function(add)
