"""Pooling in TensorFlow and Keras."""

import keras
import tensorflow as tf


def avg_pool_same(images: tf.Tensor) -> tf.Tensor:
    return tf.nn.avg_pool2d(images, 3, 2, "SAME")


def max_pool_default_strides(images: tf.Tensor) -> tf.Tensor:
    return keras.layers.MaxPooling2D(2)(images)


def average_pooling1d(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.AveragePooling1D(2)(x)


def max_pool_tie(images: tf.Tensor) -> tf.Tensor:
    return tf.nn.max_pool2d(images, 2, 2, "VALID")


def max_pool_padding(images: tf.Tensor) -> tf.Tensor:
    # which of equal values gets the gradient beside the padding differs between TensorFlow's own modes
    return tf.nn.max_pool2d(tf.stop_gradient(images), 2, 2, "SAME")


def max_pool_channels_first(images: tf.Tensor) -> tf.Tensor:
    return keras.layers.MaxPooling2D(2, data_format="channels_first")(images)


def global_average_pooling(images: tf.Tensor) -> tf.Tensor:
    return keras.layers.GlobalAveragePooling2D()(images)


def global_average_pooling_masked(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    return keras.layers.GlobalAveragePooling1D()(x, mask=tf.sequence_mask(lengths, 8))


def adaptive_average_pooling(images: tf.Tensor) -> tf.Tensor:
    return keras.layers.AdaptiveAveragePooling2D(3)(images)


def adaptive_max_pooling(images: tf.Tensor) -> tf.Tensor:
    return keras.layers.AdaptiveMaxPooling2D(3)(images)


def max_pool_same(images: tf.Tensor) -> tf.Tensor:
    return tf.nn.max_pool2d(images, 3, 2, "SAME")


def max_pool_valid_odd(images: tf.Tensor) -> tf.Tensor:
    return keras.layers.MaxPooling2D(2)(images)


def avg_pool_valid(images: tf.Tensor) -> tf.Tensor:
    return tf.nn.avg_pool2d(images, 3, 2, "VALID")


def max_pool3d(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.MaxPooling3D(2)(x)


def global_max_pooling(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.GlobalMaxPooling1D()(x)
