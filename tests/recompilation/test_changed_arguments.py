"""What is different between the arguments of two calls, in words."""

import numpy as np
import pytest

from compare.inputs.call_streams import stream
from compare.recompilation.changed_arguments import changes, only_numbers, only_values


def changed(before: str, after: str, side: str = "") -> dict[str, str]:
    one, other = stream([before, after], [])
    return changes(one.arguments, other.arguments, side)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("x=f32[8,4]", "x=f32[7,4]", "x: f32[8,4] -> f32[7,4], dimension 0"),
        ("x=f32[8,4]", "x=f64[7,3]", "x: f32[8,4] -> f64[7,3], dimensions 0, 1, dtype"),
        ("x=f32[8]", "x=f32[8,1]", "x: f32[8] -> f32[8,1], rank"),
        ("x=1", "x=2", "x: 1 -> 2, the value of a Python int"),
        ("x=1", "x=1.0", "x: 1 -> 1.0, a Python int -> a Python float"),
        ("x=True", "x=1", "x: True -> 1, a Python bool -> a Python int"),
        ("x=1.0", "x=f32(1.0)", "x: 1.0 -> f32(1.0), a Python float -> an array"),
        ("x=i32(0)", "x=i32(1)", "x: i32(0) -> i32(1), the values of an array"),
        ("x={'a': 1}", "x={'a': 1, 'b': 2}", "x: {'a'} -> {'a', 'b'}, another structure"),
        ("x=[1]", "x=(1,)", "x: [_] -> (_), another structure"),
        ("x={'a': f32[2], 'b': 1}", "x={'b': 1, 'a': f32[3]}", "x.a: f32[2] -> f32[3], dimension 0"),
    ],
)
def test_a_change_is_said(before: str, after: str, said: str) -> None:
    assert changed(before, after) == {"x": said}


def test_jax_has_words_of_its_own() -> None:
    assert changed("k=1", "k=2", "jax") == {"k": "k: 1 -> 2, the value of a static Python int"}
    assert changed("k=1.0", "k=f32(1.0)", "jax")["k"].endswith("a Python float -> an array, weak type")
    assert "weak" not in changed("k=1.0", "k=f64(1.0)", "jax")["k"]


def test_arguments_that_are_the_same_are_left_out() -> None:
    assert changed("x=f32[3], k=1, y=2", "x=f32[3], k=2, y=2") == {"k": "k: 1 -> 2, the value of a Python int"}
    assert changed("x=f32[3]", "x=f32[3], k=2") == {"k": "k: left out -> 2"}


def test_values_are_told_from_shapes() -> None:
    before, after = {"n": np.int32(0), "x": np.zeros(2)}, {"n": np.int32(1), "x": np.ones(2)}
    assert only_values(before, after, "x") and not only_values(before, after, "n")
    assert only_numbers(before, after, "n")
    assert not only_numbers({"n": 0}, {"n": 1}, "n") and not only_values(before, before, "x")
