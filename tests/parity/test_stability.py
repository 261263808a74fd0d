"""The judge of a sweep: it can fail, and it does not where rounding of the original's own formula explains an error."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from compare.parity import stability
from compare.parity.breaks import Broken, Extent, Outcome, Reached, Swept
from compare.parity.stability import BETTER, BOTH, BREAKS, HOLDS, UNJUDGED, Rounding, Values
from compare.parity.verdict import with_sweep
from compare.record.parity_part import Gate, Parity
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from workloads.core.spec import STABILITY, Deviation

FLOAT32 = Rounding(unit=2.0**-24, tiny=2.0**-126, largest=3.4e38, times=10)
EXACT = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("beside", "is_real"),
    [((BREAKS,) * 4, True), ((BREAKS, BREAKS, HOLDS, BOTH), True), ((BREAKS, HOLDS, BOTH, UNJUDGED), False)],
)
def test_a_break_that_most_calls_beside_it_do_not_share_is_chance(beside: tuple[str, ...], is_real: bool) -> None:
    assert stability.recurs([Outcome(status) for status in beside]) is is_real


def outcome(values: Values, rounding: Rounding) -> Outcome:
    return stability.worst(stability.by_leaf(values, rounding).values())


def said(found: object, original: object = EXACT, exact: object = EXACT, rounding: Rounding = FLOAT32) -> str:
    def leaf(values: object, dtype: str) -> dict[str, np.ndarray]:
        return {"y": np.asarray(values, dtype)}

    values = Values(leaf(found, "float32"), leaf(original, "float32"), leaf(exact, "float64"))
    return outcome(values, rounding).status


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 0.0, 2.01])
def test_one_element_that_is_wrong_breaks_the_port(wrong: float) -> None:
    assert said([1.0, wrong, 3.0]) == BREAKS


@pytest.mark.parametrize("off", [1e-7, 1e-5])
def test_a_port_with_half_of_its_digits_right_holds(off: float) -> None:
    assert said(EXACT * (1 + off)) == HOLDS


def test_where_the_original_breaks_the_port_may() -> None:
    broken = [1.0, np.nan, 3.0]
    assert said(broken, original=broken) == BOTH
    assert said(EXACT, original=broken) == BETTER
    assert said([np.nan, np.nan, 3.0], original=broken) == BREAKS


def test_what_no_float32_can_hold_is_not_judged() -> None:
    assert said([np.inf], original=[np.inf], exact=[1e300]) == UNJUDGED
    assert said([np.nan], original=[1.0], exact=[np.nan]) == UNJUDGED


def test_what_is_below_the_smallest_normal_may_be_zero() -> None:
    assert said([0.0], original=[1e-38], exact=[1e-38]) == HOLDS
    assert said([0.0], original=[1e-36], exact=[1e-36]) == BREAKS


def test_what_rounding_does_to_the_original_formula_is_no_break() -> None:
    exact = np.array([1e-6])
    values = Values({"y": np.float32([2e-6])}, {"y": np.float32([1e-6])}, {"y": exact})
    assert outcome(values, FLOAT32).status == BREAKS
    moved = dataclasses.replace(values, moved=[{"y": exact + 1e-6}])
    assert outcome(moved, FLOAT32).status == HOLDS


def test_a_rounding_of_an_ordinary_gradient_is_no_break() -> None:
    lost = {"found": [0.0], "original": [1e-8], "exact": [1e-8]}
    assert said(**lost) == BREAKS
    assert said(**lost, rounding=dataclasses.replace(FLOAT32, floors={"y": 1e-7})) == HOLDS


def test_the_worst_element_is_named() -> None:
    values = Values({"y": np.float32([1, 5, np.nan])}, {"y": np.float32(EXACT)}, {"y": EXACT})
    found = outcome(values, FLOAT32)
    assert (found.leaf, found.index, found.exact) == ("y", (2,), 3.0)
    assert found.error == np.inf


def test_an_infinity_elsewhere_in_the_leaf_hides_nothing() -> None:
    exact = np.array([1.0, 2.0, 3.0, -np.inf])
    values = Values({"y": np.float32([np.nan, 2, 99, -np.inf])}, {"y": np.float32(exact)}, {"y": exact}, [{"y": exact}])
    assert outcome(values, FLOAT32).status == BREAKS
    lost = dataclasses.replace(values, found={"y": np.float32([1, 2, 3, np.nan])})
    assert outcome(lost, FLOAT32).status == BREAKS


@pytest.mark.parametrize("fill", [-1e9, -3e38])
def test_a_fill_value_in_the_leaf_hides_nothing(fill: float) -> None:
    assert said([0.0, 0.0, 0.0, fill], [1.0, 2.0, 3.0, fill], [1.0, 2.0, 3.0, fill]) == BREAKS


def test_many_operations_of_a_narrow_type_excuse_no_zeros() -> None:
    narrow = Rounding(unit=2.0**-8, tiny=2.0**-126, largest=3e38, times=3000)
    assert said([0.0, 0.0, 0.0], rounding=narrow) == BREAKS


def test_integers_and_booleans_are_judged_where_rounding_does_not_decide_them() -> None:
    found, right, flips = np.array([1, 2]), np.array([1, 3]), np.array([1, 2])
    values = Values({"n": found}, {"n": right}, {"n": right}, [{"n": right}])
    assert outcome(values, FLOAT32).status == BREAKS
    assert outcome(dataclasses.replace(values, moved=[{"n": flips}]), FLOAT32).status == HOLDS


# The gate.


def broken(magnitude: float, error: float = np.inf) -> Broken:
    return Broken("positive, up to ", magnitude, Outcome(BREAKS, "y", (0,), np.inf, 1.0, 1.0, error, 1e-6))


def reach(magnitude: float, error: float = np.inf) -> Reached:
    extent = Extent("positive, up to ", 1.0, magnitude / 2, (), (broken(magnitude, error),))
    verdict, worst = stability.deciding([extent], orders=60)
    return Reached("x", "forward", verdict, (extent,), worst, error, "x breaks")


def judged(*found: Reached, reason: str = "", declared: tuple[Deviation, ...] = ()) -> Parity:
    parity = Parity(PASS, {"structure": Gate(PASS)})
    return with_sweep(parity, "port", Swept(found, "float32", reason), declared)


def test_a_break_at_a_magnitude_that_can_be_squared_fails() -> None:
    found = judged(reach(89.0))
    assert found.verdict == found.gates[STABILITY].verdict == FAIL
    assert found.gates[STABILITY].comparisons[0].message == "x breaks"


def test_a_break_beyond_is_told_and_does_not_fail() -> None:
    found = judged(reach(2.0**61))
    assert found.verdict == PASS
    assert found.reach[0].worst is not None


def test_the_break_at_the_most_ordinary_magnitude_decides() -> None:
    extents = [Extent("a", 1, 2, (), (broken(2.0**50),)), Extent("b", 1, 2, (), (broken(1e-3), broken(1e6)))]
    assert stability.deciding(extents, orders=60) == (FAIL, broken(1e-3))


def test_nothing_swept_is_said() -> None:
    found = judged(reason="no input is a float")
    assert (found.verdict, found.gates[STABILITY].verdict) == (PASS, NOT_APPLICABLE)
    assert found.gates[STABILITY].reason == "no input is a float"


@pytest.mark.parametrize(("bound", "verdict"), [(0.1, FAIL), (0.5, PASS), (1e300, PASS)])
def test_a_declared_deviation_raises_the_bound(bound: float, verdict: str) -> None:
    assert judged(reach(89.0, error=0.3), declared=(Deviation(STABILITY, bound, "why"),)).verdict == verdict


def test_a_deviation_excuses_no_break_that_is_larger_elsewhere() -> None:
    edge = dataclasses.replace(reach(89.0, error=0.3), error=np.inf)
    assert judged(edge, declared=(Deviation(STABILITY, 0.5, "why"),)).verdict == FAIL


def test_a_deviation_is_not_missed_where_nothing_was_swept() -> None:
    found = judged(reason="no input is a float", declared=(Deviation(STABILITY, 0.5, "why"),))
    assert found.gates[STABILITY].verdict == NOT_APPLICABLE


def test_a_deviation_that_no_longer_occurs_fails() -> None:
    holds = Reached("x", "forward", PASS, ())
    found = judged(holds, declared=(Deviation(STABILITY, 0.5, "why"),))
    assert found.verdict == FAIL
    assert "no longer occurs" in found.gates[STABILITY].reason


@pytest.mark.parametrize("seed", range(200))
def test_what_is_soon_told_to_hold_holds_by_every_element(seed: int) -> None:
    draws = np.random.default_rng(seed)
    exact = draws.normal(size=24) * 10.0 ** draws.integers(-12, draws.integers(-11, 38), 24)

    def run(off: float) -> np.ndarray:
        wrong = exact * (1 + off * draws.normal(size=24)) + 1e-2 * off * np.abs(exact).max() * draws.normal(size=24)
        wrong[draws.random(24) < 0.003] = np.nan
        return wrong.astype("float32")

    found, original = (run(10.0 ** draws.integers(-8, -1)) for _ in range(2))
    moved = [{"y": exact + 10.0 ** draws.integers(-9, 0) * draws.normal(size=24)} for _ in range(draws.integers(0, 3))]
    values = Values({"y": found}, {"y": original}, {"y": exact}, moved)
    soon, whole = stability.by_leaf(values, FLOAT32)["y"], stability.weigh_leaf("y", values, FLOAT32)
    assert soon.status == whole.status


def test_no_more_leaves_are_asked_once_one_breaks() -> None:
    leaves = {name: EXACT for name in "abc"}
    values = Values({**leaves, "b": 2 * EXACT}, leaves, leaves)
    assert [*stability.by_leaf(values, FLOAT32, until_broken=True)] == ["a", "b"]
    assert [*stability.by_leaf(values, FLOAT32)] == ["a", "b", "c"]
