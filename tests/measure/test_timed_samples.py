"""What a run makes of times that are given: attribution, and when no ratio is stated."""

from __future__ import annotations

import dataclasses
import math

import pytest

from compare.bench.pairs import Measured
from compare.bench.threads import judge
from compare.measure import timed_samples
from compare.plain_json import to_json
from compare.record.timing_part import Bound, Threads
from compare.record.vocabulary import CELLS
from workloads.core.modes import TF_GRAPH, TF_JIT, Arm, parse_arm


def samples(**slowed: float) -> timed_samples.Samples:
    """Five pairs of six rounds; arms take 1 to 10 ms, times a factor by name."""
    arms = ["tf/jit", "tf/jit#2", "jax/jit", "jax/jit#2", *CELLS]
    base = dict(zip(arms, (3e-3, 3e-3, 2e-3, 2e-3, 1e-3, 4e-3, 5e-3, 7e-3), strict=True))
    jitter = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0)
    taken = {
        parse_arm(arm): tuple(seconds * slowed.get(arm, 1) * each for each in jitter) for arm, seconds in base.items()
    }
    return timed_samples.Samples(pairs=[Measured(taken, {})] * 5)


def test_attribution_multiplies_to_the_published_ratio() -> None:
    found = to_json(timed_samples.summarise(samples(), recorded_sides=()))
    ratios, parts = found["timing"]["ratios"], found["attribution"]
    assert set(parts) == {"frontend", "compiler", "runtime"}
    assert math.prod(parts.values()) == pytest.approx(ratios["jax/jit vs tf/jit"]["ratio"])
    assert parts["frontend"] * parts["compiler"] == pytest.approx(4)
    assert set(found["timing"]["cells"]) == set(CELLS)


TWINS = ["tf/jit#2", "jax/jit#2"]


@pytest.mark.parametrize("twin", TWINS)
def test_where_identical_code_differs_no_ratio_is_given(twin: str) -> None:
    ratios = timed_samples.summarise(samples(**{twin: 1.5}), recorded_sides=()).timing.ratios
    assert set(ratios) == {"jax/jit vs tf/jit"}
    assert all(each.ratio is None and "A/A check failed" in each.withheld for each in ratios.values())


def test_a_side_that_xla_cannot_compile_is_held_against_itself_in_its_next_mode() -> None:
    """Every jit of TensorFlow failed: its graph mode vouches for it, and where that differs no ratio is stated."""
    graph = {Arm(TF_JIT, copy): Arm(TF_GRAPH, copy) for copy in (1, 2)}
    taken = {graph.get(arm, arm): rounds for arm, rounds in samples().pairs[0].medians.items()}
    found = timed_samples.summarise(timed_samples.Samples(pairs=[Measured(taken, {})] * 5), recorded_sides=()).timing
    assert set(found.null) == {"tf/graph vs itself", "jax/jit vs itself"}
    assert found.ratios["jax/jit vs tf/graph"].ratio is not None
    again = Arm(TF_GRAPH, copy=2)
    spoilt = taken | {again: tuple(1.5 * seconds for seconds in taken[again])}
    unsteady = timed_samples.summarise(
        timed_samples.Samples(pairs=[Measured(spoilt, {})] * 5), recorded_sides=()
    ).timing
    assert "A/A check failed" in unsteady.ratios["jax/jit vs tf/graph"].withheld


@pytest.mark.parametrize("twin", TWINS)
def test_where_identical_code_differs_nothing_is_attributed(twin: str) -> None:
    assert timed_samples.summarise(samples(**{twin: 1.5}), recorded_sides=()).attribution is None


@pytest.mark.parametrize("seen", [None, judge(2, {"tf": Bound((0,), 1.0), "jax": Bound((0, 1), 2.0)})])
def test_threads_that_are_not_those_asked_for_withhold_every_ratio(seen: Threads | None) -> None:
    reason = seen.reason if seen else "the threads of the two sides could not be verified"
    assert seen is None or reason.endswith("in the code or environment of tf")
    found = timed_samples.summarise(dataclasses.replace(samples(), threads=seen), recorded_sides=(), thread_count=2)
    ratios = found.timing.ratios.values()
    assert {each.withheld for each in ratios} == {reason}
    assert all(each.ratio is None for each in ratios) and found.attribution is None
