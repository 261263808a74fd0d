"""Changes between runs, regressions that are claimed only when they recur, and the line through a history."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from history_records import (
    PAIRS,
    PORT,
    Record,
    change_of,
    changed,
    compare_all,
    decoded,
    history_of,
    measured,
    record,
    recurring,
    stated,
    trend,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.history import estimates, moves
from compare.history.estimates import Estimate
from compare.record.results_file import RecordError

# The arithmetic


def test_the_standard_error_is_that_of_the_pairs() -> None:
    timed = measured(seed=3)
    row = timed["ratios"][PORT]
    found = estimates.estimate(decoded(record(timed)).workloads["add"].timing.ratios[PORT])
    assert isinstance(found, Estimate)
    assert found.interval(0.95) == pytest.approx(row["ci95"])
    assert found.freedom == 7


def test_the_difference_of_two_estimates_is_that_of_the_textbook() -> None:
    # Bland and Altman 2003: log ratios -0.1188 and -0.1306 with standard errors 0.1559 and 0.0934 (their table) give
    # a standard error of sqrt(0.1559^2 + 0.0934^2) = 0.1817.
    moved = estimates.difference(Estimate(-0.1188, 0.1559**2, 1e9), Estimate(-0.1306, 0.0934**2, 1e9))
    assert moved.log == pytest.approx(0.0118)
    assert math.sqrt(moved.variance) == pytest.approx(0.1817, abs=1e-4)


def test_degrees_of_freedom_are_those_of_welch() -> None:
    equal = estimates.difference(Estimate(0, 1e-4, 7), Estimate(0, 1e-4, 7))
    lopsided = estimates.difference(Estimate(0, 1e-4, 7), Estimate(0, 1e-12, 7))
    assert (equal.freedom, lopsided.freedom) == (pytest.approx(14), pytest.approx(7))


def test_a_baseline_whose_runs_differ_more_than_their_intervals_is_as_uncertain_as_they_are_apart() -> None:
    alike = [Estimate(0.0, 1e-4, 7), Estimate(0.0, 1e-4, 7)]
    apart = [Estimate(-0.1, 1e-4, 7), Estimate(0.1, 1e-4, 7)]
    assert estimates.pool(alike).variance == pytest.approx(0.5e-4)
    assert estimates.pool(apart) == Estimate(0.0, pytest.approx(0.01), 1)


@pytest.mark.parametrize(
    ("after", "margin", "verdict"),
    [
        (0.6, 0.05, moves.UNCHANGED),
        (0.6 * 1.10, 0.05, moves.REGRESSED),
        (0.6 / 1.10, 0.05, moves.IMPROVED),
        (0.6 * 1.06, 0.08, moves.INCONCLUSIVE),
        (0.6, 0.30, moves.INCONCLUSIVE),
        (0.6 * 1.5, 0.30, moves.REGRESSED),
    ],
)
def test_the_verdict_of_a_change(after: float, margin: float, verdict: str) -> None:
    change = change_of(record(stated(0.6)), record(stated(after, margin=margin)))
    assert (change.verdict, change.margin) == (verdict, margin)
    assert change.change == pytest.approx(after / 0.6)
    assert change.ci95 is not None and change.ci95[0] < after / 0.6 < change.ci95[1]
    assert change.medians == {"jax/jit": (6e-4, pytest.approx(1e-3 * after)), "tf/jit": (1e-3, 1e-3)}


@pytest.mark.parametrize("factor", [1.3, 1 / 1.3])
def test_a_large_change_whose_interval_holds_1_is_inconclusive(factor: float) -> None:
    change = change_of(record(stated(0.6, half=0.3)), record(stated(0.6 * factor, half=0.3)))
    assert change.verdict == moves.INCONCLUSIVE


def test_seconds_alone_change_nothing() -> None:
    slower = record(stated(0.6))
    for mode in slower["workloads"]["add"]["timing"]["modes"].values():
        mode["median_s"] *= 3
    assert change_of(record(stated(0.6)), slower).verdict == moves.UNCHANGED


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda rows: rows.pop(PORT), "missing after"),
        (lambda rows: rows[PORT].update(withheld="the null missed 1", ratio=None), "withheld: the null missed 1 after"),
        (lambda rows: rows[PORT].update(ci95=[0.0, "inf"]), "without an interval: too few pairs of processes after"),
        (lambda rows: rows[PORT].update(ci95=None), "without an interval: too few pairs of processes after"),
        (lambda rows: rows[PORT].update(pairs=1), "without an interval: too few pairs of processes after"),
    ],
)
def test_what_cannot_be_compared_says_why(damage: Callable[[dict[str, Any]], object], reason: str) -> None:
    after = record(stated(0.6))
    damage(after["workloads"]["add"]["timing"]["ratios"])
    change = change_of(record(stated(0.6)), after)
    assert (change.verdict, change.reason, change.change) == (moves.NOT_COMPARED, reason, None)


def test_a_ratio_that_has_another_spelling_is_left_out_and_the_others_are_compared() -> None:
    runs = [record(stated(0.6)) for _ in range(2)]
    for run in runs:
        ratios = run["workloads"]["add"]["timing"]["ratios"]
        ratios["jax/jit#1 of tf/jit"] = ratios[PORT]
    known, other = (recurrence.changes[0] for recurrence in compare_all(runs))
    assert (known.ratio, known.verdict) == (PORT, moves.UNCHANGED)
    assert other.verdict == moves.NOT_COMPARED
    assert other.reason == (
        "expected a ratio such as jax/jit vs tf/jit, found 'jax/jit#1 of tf/jit': compare it with the jaxport that "
        "wrote it"
    )
    assert not moves.select_confirmed(compare_all(runs))


def test_a_run_without_timing_compares_nothing() -> None:
    assert change_of(record(stated(0.6)), changed("workloads/add/timing/ratios", None)).reason == "missing after"


# Regressions that recur


@pytest.mark.parametrize(
    ("slowdowns", "verdict"),
    [
        ((0.0, 0.10, 0.10), "regression confirmed"),
        ((0.0, 0.0, 0.10), "regressed, not confirmed"),
        ((0.0, 0.10, 0.0), "unchanged"),
        ((0.10, 0.0, 0.0), "improved"),
    ],
)
def test_a_slowdown_of_ten_percent_is_confirmed_by_two_later_runs_and_not_by_one(
    slowdowns: tuple[float, ...], verdict: str
) -> None:
    runs = [record(measured(seed, each), seed) for seed, each in enumerate(slowdowns)]
    verdicts = {each.ratio: each.verdict for each in compare_all(runs)}
    assert verdicts[PORT] == verdict
    assert bool(moves.select_confirmed(compare_all(runs))) is (verdict == "regression confirmed")


def test_two_runs_never_confirm() -> None:
    (found,) = compare_all(history_of(0.6, 0.9))
    assert (found.verdict, found.confirmed) == ("regressed, not confirmed", False)


def test_every_later_run_must_regress() -> None:
    assert compare_all(history_of(0.6, 0.7, 0.7, 0.7))[0].confirmed
    assert not compare_all(history_of(0.6, 0.7, 0.6, 0.7))[0].confirmed


def test_one_run_is_no_comparison() -> None:
    with pytest.raises(RecordError, match="expected two runs or more to compare, found one"):
        compare_all(history_of(0.6))


def test_an_unlike_later_run_refuses_the_whole_comparison() -> None:
    runs = [*history_of(0.6, 0.7), changed("environment/cores", 64)]
    with pytest.raises(RecordError, match="cores: 2, then 64"):
        compare_all(runs)


def test_the_baseline_is_the_five_runs_before_the_last_two() -> None:
    found = recurring(history_of(9.0, 9.0, 0.6, 0.6, 0.6, 0.6, 0.6, 0.7, 0.7))
    assert len(found.baseline) == 5
    assert found.baseline[0].startswith("2026-11-20T10:02")
    assert found.confirmed


def test_an_old_state_that_was_slow_does_not_hide_a_regression_for_long() -> None:
    assert not recurring(history_of(0.9, 0.9, 0.9, 0.6, 0.7, 0.7)).confirmed
    assert recurring(history_of(0.9, 0.6, 0.6, 0.6, 0.6, 0.6, 0.7, 0.7)).confirmed


def test_runs_of_another_machine_are_no_baseline() -> None:
    foreign = changed("environment/cpu", "Intel")
    runs = [foreign, foreign, *history_of(0.7, 0.7)]
    found = recurring(runs)
    assert (found.verdict, found.reason) == ("not compared", "expected 3 comparable runs that measured it, found 2")


def test_a_later_run_that_withholds_the_ratio_confirms_nothing() -> None:
    runs = history_of(0.6, 0.7, 0.7)
    runs[1]["workloads"]["add"]["timing"]["ratios"][PORT]["withheld"] = "the null missed 1"
    assert not recurring(runs).confirmed


def test_a_baseline_run_that_withholds_the_ratio_is_passed_over() -> None:
    runs = history_of(0.6, 0.6, 0.7, 0.7)
    runs[1]["workloads"]["add"]["timing"]["ratios"][PORT]["withheld"] = "the null missed 1"
    found = recurring(runs)
    assert (found.baseline, found.confirmed) == (("2026-11-20T10:00:00+00:00",), True)


@pytest.mark.heavy
@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_noise_alone_confirms_no_regression(seed: int) -> None:
    history = [record(measured(5 * seed + number)) for number in range(5)]
    assert not moves.select_confirmed(moves.recurring_all([decoded(run) for run in history]))
    assert not moves.select_confirmed(compare_all(history[:3]))


@pytest.mark.heavy
def test_noise_on_an_unsteady_machine_regresses_now_and_then_and_is_confirmed_once_in_a_thousand_at_most() -> None:
    generator = np.random.default_rng(0)

    def noisy() -> Record:
        logs = generator.normal(0, 0.04, (2, PAIRS))
        halves = 2.365 * logs.std(axis=1, ddof=1) / math.sqrt(PAIRS)
        return record(stated(math.exp(logs[0].mean()), halves[0], margin=max(0.05, math.expm1(halves[1]))))

    found = [recurring([noisy() for _ in range(5)]) for _ in range(1000)]
    assert sum(each.changes[-1].verdict == moves.REGRESSED for each in found) > 2
    assert len(moves.select_confirmed(found)) <= 1


# The trend


def test_a_line_has_a_point_a_run_and_breaks_where_a_run_is_unlike_the_one_before() -> None:
    first, second, third = history_of(0.6, 0.61, 0.62)
    third = changed("environment/cpu", "Intel", of=third)
    (line,) = trend({4: first, 5: second, 9: third}).lines
    assert [(point.run, point.ratio, point.segment) for point in line.points] == [
        (4, 0.6, 0),
        (5, 0.61, 0),
        (9, 0.62, 1),
    ]
    assert [(each.run, [unlike.line for unlike in each.differences]) for each in line.breaks] == [
        (9, ["cpu: AMD EPYC, then Intel"])
    ]


def test_a_line_survives_runs_without_the_workload_and_withheld_ratios() -> None:
    runs = dict(enumerate(history_of(0.6, 0.6, 0.6, 0.6)))
    runs[1]["workloads"] = {}
    runs[2]["workloads"]["add"]["timing"]["ratios"][PORT] = {"withheld": "the null missed 1", "ratio": None}
    (line,) = trend(runs).lines
    assert [(point.run, point.ratio, point.withheld) for point in line.points] == [
        (0, 0.6, ""),
        (2, None, "the null missed 1"),
        (3, 0.6, ""),
    ]
    assert line.breaks == ()


def test_a_line_says_when_its_regression_is_confirmed() -> None:
    (line,) = trend(dict(enumerate(history_of(0.6, 0.6, 0.7, 0.7)))).lines
    assert (line.verdict, line.confirmed) == ("regression confirmed", True)


@pytest.mark.parametrize("timed", [None, {}, {"ratios": None}, {"ratios": {PORT: None}}])
def test_records_with_holes_are_kept_and_compared(timed: Any) -> None:
    bare = {"schema": 1, "workloads": {"add": {"timing": timed}}}
    found = compare_all([bare, bare, bare])
    assert not moves.select_confirmed(found)
    assert not any(line.points and line.confirmed for line in trend({1: bare, 2: bare, 3: bare}).lines)
