"""Activations in TensorFlow and Keras."""

from typing import Any

import keras
import tensorflow as tf

PRELU = keras.layers.PReLU()
PRELU.build((None, 8))


def gelu(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.gelu(x)


def leaky_relu(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.leaky_relu(x)


def keras_leaky_relu(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.LeakyReLU()(x)


def relu_as_maximum(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(x)


def relu6(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu6(x)


def selu_at_zero(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.selu(x)


def prelu_at_zero(x: tf.Tensor, alpha: tf.Tensor) -> tf.Tensor:
    return PRELU.stateless_call([alpha], [], x)[0]


def celu_at_zero(x: tf.Tensor) -> Any:
    return keras.activations.celu(x)


def keras_ops_gelu(x: tf.Tensor) -> Any:
    return keras.ops.gelu(x)


def hard_sigmoid(x: tf.Tensor) -> Any:
    return keras.activations.hard_sigmoid(x)


def keras_relu_max_value(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.ReLU(max_value=1.0)(x)


def keras_relu_threshold(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.ReLU(threshold=0.5)(x)


def keras_relu_slope_below_threshold(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.ReLU(negative_slope=0.25, threshold=0.5)(x)


def threshold(x: tf.Tensor) -> Any:
    return keras.activations.threshold(x, 0.5, 0.0)


def silu_beta(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.silu(x, beta=1.5)


def softmax_masked_row(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return keras.layers.Softmax()(x, mask=mask)


def log_of_softmax(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.log_softmax(x)


def softplus_by_log1p(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.softplus(x)


def log_of_sigmoid(x: tf.Tensor) -> tf.Tensor:
    return tf.math.log_sigmoid(x)


def gelu_by_tanh(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.gelu(x, approximate=True)


def relu(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(x)


def elu(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.elu(x)


def softplus(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.softplus(x)


def softsign(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.softsign(x)


def silu(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.silu(x)


def mish(x: tf.Tensor) -> tf.Tensor:
    return keras.activations.mish(x)


def glu(x: tf.Tensor) -> Any:
    return keras.activations.glu(x)


def log_sigmoid(x: tf.Tensor) -> tf.Tensor:
    return tf.math.log_sigmoid(x)


def softmax(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(x)


def log_softmax(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.log_softmax(x)


def squareplus(x: tf.Tensor) -> Any:
    return keras.activations.squareplus(x)


def hard_silu(x: tf.Tensor) -> Any:
    return keras.activations.hard_silu(x)


def hard_tanh(x: tf.Tensor) -> Any:
    return keras.activations.hard_tanh(x)


def elu_alpha(x: tf.Tensor) -> Any:
    return keras.activations.elu(x, alpha=0.5)


def crelu(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.crelu(x)


def soft_shrink(x: tf.Tensor) -> Any:
    return keras.activations.soft_shrink(x)


def sparse_plus(x: tf.Tensor) -> Any:
    return keras.activations.sparse_plus(x)


def sparse_sigmoid(x: tf.Tensor) -> Any:
    return keras.activations.sparse_sigmoid(x)


def softmax_over_two_axes(x: tf.Tensor) -> tf.Tensor:
    return keras.layers.Softmax(axis=(0, 1))(x)
