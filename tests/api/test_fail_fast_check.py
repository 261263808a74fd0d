"""`jaxport.check` with `fail_fast`: a wrong port of this process is located, and its line stands in the assertion."""

from __future__ import annotations

import jax
import jax.numpy as jnp
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


def large_alone(x: tf.Tensor) -> tf.Tensor:
    """Zero in every case that is drawn: further cases, which the programs suggest, show more."""
    return tf.where(x > 40.0, 2 * x, tf.zeros_like(x))


def large_alone_in_jax(x: jax.Array) -> jax.Array:
    return jnp.where(x > 40.0, 2 * x, jnp.zeros_like(x))


def test_a_gate_that_fails_for_want_of_cases_is_left_to_the_whole_run() -> None:
    inputs = {"x": "f32[4,8]"}
    whole, fast = (
        jaxport.check(large_alone, large_alone_in_jax, inputs, fail_fast=fail_fast, quiet=True)
        for fail_fast in (False, True)
    )
    assert (whole.verdict, fast.verdict, fast.places) == ("pass", "pass", ())


def test_two_nests_are_refused_as_without_the_option() -> None:
    def nested(x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"a": tf.nn.softmax(x)}

    with pytest.raises(jaxport.RequestError, match="to return the same structure"):
        jaxport.check(nested, jax.nn.softmax, {"x": "f32[4,8]"}, fail_fast=True, quiet=True)


def square_root(x: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(tf.abs(x) + 1.0)


@jax.custom_jvp
def undefined_slope(x: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.abs(x) + 1.0)


@undefined_slope.defjvp
def _slope(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    (x,), (change,) = primals, tangents
    return undefined_slope(x), change * jnp.nan


def test_a_gradient_that_is_no_number_is_located_in_the_gradients() -> None:
    report = jaxport.check(square_root, undefined_slope, {"x": "f32[4,8]"}, fail_fast=True, quiet=True)
    assert {place.pass_ for place in report.places} == {"gradients"}
    assert all(place.operation for place in report.places)


def test_a_case_of_kinks_keeps_its_cause() -> None:
    def steep_at_zero(x: jax.Array) -> jax.Array:
        return jnp.where(x >= 0, x, 0.0)

    report = jaxport.check(tf.nn.relu, steep_at_zero, {"x": "f32[4,8]"}, fail_fast=True, quiet=True)
    (place,) = report.places
    assert (place.pass_, place.gotchas) == ("gradients", "kinks")
    assert place.cause == "subgradient at an edge"
