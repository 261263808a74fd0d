"""Pooling in TensorFlow and Keras."""

import keras
import tensorflow as tf


def max_pool_padding(images: tf.Tensor) -> tf.Tensor:
    # which of equal values gets the gradient beside the padding differs between TensorFlow's own modes
    return tf.nn.max_pool2d(tf.stop_gradient(images), 2, 2, "SAME")


def global_average_pooling_masked(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    return keras.layers.GlobalAveragePooling1D()(x, mask=tf.sequence_mask(lengths, 8))
