"""The original: TensorFlow, its layers as a list that is compiled in blocks."""

import tensorflow as tf

from tf_reference import Model


def chained(layers):
    def call(x):
        for layer in layers:
            x = layer(x)
        return x

    return call


def in_blocks(layers, block):
    """The layers one after the other, `block` of them in each compiled function; 0 compiles none."""
    if not block:
        return chained(layers)
    starts = range(0, len(layers), block)
    return chained([tf.function(chained(layers[start : start + block]), jit_compile=True) for start in starts])


def build(dimensions, dtype):
    width = dimensions["width"]
    weights = {}

    def layer(number):
        kernel = weights[f"{number}/kernel"] = tf.Variable(tf.zeros((width, width), dtype))
        bias = weights[f"{number}/bias"] = tf.Variable(tf.zeros((width,), dtype))
        return lambda x: x + tf.nn.gelu(tf.matmul(x, kernel) + bias)

    layers = [layer(number) for number in range(dimensions["layers"])]
    return Model(in_blocks(layers, dimensions["block"]), weights)
