"""Pooling in TensorFlow and Keras."""

import tensorflow as tf


def max_pool_padding(images: tf.Tensor) -> tf.Tensor:
    # which of equal values gets the gradient beside the padding differs between TensorFlow's own modes
    return tf.nn.max_pool2d(tf.stop_gradient(images), 2, 2, "SAME")
