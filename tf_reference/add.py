"""x + y in TensorFlow."""

import tensorflow as tf

from tf_reference import Model
from workloads.core.spec import Dimensions


def add(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """x, y: [side, side] -> [side, side]."""
    return x + y


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/add.py."""
    return Model(add)
