"""sum(x + y * z) in JAX."""

import jax
import jax.numpy as jnp

from jaxport._model import Model, of_function
from workloads.core.spec import Dimensions


def sum_of_products(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
    """`sum(x + y * z)`: [].

    Args:
      x: [side, side].
      y: [side, side].
      z: [side, side].
    """
    return jnp.sum(x + y * z)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/sum_of_products.py."""
    return of_function(sum_of_products)
