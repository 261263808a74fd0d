"""tanh((sin x) * 2) on both sides, whole and of two parts that are compiled each on its own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import tensorflow as tf

import jaxport
import tf_reference


def in_tensorflow(dimensions: Any, dtype: str) -> tf_reference.Model:
    """x -> an array of its shape, in parts that XLA compiles one by one inside a graph."""

    def first(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(x) * 2

    one, other = (tf.function(part, jit_compile=True) for part in (first, tf.tanh))

    def whole(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(first(x))

    def apart(x: tf.Tensor) -> tf.Tensor:
        return other(one(x))

    return tf_reference.Model(whole, apart=apart)


def in_jax(dimensions: Any, dtype: str) -> jaxport.Model:
    """x -> an array of its shape, in parts that are called from Python."""

    def first(x: jax.Array) -> jax.Array:
        return jnp.sin(x) * 2

    one, other = (jax.jit(part) for part in (first, jnp.tanh))
    return jaxport.Model(lambda _, x: jnp.tanh(first(x)), apart=lambda _, x: other(one(x)))


def nothing_in_tensorflow(dimensions: Any, dtype: str) -> tf_reference.Model:
    """x -> x, and by its parts zeros: which of the two was called shows."""
    return tf_reference.Model(tf.identity, apart=tf.zeros_like)


def nothing_in_jax(dimensions: Any, dtype: str) -> jaxport.Model:
    """x -> x, and by its parts zeros: which of the two was called shows."""
    return jaxport.Model(lambda _, x: x, apart=lambda _, x: jnp.zeros_like(x))
