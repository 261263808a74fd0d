"""Gradients at kinks in TensorFlow and Keras."""

from typing import Any

import keras
import tensorflow as tf


def keras_hypot_at_zero(x: tf.Tensor, y: tf.Tensor) -> Any:
    return keras.ops.hypot(x, y)
