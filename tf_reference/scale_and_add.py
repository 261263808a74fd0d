"""a * x + y in TensorFlow."""

import tensorflow as tf

from tf_reference import Model
from workloads.core.spec import Dimensions


def scale_and_add(a: tf.Tensor, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """`a * x + y`: [length].

    Args:
      a: [].
      x: [length].
      y: [length].
    """
    return a * x + y


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/scale_and_add.py."""
    return Model(scale_and_add)
