"""`jaxport.compare_programs`: programs that are equal, that differ, and that cannot be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import tensorflow as tf
from pages import Page
from places import DATA

import jaxport
from compare.api.program_equality import unequal

pytestmark = pytest.mark.usefixtures("programs_here")

INPUTS = {"x": "f32[4,8]"}


def centred(x: tf.Tensor) -> tf.Tensor:
    return tf.tanh(x) * 2.0


def port(x: jax.Array) -> jax.Array:
    return jnp.tanh(x) * 2.0


def wrong(x: jax.Array) -> jax.Array:
    return jnp.sinh(x) * 2.0


def test_one_program_is_equal_at_every_level_but_the_raw() -> None:
    report = jaxport.compare_programs(centred, port, INPUTS, pass_="forward")
    assert report.equal and report.verdict == "pass" and report.level == "algebraic" and report.message == ""
    assert report.levels["structural"].equal and "optimized" not in report.levels
    assert report.differences == () and str(report).endswith("equal")
    assert "equal at level algebraic" in Page(report._repr_html_()).text
    report.assert_equal()


def test_programs_that_differ_say_where() -> None:
    report = jaxport.compare_programs(centred, wrong, INPUTS, pass_="forward")
    assert not report.equal and report.verdict == "fail" and not report.levels["structural"].equal
    lines = [source for difference in report.differences for source in difference.sources]
    assert any(Path(__file__).name in line for line in lines)
    assert report.message in str(report) and "not equal at level algebraic" in Page(report._repr_html_()).text
    with pytest.raises(AssertionError, match="expected wrong to be equal at algebraic, found that"):
        report.assert_equal()


def test_two_files_with_programs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    program = str(DATA / "running_example_tf.mlirbc")
    report = jaxport.compare_programs(program, program, level="raw")
    assert report.equal and report.levels["raw"].matched > 1
    with pytest.raises(jaxport.RequestError, match="expected functions or a port file with level optimized"):
        jaxport.compare_programs(program, program, level="optimized")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((centred, port, INPUTS), {"level": "fused"}, "expected level of raw, .*, found 'fused'"),
        ((centred, port, INPUTS), {"pass_": "back"}, "expected pass_ of forward, gradients, step, found 'back'"),
        ((centred, port, INPUTS), {"pass_": "step"}, "expected a pass of port .*, found 'step': choose another pass_"),
        ((centred,), {}, "expected a port file, or two functions and inputs, found function alone"),
        ((centred, 5, INPUTS), {}, "expected a function, Keras model or nnx module as jax_fn, found int"),
        (("my_tf.py:f", "my_jax.py:f"), {}, "expected inputs by name"),
        (("./my_tf.py:f", "./my_jax.py:f"), {}, "expected inputs by name"),
        (("./no.mlirbc", "./no.mlirbc"), {}, "expected .*, found"),
        ((centred, port, {}), {}, "expected inputs by name"),
        ((centred, port, {"y": "f32[3]", "x": "f32[3]"}), {}, "expected an input for each argument of tf_fn"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_sentence(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(jaxport.RequestError, match=message) as refused:
        jaxport.compare_programs(*arguments, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("level", "verdict", "why"),
    [
        ({"reason": "XLA does not take it"}, "not_judged", "XLA does not take it"),
        ({"equal": False, "assumes": ["x is finite"]}, "fail", "they are only where x is finite"),
        ({"equal": False, "assumes": [], "left_only": 1, "right_only": 0}, "fail", "1 and 0 values are unmatched"),
        ({"equal": False, "assumes": [], "left_only": 0, "right_only": 0, "unequal": []}, "fail", "bodies within them"),
    ],
)
def test_only_what_is_known_to_be_one_program_is_equal(level: dict[str, Any], verdict: str, why: str) -> None:
    ((found, name, line),) = unequal({"name": "f", "levels": {"algebraic": level}, "targets": {}}, "algebraic")
    assert (found, name) == (verdict, "f") and why in line
