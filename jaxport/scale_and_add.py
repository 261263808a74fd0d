"""a * x + y in JAX."""

import jax

from jaxport._model import Model, of_function
from workloads.core.spec import Dimensions


def scale_and_add(a: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """`a * x + y`: [length].

    Args:
      a: [].
      x: [length].
      y: [length].
    """
    return a * x + y


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/scale_and_add.py."""
    return of_function(scale_and_add)
