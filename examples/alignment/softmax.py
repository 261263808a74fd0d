"""Softmax over the last axis: each framework's own."""

from workloads import ArraySpec, Workload


def in_tf(x):
    import tensorflow as tf

    return tf.nn.softmax(x)


def in_jax(x):
    import jax

    return jax.nn.softmax(x)


port = Workload(
    name="softmax",
    summary="softmax over the last axis",
    inputs={"x": ArraySpec((8, 32), scale=3.0)},
    tf="softmax.py:in_tf",
    jax="softmax.py:in_jax",
    builds=False,
)
