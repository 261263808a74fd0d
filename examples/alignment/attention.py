"""Scaled dot-product attention of several heads, by einsum."""

from workloads import ArraySpec, Workload

HEADS = ArraySpec((2, 8, 4, 16))


def in_tf(query, key, value):
    import tensorflow as tf

    depth = tf.cast(tf.shape(query)[-1], query.dtype)
    scores = tf.einsum("bqhd,bkhd->bhqk", query, key) / tf.sqrt(depth)
    return tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), value)


def in_jax(query, key, value):
    import jax
    import jax.numpy as jnp

    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(query.shape[-1]).astype(query.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)


port = Workload(
    name="attention",
    summary="softmax(q k / sqrt(d)) v, [batch, time, heads, depth]",
    inputs={"query": HEADS, "key": HEADS, "value": HEADS},
    tf="attention.py:in_tf",
    jax="attention.py:in_jax",
    builds=False,
)
