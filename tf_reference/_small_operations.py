"""Single operations and small blocks in TensorFlow: the functions of workloads/_small_operations.py."""

import tensorflow as tf


def elementwise(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """`tanh(x * y + x) * y - x`, x and y being [elements]: [elements]."""
    return tf.tanh(x * y + x) * y - x


def reduction(x: tf.Tensor) -> tf.Tensor:
    """`mean(x * x)`, x being [elements]: []."""
    return tf.reduce_mean(x * x)


def softmax(x: tf.Tensor) -> tf.Tensor:
    """Softmax over the last axis of x [rows, columns]: [rows, columns]."""
    return tf.nn.softmax(x)


def layer_norm(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tf.Tensor:
    """Rows of mean 0 and variance 1, times gamma, plus beta: [rows, columns].

    Args:
      x: [rows, columns].
      gamma: [columns].
      beta: [columns].
    """
    mean, variance = tf.nn.moments(x, axes=[1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3) * gamma + beta


def matmul(x: tf.Tensor, kernel0: tf.Tensor) -> tf.Tensor:
    """`x @ kernel0`, both [side, side]: [side, side]."""
    return tf.matmul(x, kernel0)


def convolution(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """A convolution that keeps the size, x [1, side, side, in] and kernel [3, 3, in, out]: [1, side, side, out]."""
    return tf.nn.conv2d(x, kernel, strides=1, padding="SAME")


def dense(x: tf.Tensor, kernel0: tf.Tensor, bias0: tf.Tensor) -> tf.Tensor:
    """`relu(x @ kernel0 + bias0)`: [rows, out].

    Args:
      x: [rows, in].
      kernel0: [in, out].
      bias0: [out].
    """
    return tf.nn.relu(tf.matmul(x, kernel0) + bias0)


def mlp(x: tf.Tensor, *layers: tf.Tensor) -> tf.Tensor:
    """Dense layers over x [rows, in], of a kernel [in, out] and a bias [out] each: [rows, out]."""
    for kernel, bias in zip(layers[::2], layers[1::2], strict=True):
        x = dense(x, kernel, bias)
    return x
