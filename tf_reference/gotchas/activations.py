"""Activations in TensorFlow and Keras."""

import keras
import tensorflow as tf


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
    return tf.nn.relu(x) - alpha * tf.nn.relu(-x)


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


def celu(x: tf.Tensor) -> tf.Tensor:
    return keras.activations.celu(x)


def glu(x: tf.Tensor) -> tf.Tensor:
    return keras.activations.glu(x)


def log_sigmoid(x: tf.Tensor) -> tf.Tensor:
    return tf.math.log_sigmoid(x)


def softmax(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(x)


def log_softmax(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.log_softmax(x)


def squareplus(x: tf.Tensor) -> tf.Tensor:
    return keras.activations.squareplus(x)
