"""Rows of a table by indexing: JAX counts negative indices from the end, tf.gather does not."""

from workloads import ArraySpec, Workload


def in_tf(table, indices):
    import tensorflow as tf

    return tf.gather(table, indices)


def in_jax(table, indices):
    return table[indices]


port = Workload(
    name="gather_index",
    summary="rows of a table, t[i]",
    inputs={"table": ArraySpec((32, 8)), "indices": ArraySpec((6,), "int32", low=0, high=32)},
    tf="gather_index.py:in_tf",
    jax="gather_index.py:in_jax",
    builds=False,
)
