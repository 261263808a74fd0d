"""Where a program decides about NaN or infinities, they are placed; where that judges nothing, a remark says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import record_of
from suggesting import as_compiled, doubles, suggested

from compare.hlo import levels
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.conditions import special_conditions
from compare.hlo.levels import Subject
from compare.prove.further import Further, find_more_cases
from compare.prove.special_cases import Original, Runs, select_gradients
from workloads.core import specials
from workloads.core.spec import Arrays, ArraySpec
from workloads.protocol.framework import FORWARD

pytestmark = pytest.mark.usefixtures("programs_here")

X = {"x": ArraySpec((8, 4))}
TWO = {"x": ArraySpec((8,)), "y": ArraySpec((8,))}
Function = Callable[..., Any]


# What is decided about.


def said(function: Function) -> list[str]:
    _, found = doubles(function, function, x=np.zeros(4))
    (graph, _) = (levels.read(Subject("", hlo_of_artifact(program.artifact))) for program in found.programs.values())
    return [str(each) for each in special_conditions(graph)]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: jnp.where(jnp.isnan(x), 0.0, x), ["NaN"]),
        (lambda x: jnp.where(x == x, x, 0.0), ["NaN"]),
        (lambda x: jnp.where(jnp.isfinite(jnp.log(x)), x, 0.0), ["finite"]),
        (lambda x: jnp.where(jnp.isinf(x), 0.0, x), ["equal to inf"]),
        (lambda x: jnp.where(jnp.abs(x) <= jnp.finfo("float32").max, x, 0.0), ["at most 3.40282e+38"]),
        (lambda x: jnp.where(jnp.isnan(x.astype("int32").astype("float32")), 0.0, x), []),
        (lambda x: jnp.where(x > 2, x, 0.0), []),
        (lambda x: jnp.maximum(x, -jnp.inf), []),
        (lambda x: jnp.max(x) + jax.nn.softmax(x), []),
    ],
)
def test_decisions_about_special_values_are_read_off_the_program(function: Function, expected: list[str]) -> None:
    assert said(function) == expected


# What is placed.


def test_special_values_lie_among_ordinary_ones() -> None:
    base = {"x": np.ones((8, 4), np.float32)}
    cases = [case.arrays["x"] for case in specials.special_cases(X, base) if case.kind == "nan"]
    some, by_column, by_row, everything = (np.isnan(case) for case in cases)
    assert 0 < some.mean() < 0.5
    assert by_column.all(0).any() and not by_column.any(0).all()
    assert by_row.all(1).any() and not by_row.any(1).all()
    assert everything.all()


def test_each_input_is_special_alone_and_all_are_together() -> None:
    base = {name: np.ones(8, np.float32) for name in TWO}
    groups = {case.inputs for case in specials.special_cases(TWO, base)}
    assert groups == {("x",), ("y",), ("x", "y")}


def test_a_declared_range_has_no_nan() -> None:
    ranged = {"x": ArraySpec((8,), low=-1, high=1)}
    cases = specials.special_cases(ranged, {"x": np.ones(8, np.float32)})
    assert {case.kind for case in cases} == {"zeros", "subnormal"}


# What is judged.

PAIRS: list[tuple[Function, Function]] = [
    (lambda x: jnp.where(jnp.isnan(x), 0.0, x), lambda x: jnp.nan_to_num(x)),
    (lambda x: jnp.where(jnp.isfinite(x), x, 0.0), lambda x: jnp.where(jnp.isnan(x), 0.0, x)),
    (lambda x: jnp.where(x == x, x, 3.0), lambda x: x),
    (lambda x: x, lambda x: jnp.nan_to_num(x)),
    (lambda x: jnp.where(jnp.isinf(x), 9.0, x), lambda x: jnp.where(jnp.isposinf(x), 9.0, x)),
    (lambda x: jnp.where(jnp.isnan(jnp.log(x)), -1.0, jnp.log(x)), lambda x: jnp.where(x < 0, -1.0, jnp.log(x))),
    (lambda x: jnp.where(jnp.isnan(x), jnp.nanmean(x, 0), x), lambda x: jnp.where(jnp.isnan(x), jnp.mean(x, 0), x)),
    (lambda x: jnp.where(jnp.isfinite(jnp.sum(x, 1)), 1, 0), lambda x: jnp.where(jnp.isnan(jnp.sum(x, 1)), 0, 1)),
    (
        lambda x: jax.lax.map(lambda row: jnp.where(jnp.isnan(row).any(), 0.0, row), x),
        lambda x: jnp.where(jnp.isnan(x), 0.0, x),
    ),
    (
        lambda x: jax.lax.cond(x[0, 0] == x[0, 0], lambda v: v, lambda v: jnp.where(jnp.isnan(v), 7.0, v), x),
        lambda x: x,
    ),
]


@pytest.mark.parametrize(("tf", "port"), PAIRS)
def test_a_port_that_decides_otherwise_about_special_values_is_told_apart(tf: Function, port: Function) -> None:
    assert apart(suggested(tf, port, X))
    assert not apart(suggested(tf, tf, X))
    assert suggested(tf, tf, X).remarks == ()


def test_nan_in_one_of_two_inputs_tells_apart() -> None:
    def chosen(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(jnp.isnan(y), x, y)

    assert apart(suggested(chosen, lambda x, y: jnp.where(jnp.isnan(y), 0.0, y) + 0 * x, TWO))
    assert not apart(suggested(chosen, chosen, TWO))


def apart(found: Further) -> set[str]:
    """The cases in which results differ, NaN like NaN."""
    return {
        case for case in found.cases
        if not np.array_equal(
            found.arrays["tf", FORWARD, case]["y"], found.arrays["jax", FORWARD, case]["y"], equal_nan=True
        )
    }  # fmt: skip


@pytest.mark.parametrize(
    "function",
    [lambda x: jax.nn.relu(x) + jnp.mean(x), lambda x: jax.nn.softmax(x), lambda x: jnp.sort(x), lambda x: x > 0],
)
def test_nothing_is_placed_where_nobody_asks_for_it(function: Function) -> None:
    found = suggested(function, function, X)
    assert all(np.isfinite(case["x"]).all() for case in found.cases.values())


def by_hand(x: jax.Array) -> jax.Array:
    most = jnp.max(x, -1)
    return most + jnp.log(jnp.sum(jnp.exp(x - most[:, None]), -1))


def test_an_infinity_of_which_either_formula_makes_nan_holds_no_port() -> None:
    def by_library(x: jax.Array) -> jax.Array:
        return jax.nn.logsumexp(x, -1)

    assert not any(case.startswith("inf") for case in apart(suggested(by_hand, by_library, X)))
    assert not any(case.startswith("inf") for case in apart(suggested(by_library, by_hand, X)))


# TensorFlow's own modes.


def asked(function: Function, original: Callable[[Original], Original], spec: ArraySpec = X["x"]) -> Further:
    twin, found = doubles(function, function, x=np.zeros(spec.shape, spec.dtype))
    return find_more_cases(twin, {"x": spec}, found, original(as_compiled(found, twin)))


def imputed(x: jax.Array) -> jax.Array:
    return jnp.where(jnp.isnan(x), 0.0, x)


def unlike_itself(original: Original) -> Original:
    """A TensorFlow whose eager mode keeps NaN."""

    def modes(pass_: str, inputs: Arrays) -> Runs:
        return Runs({**original(pass_, inputs).reference, "tf/eager": {"y": inputs["x"]}})

    return modes


@pytest.mark.parametrize(
    ("original", "why"),
    [
        (unlike_itself, "own modes (tf/jit, tf/eager, and XLA in float64) disagree"),
        (lambda _: lambda pass_, inputs: Runs(), "could not be asked"),
        (
            lambda _: lambda pass_, inputs: Runs({"tf/eager": "Tensor had NaN values"}),
            "refuses such inputs: Tensor had NaN",
        ),
    ],
)
def test_a_case_on_which_tensorflow_is_of_two_minds_is_not_used_and_named(
    original: Callable[[Original], Original], why: str
) -> None:
    found = asked(imputed, original)
    assert not any(np.isnan(case["x"]).any() for case in found.cases.values())
    assert len(found.remarks) == 2
    assert "test_special_cases.py:" in found.remarks[0]
    assert "whether a value is NaN: in all cases, no value was" in found.remarks[0] and why in found.remarks[0]


def test_what_a_range_leaves_out_is_named_with_the_input() -> None:
    found = asked(imputed, lambda original: original, ArraySpec((8,), low=0, high=1))
    assert "the declared range of x contains none" in found.remarks[0]


def test_what_no_input_reaches_is_named_with_advice() -> None:
    found = asked(
        lambda x: jnp.where(jnp.isnan(jnp.cos(x * 0 + 1).astype("int32") * x.shape[0] + 0.5 * jnp.isnan(x)), 0, x),
        lambda original: original,
    )
    assert any("judge the function that decides alone, and pass" in remark for remark in found.remarks)


def test_gradients_are_judged_where_tensorflow_has_them() -> None:
    expected = {"x": np.array([1.0, 2.0]), "y": np.array([1.0, np.nan]), "z": np.array([1.0, 2.0])}
    runs = Runs({"tf/eager": {**expected, "z": np.array([1.0, 3.0])}})
    assert select_gradients(expected, runs) == {"x"}
    own = Runs({"tf/eager": expected}, {"tf/eager": expected, "tf/jit": {**expected, "x": np.array([9.0, 2.0])}})
    assert select_gradients(expected, own) == {"z"}
    assert select_gradients(expected, Runs()) == set()


# Both frameworks.

ORIGINALS = """
import tensorflow as tf

