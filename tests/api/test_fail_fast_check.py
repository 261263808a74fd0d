"""`jaxport.check` with `fail_fast`: a wrong port of this process is located, and its line stands in the assertion."""

from __future__ import annotations

import jax
import pytest
import tensorflow as tf

import jaxport

pytestmark = pytest.mark.process


def original(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.softmax(x / 2.0)


def wrong(x: jax.Array) -> jax.Array:
    scaled = x / 2.5
    return jax.nn.softmax(scaled)


def test_the_wrong_line_is_named() -> None:
    report = jaxport.check(original, wrong, {"x": "f32[4,8]"}, fail_fast=True, quiet=True)
    (place,) = report.places
    line = wrong.__code__.co_firstlineno + 1
    assert (place.pass_, place.jax_line) == ("forward", f"{__file__}:{line}")
    assert "2.5" in place.difference
    assert report.gates["gradients"].verdict == "not_judged"
    with pytest.raises(AssertionError, match=r"the constant is 2\.5"):
        report.assert_passed()


def test_a_check_of_all_gates_names_no_line() -> None:
    report = jaxport.check(original, wrong, {"x": "f32[4,8]"}, quiet=True)
    assert (report.places, report.gates["gradients"].verdict) == ((), "fail")
