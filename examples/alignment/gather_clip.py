"""Rows of a table: tf.gather and jnp.take that clips, as XLA's gather does by itself."""

from workloads import ArraySpec, Workload


def in_tf(table, indices):
    import tensorflow as tf

    return tf.gather(table, indices)


def in_jax(table, indices):
    import jax.numpy as jnp

    return jnp.take(table, indices, axis=0, mode="clip")


port = Workload(
    name="gather_clip",
    summary="rows of a table, indices clipped",
    inputs={"table": ArraySpec((32, 8)), "indices": ArraySpec((6,), "int32", low=0, high=32)},
    tf="gather_clip.py:in_tf",
    jax="gather_clip.py:in_jax",
    builds=False,
)
