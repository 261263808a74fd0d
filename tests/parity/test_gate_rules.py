"""Where exactly each bound lies, on arrays small enough to reckon by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from compare.parity import Evidence, judge
from compare.record.vocabulary import FAIL, PASS
from compare.record.workload_part import Failure
from workloads.core.spec import Deviation

ROUNDING = 2.0**-24
Run = Mapping[str, object]


def leaves(run: Run, dtype: str | None = None) -> dict[str, np.ndarray]:
    return {name: np.array(value, dtype) for name, value in run.items()}


def evidence(
    tf: Run,
    jax: Run,
    oracle: Run | None = None,
    double: Run | None = None,
    at: tuple[str, str] = ("forward", "seed0"),
    dtype: str = "float32",
    **fields: object,
) -> Evidence:
    """One pass of one case: TF and JAX as written, and both in float64 (equal where not said otherwise)."""
    oracle = tf if oracle is None else oracle
    made = Evidence(
        workload="tiny",
        outputs={("tf/eager", *at): leaves(tf, dtype), ("jax/jit", *at): leaves(jax, dtype)},
        doubles={("tf", *at): leaves(oracle, "float64"), ("jax", *at): leaves(double or oracle, "float64")},
    )
    return replace(made, **fields)


def trained(tf: Run, jax: Run, oracle: Run, double: Run, **more: Run) -> Evidence:
    return Evidence(
        workload="tiny",
        outputs={},
        doubles={},
        trajectories={
            ("tf/eager", "float32"): leaves(tf, "float32"),
            ("jax/jit", "float32"): leaves(jax, "float32"),
            ("tf/eager", "float64"): leaves(oracle, "float64"),
            ("jax/jit", "float64"): leaves(double, "float64"),
            **{(name.replace("_", "/"), "float64"): leaves(run, "float64") for name, run in more.items()},
        },
    )


def verdict(evidence: Evidence, gate: str) -> str:
    return judge(evidence).gates[gate].verdict


@pytest.mark.parametrize(("roundings", "expected"), [(0, PASS), (8, PASS), (10, FAIL)])
def test_eight_roundings_pass_beside_an_exact_original(roundings: int, expected: str) -> None:
    made = evidence({"a": [1.0, 0.5]}, {"a": [1.0 + roundings * ROUNDING, 0.5]})
    assert verdict(made, "rounding") == expected


@pytest.mark.parametrize(("ulps", "expected"), [(4, PASS), (5, FAIL)])
def test_a_rounding_is_that_of_the_leafs_own_dtype(ulps: int, expected: str) -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    made = evidence({"a": [1.0]}, {"a": [1.0 + ulps * 2.0**-7]}, dtype=bfloat16)
    assert verdict(made, "structure") == PASS
    assert verdict(made, "rounding") == expected


@pytest.mark.parametrize(("factor", "expected"), [(3.9, PASS), (4.1, FAIL)])
def test_the_port_may_be_four_times_as_far_off_as_the_original(factor: float, expected: str) -> None:
    made = evidence({"a": [1.0 + 2.0**-10]}, {"a": [1.0 + factor * 2.0**-10]}, oracle={"a": [1.0]})
    assert verdict(made, "rounding") == expected


@pytest.mark.parametrize(("value", "expected"), [(0.9 * ROUNDING, PASS), (1.1 * ROUNDING, FAIL)])
def test_a_vanishing_gradient_may_be_one_rounding_of_the_largest(value: float, expected: str) -> None:
    made = evidence({"zero": [1e-20], "big": [1.0]}, {"zero": [value], "big": [1.0]}, at=("gradients", "seed0"))
    assert verdict(made, "gradients") == expected


@pytest.mark.parametrize(("value", "expected"), [(7e-15, PASS), (8e-15, FAIL)])
def test_a_vanishing_gradient_in_float64_is_held_against_the_largest(value: float, expected: str) -> None:
    tf = {"zero": [1e-20], "big": [1.0]}
    made = evidence(tf, tf, double={"zero": [value], "big": [1.0]}, at=("gradients", "seed0"))
    assert verdict(made, "gradients") == expected


@pytest.mark.parametrize(("error", "expected"), [(0.9e-12, PASS), (1.1e-12, FAIL)])
def test_semantics_is_relative_to_the_largest_value_of_the_leaf(error: float, expected: str) -> None:
    tf = {"a": [100.0, 1.0], "b": [1e9]}
    made = evidence(tf, tf, double={"a": [100.0, 1.0 + 100 * error], "b": [1e9]})
    assert verdict(made, "semantics") == expected


@pytest.mark.parametrize(("value", "expected"), [(0.9e-6, PASS), (1.1e-6, FAIL)])
def test_a_leaf_of_zeros_is_held_against_the_largest_value_of_the_pass(value: float, expected: str) -> None:
    tf = {"zeros": [0.0, 0.0], "big": [1e6, 1.0]}
    assert verdict(evidence(tf, tf, double={"zeros": [0.0, value], "big": [1e6, 1.0]}), "semantics") == expected


def test_a_pass_of_zeros_is_held_against_one() -> None:
    tf = {"zeros": [0.0]}
    for found, expected in ((1e-13, PASS), (1e-11, FAIL)):
        gate = judge(evidence(tf, tf, double={"zeros": [found]})).gates["semantics"]
        assert [each.verdict for each in gate.comparisons] == [expected]


def test_what_overflows_in_both_is_not_held_against_a_finite_oracle() -> None:
    tf, oracle = {"a": [np.inf, 1.0]}, {"a": [1e200, 1e199]}
    both = evidence(tf, tf, oracle=oracle)
    assert verdict(both, "rounding") == PASS


def test_what_overflows_in_the_port_alone_fails() -> None:
    made = evidence({"a": [1e30, 1.0]}, {"a": [np.inf, 1.0]})
    assert verdict(made, "structure") == verdict(made, "rounding") == FAIL


@pytest.mark.parametrize("value", [complex(1, np.nan), complex(np.nan, 1), complex(1, np.inf)])
def test_complex_parts_are_told_apart(value: complex) -> None:
    made = evidence({"a": [1.0]}, {"a": [1.0]})
    jax = {"a": np.array([value], "complex64")}
    tf = {"a": np.array([1 + 1j], "complex64")}
    at = ("forward", "seed0")
    assert verdict(replace(made, outputs={("tf/eager", *at): tf, ("jax/jit", *at): jax}), "structure") == FAIL


def test_large_integers_are_compared_without_rounding() -> None:
    at = ("forward", "seed0")
    outputs = {("tf/eager", *at): {"a": np.array([2**53])}, ("jax/jit", *at): {"a": np.array([2**53 + 1])}}
    assert verdict(replace(evidence({"a": [1]}, {"a": [1]}), outputs=outputs), "structure") == FAIL


@pytest.mark.parametrize(("shift", "expected"), [(0.9e-3, PASS), (1.1e-3, FAIL)])
def test_rounded_constants_widen_the_rounding_gate_once(shift: float, expected: str) -> None:
    made = evidence({"a": [1.0]}, {"a": [1.0 + shift]}, allowance={("forward", "seed0", "a", 0): 1e-3})
    assert verdict(made, "rounding") == expected
    assert bool([e for e in judge(made).deviations if e.gate == "rounding"]) == (expected == PASS)


@pytest.mark.parametrize(("width", "gate"), [("float32", "rounding"), ("float64", "semantics")])
@pytest.mark.parametrize(("shift", "expected"), [(3.9e-3, PASS), (4.1e-3, FAIL)])
def test_rounding_of_the_original_formula_widens_the_bound_of_its_width(
    width: str, gate: str, shift: float, expected: str
) -> None:
    moved = {"a": [1.0 + shift, 0.5]}
    ports = {"jax": moved} if width == "float32" else {"jax": {"a": [1.0, 0.5]}, "double": moved}
    for of, verdict_ in ((width, expected), ("float64" if width == "float32" else "float32", FAIL)):
        made = evidence({"a": [1.0, 0.5]}, **ports, formula={(of, "forward", "seed0", "a", 0): 4e-3})
        assert verdict(made, gate) == verdict_
        entries = [each for each in judge(made).deviations if each.gate == gate]
        assert [entry.kind for entry in entries] == ["derived"] * (verdict_ == PASS)
        assert all("roundings of TF's own formula" in entry.reason for entry in entries)


@pytest.mark.parametrize(("shift", "expected"), [(4.5e-6, PASS), (5.5e-6, FAIL)])
def test_a_declaration_raises_the_bound_to_its_own_and_is_not_added(shift: float, expected: str) -> None:
    made = evidence(
        {"a": [1.0, 0.5]},
        {"a": [1.0, 0.5]},
        double={"a": [1.0 + shift, 0.5]},
        allowance={("forward", "seed0", "a", 0): 1e-6},
        deviations=(Deviation("semantics", 5e-6, "known"),),
    )
    parity = judge(made)
    assert parity.gates["semantics"].verdict == expected
    assert [entry.kind for entry in parity.deviations] == ["declared"]


def test_a_derived_deviation_shows_the_largest_error_of_all_cases() -> None:
    one, other = (
        evidence({"a": [1.0]}, {"a": [1.0]}, double={"a": [1.0 + shift]}, at=("forward", case))
        for case, shift in (("seed0", 1e-9), ("seed1", 3e-9))
    )
    both = replace(one, doubles={**one.doubles, **other.doubles}, outputs={**one.outputs, **other.outputs})
    allowed = (("forward", case, "a", 0) for case in ("seed0", "seed1"))
    (entry,) = judge(replace(both, allowance=dict.fromkeys(allowed, 1e-9))).deviations
    assert entry.observed == pytest.approx(3e-9)


def test_at_kinks_float32_is_not_held_against_the_oracle() -> None:
    made = evidence({"x": [0.0, 1.0]}, {"x": [1.0, 1.0]}, at=("gradients", "kinks"))
    assert verdict(made, "gradients") == PASS
    wrong = evidence({"x": [0.0, 1.0]}, {"x": [0.0, 1.0]}, double={"x": [1.0, 1.0]}, at=("gradients", "kinks"))
    assert verdict(wrong, "gradients") == FAIL


@pytest.mark.parametrize(("value", "expected"), [(9e-12, PASS), (11e-12, FAIL)])
def test_a_vanishing_weight_is_held_against_the_largest_weight(value: float, expected: str) -> None:
    tf = {"loss": [1.0] * 10, "weights@10/zero": [0.0], "weights@10/big": [1.0]}
    oracle = {**tf, "weights@10/zero": [1e-20]}
    made = trained(oracle, oracle, oracle, {**oracle, "weights@10/zero": [value]})
    assert verdict(made, "training") == expected


def test_the_size_of_the_loss_excuses_no_weight() -> None:
    tf = {"loss": [1e6], "weights@1/w": [1.0]}
    assert verdict(trained(tf, tf, tf, {**tf, "weights@1/w": [1.0 + 1e-9]}), "training") == FAIL


@pytest.mark.parametrize("mode", ["tf_autocluster", "jax_eager"])
def test_the_reference_mode_stands_for_its_side_in_float64(mode: str) -> None:
    run, other = {"loss": [1.0], "weights@1/w": [1.0]}, {"loss": [2.0], "weights@1/w": [2.0]}
    assert verdict(trained(run, run, run, run, **{mode: other}), "training") == PASS


def test_a_shorter_loss_curve_fails() -> None:
    run = {"loss": [1.0, 1.0], "weights@1/w": [1.0]}
    made = trained(run, {**run, "loss": [1.0]}, run, run)
    assert [c.leaf for c in judge(made).gates["training"].comparisons if c.verdict == FAIL] == ["loss"]


def test_the_reasons_of_the_other_side_are_not_blamed() -> None:
    made = evidence({"a": [1.0]}, {"a": [1.0]}, failures=(Failure("tf", "load", "broken"),))
    made = replace(made, outputs={key: run for key, run in made.outputs.items() if key[0] == "tf/eager"})
    (comparison,) = judge(made).gates["structure"].comparisons
    assert comparison.message.endswith("jax/jit gave no float32 arrays: no reason was given")
