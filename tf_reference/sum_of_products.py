"""reduce_sum(x + y * z) in TensorFlow."""

import tensorflow as tf

from tf_reference import Model
from workloads.core.spec import Dimensions


def sum_of_products(x: tf.Tensor, y: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
    """`sum(x + y * z)`: [].

    Args:
      x: [side, side].
      y: [side, side].
      z: [side, side].
    """
    return tf.reduce_sum(x + y * z)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/sum_of_products.py."""
    return Model(sum_of_products)
