"""The running example: a mean of an expression. Both halves import their own framework."""

from workloads import ArraySpec, Workload


def in_tf(x, y):
    import tensorflow as tf

    return tf.reduce_mean(x**2 * 3 + y)


def in_jax(x, y):
    import jax.numpy as jnp

    return jnp.mean(x**2 * 3 + y)


port = Workload(
    name="mean",
    summary="mean(x**2 * 3 + y)",
    inputs={"x": ArraySpec((64, 64)), "y": ArraySpec((64, 64))},
    tf="mean.py:in_tf",
    jax="mean.py:in_jax",
    builds=False,
)
