"""The original: TensorFlow, with the weights in a flat dict of variables."""

import tensorflow as tf


def feed_forward(weights, x):
    """x: [batch, time, features] -> the same shape."""
    mean, variance = tf.nn.moments(x, axes=-1, keepdims=True)
    normed = (x - mean) / tf.sqrt(variance + 1e-3) * weights["norm/gamma"] + weights["norm/beta"]
    hidden = tf.nn.gelu(tf.matmul(normed, weights["expand/kernel"]) + weights["expand/bias"])
    return x + tf.matmul(hidden, weights["contract/kernel"]) + weights["contract/bias"]
