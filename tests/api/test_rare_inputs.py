"""Ports that are wrong at rare inputs alone: ties of rounding, far thresholds, large integers, singular matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import tensorflow as tf

import jaxport

pytestmark = pytest.mark.usefixtures("programs_here")

X, N = {"x": "f32[4,5]"}, {"n": "i32[7]"}


@pytest.mark.parametrize(
    ("original", "right", "wrong", "inputs"),
    [
        # x / 4 is a tie at 2, -6, ...: no random number and no kink lies there.
        (lambda x: tf.round(x / 4.0) * 4, lambda x: jnp.round(x / 4) * 4, lambda x: jnp.floor(x / 4 + 0.5) * 4, X),
        (lambda x: tf.floor(x * 3), lambda x: jnp.floor(x * 3), lambda x: jnp.ceil(x * 3) - 1, X),
        (lambda x: tf.where(x > 1e20, 0.0, x), lambda x: jnp.where(x > 1e20, 0.0, x), lambda x: x, X),
        # In float64 a sum of float32 is exact, and JAX sums in int64, which does not wrap.
        (lambda n: tf.reduce_sum(n), jnp.sum, lambda n: jnp.sum(n.astype(jnp.float32)).astype(jnp.int32), N),
        (lambda n: tf.reduce_prod(n), jnp.prod, lambda n: jnp.prod(n.astype(jnp.float32)).astype(jnp.int32), N),
    ],
    ids=["ties", "whole numbers", "far threshold", "sum of integers", "product of integers"],
)
def test_a_port_that_is_wrong_at_rare_inputs_fails_and_a_right_one_passes(
    original: Callable[..., Any], right: Callable[..., Any], wrong: Callable[..., Any], inputs: dict[str, str]
) -> None:
    report = jaxport.check(original, wrong, inputs, name="wrong")
    assert report.gates["semantics"].verdict == "fail", str(report)
    assert jaxport.check(original, right, inputs, name="right").passed


@pytest.mark.parametrize(
    ("original", "port"),
    [
        (lambda a: tf.linalg.inv(a), lambda a: jnp.linalg.inv(a)),
        (lambda a: tf.linalg.det(a), lambda a: jnp.linalg.det(a)),
    ],
    ids=["inverse", "gradient of the determinant"],
)
def test_kinks_that_the_original_refuses_are_left_out_with_a_note(
    original: Callable[..., Any], port: Callable[..., jax.Array]
) -> None:
    report = jaxport.check(original, port, {"a": "f32[4,4]"}, name="matrix")
    assert report.passed
    assert "TensorFlow refuses kinks" in str(report) and "not invertible" in str(report)
    wrong = jaxport.check(original, lambda a: port(a) * 1.001, {"a": "f32[4,4]"}, name="wrong")
    assert wrong.gates["semantics"].verdict == "fail"
