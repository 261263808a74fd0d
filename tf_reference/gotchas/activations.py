"""Activations in TensorFlow and Keras."""

import keras
import tensorflow as tf

PRELU = keras.layers.PReLU()
PRELU.build((None, 8))


def prelu_at_zero(x: tf.Tensor, alpha: tf.Tensor) -> tf.Tensor:
    return PRELU.stateless_call([alpha], [], x)[0]