def imputed(x):
    missing = tf.math.is_nan(x)
    count = tf.reduce_sum(tf.cast(~missing, x.dtype), 0)
    mean = tf.math.divide_no_nan(tf.reduce_sum(tf.where(missing, tf.zeros_like(x), x), 0), count)
    return tf.concat([tf.where(missing, mean[None], x), tf.cast(missing, x.dtype)], -1)

def model(weights, x):
    return tf.nn.relu(tf.where(tf.math.is_nan(x), weights["mean"], x) @ weights["kernel"])
"""

PORTS = """
import jax.numpy as jnp

def with_mask(filled, missing): return jnp.concatenate([filled, missing.astype(filled.dtype)], -1)

def imputed(x):
    missing = jnp.isnan(x)
    count = jnp.sum(~missing, 0).astype(x.dtype)
    mean = jnp.where(count == 0, 0, jnp.sum(jnp.where(missing, 0, x), 0) / jnp.where(count == 0, 1, count))
    return with_mask(jnp.where(missing, mean[None], x), missing)

def zeroed(x): return with_mask(jnp.nan_to_num(x), jnp.isnan(x))
def mean_of_nan(x): return with_mask(jnp.where(jnp.isnan(x), jnp.mean(x, 0)[None], x), jnp.isnan(x))

