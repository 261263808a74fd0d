"""Softmax in TensorFlow: composed of primitives, and as tf.nn.softmax."""

import tensorflow as tf

from tf_reference import Model
from workloads.core.spec import Dimensions


def softmax(scores: tf.Tensor) -> tf.Tensor:
    """scores: [rows, classes] -> [rows, classes]."""
    largest = tf.stop_gradient(tf.reduce_max(scores, axis=-1, keepdims=True))
    exponentials = tf.exp(scores - largest)
    return exponentials / tf.reduce_sum(exponentials, axis=-1, keepdims=True)


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/softmax.py."""
    return Model(softmax, handwritten=tf.nn.softmax)
