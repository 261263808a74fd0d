"""A convolution, relu and max-pooling over NHWC images."""

from workloads import ArraySpec, Workload


def in_tf(weights, images):
    import tensorflow as tf

    maps = tf.nn.relu(tf.nn.conv2d(images, weights["kernel"], strides=2, padding="SAME") + weights["bias"])
    return tf.nn.max_pool2d(maps, ksize=2, strides=2, padding="VALID")


def in_jax(weights, images):
    import jax
    import jax.numpy as jnp

    layout = ("NHWC", "HWIO", "NHWC")
    maps = jax.lax.conv_general_dilated(images, weights["kernel"], (2, 2), "SAME", dimension_numbers=layout)
    maps = jax.nn.relu(maps + weights["bias"])
    return jax.lax.reduce_window(maps, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


port = Workload(
    name="conv_pool",
    summary="convolution, relu, max-pooling",
    inputs={"images": ArraySpec((4, 16, 16, 3))},
    weights={"kernel": ArraySpec((3, 3, 3, 8), scale=0.2), "bias": ArraySpec((8,), scale=0.1)},
    tf="conv_pool.py:in_tf",
    jax="conv_pool.py:in_jax",
    builds=False,
)