def rectified(x): return jnp.where(x > 0, x, 0)
def model(weights, x): return rectified(jnp.where(jnp.isnan(x), weights["mean"], x) @ weights["kernel"])
def model_of_zeros(weights, x): return rectified(jnp.nan_to_num(x) @ weights["kernel"])
"""

FILE = """
from workloads import ArraySpec, Workload

port = Workload(
    name="{port}", summary="", inputs={{"x": ArraySpec((8, 4))}}, weights={weights}, builds=False,
    tf="originals.py:{original}", jax="ports.py:{port}",
)
"""
WEIGHTS = '{"mean": ArraySpec((4,)), "kernel": ArraySpec((4, 3))}'


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By port, its parity."""
    folder = tmp_path_factory.mktemp("special")
    (folder / "originals.py").write_text(ORIGINALS)
    (folder / "ports.py").write_text(PORTS)
    paths: list[str] = []
    for original, ports in (("imputed", ("zeroed", "mean_of_nan")), ("model", ("model_of_zeros",))):
        for port in (original, *ports):
            path = folder / f"{port}.py"
            path.write_text(FILE.format(port=port, original=original, weights=WEIGHTS if original == "model" else "{}"))
            paths.append(str(path))
    workloads = record_of(*paths, plans=(), parity_only=True)["workloads"]
    return {name: part["parity"] for name, part in workloads.items()}


@pytest.mark.process
@pytest.mark.parametrize("port", ["imputed", "model"])
def test_a_port_that_fills_what_is_missing_as_tensorflow_does_passes(judged: dict[str, Any], port: str) -> None:
    assert judged[port]["verdict"] == "pass"


@pytest.mark.process
@pytest.mark.parametrize("port", ["zeroed", "mean_of_nan", "model_of_zeros"])
def test_a_port_that_fills_it_otherwise_fails(judged: dict[str, Any], port: str) -> None:
    failing = {each["case"] for each in judged[port]["gates"]["semantics"]["comparisons"] if each["verdict"] == "fail"}
    assert any(case.startswith("nan") for case in failing)
