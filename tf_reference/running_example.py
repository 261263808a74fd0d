"""mean(x**2 * 3 + y) in TensorFlow."""

import tensorflow as tf

from tf_reference import Model
from workloads.core.spec import Dimensions


def running_example(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """x, y: [side, side] -> []."""
    return tf.reduce_mean((x**2) * 3 + y)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/running_example.py."""
    return Model(running_example)
