"""Normalisation in TensorFlow and Keras."""

from typing import Any

import keras
import tensorflow as tf

LAYER_NORM = keras.layers.LayerNormalization()
LAYER_NORM.build((None, 8))
LAYER_NORM_OF_TWO = keras.layers.LayerNormalization(axis=(1, 2))
LAYER_NORM_OF_TWO.build((None, 4, 8))
RMS_NORM = keras.layers.RMSNormalization()
RMS_NORM.build((None, 8))
BATCH_NORM = keras.layers.BatchNormalization()
BATCH_NORM.build((None, 8))
FROZEN = keras.layers.BatchNormalization(trainable=False)
FROZEN.build((None, 8))
MASKED = keras.layers.BatchNormalization()
MASKED.build((None, 4, 8))
GROUP_NORM = keras.layers.GroupNormalization(groups=2)
GROUP_NORM.build((None, 4, 8))
INSTANCE_NORM = keras.layers.GroupNormalization(groups=-1)
INSTANCE_NORM.build((None, 4, 8))
MEAN, VARIANCE = (0.5, -0.5, 0.0, 1.0), (0.25, 1.0, 4.0, 0.0)
STANDARDIZE = keras.layers.Normalization(mean=MEAN, variance=VARIANCE)
STANDARDIZE.build((None, 4))


def _and_moved(outputs: Any) -> tuple[tf.Tensor, ...]:
    """Return a layer's output, and its moving statistics without gradients."""
    result, (mean, variance) = outputs
    return result, tf.stop_gradient(mean), tf.stop_gradient(variance)


def fused_batch_norm_variance(
    x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    result, moved_mean, moved_variance = tf.compat.v1.nn.fused_batch_norm(
        x, gamma, beta, mean, variance, exponential_avg_factor=0.25
    )
    return result, tf.stop_gradient(moved_mean), tf.stop_gradient(moved_variance)


@tf.function(jit_compile=True)
def unit_normalization_zero(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.UnitNormalization()(x)


@tf.function(jit_compile=True)
def per_image_standardization(x: tf.Tensor) -> tf.Tensor:
    return tf.image.per_image_standardization(x)


def unit_norm_constraint(x: tf.Tensor) -> Any:
    x = tf.stop_gradient(x)
    return keras.constraints.UnitNorm()(x)


def max_norm_constraint(x: tf.Tensor) -> Any:
    x = tf.stop_gradient(x)
    return keras.constraints.MaxNorm(2.0)(x)


def moments_biased(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
    moments: Any = tf.nn.moments(x, axes=[0])
    return tuple(moments)


def weighted_moments(x: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, ...]:
    moments: Any = tf.nn.weighted_moments(x, axes=[1], frequency_weights=weights)
    return tuple(moments)


def standardize(x: tf.Tensor) -> tf.Tensor:
    moments: Any = keras.ops.moments(x, axes=[-1], keepdims=True)
    mean, variance = moments
    return (x - mean) * tf.math.rsqrt(variance + 1e-5)
