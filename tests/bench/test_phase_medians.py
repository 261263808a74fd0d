"""Phases: they add up, medians are over processes, and caches and code are judged by the files they leave."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phase_times import parts, process_of, told

from compare.bench import phases
from compare.record.cost_parts import Cache

SECONDS = st.floats(0, 100)


def inside(run_s: float, steady_s: float, relowered_s: float, trace_s: float = 0.1) -> dict[str, Any]:
    """What a worker says of a mode that lowers and compiles inside its first call."""
    analysis = {"lower_s": relowered_s, "memory": None}
    times = {"trace_s": trace_s, "lower_s": None, "compile_s": None, "run_s": run_s, "steady_s": steady_s}
    return told(analysis=analysis, **times)


# One process.


def test_the_first_call_is_all_that_a_user_waits_for() -> None:
    process = process_of(told())
    assert process.first_call_s == pytest.approx(0.1 + 0.2 + 0.4 + 0.05)
    assert not process.compile_derived


def test_a_compiler_that_nobody_timed_took_what_the_first_call_has_left() -> None:
    process = process_of(inside(run_s=1.0, steady_s=0.1, relowered_s=0.3))
    assert process.compile_s == pytest.approx(0.6)
    assert process.lower_s == pytest.approx(0.3)
    assert process.first_call_s == pytest.approx(1.1)
    assert process.compile_derived


@pytest.mark.parametrize(("run_s", "steady_s"), [(0.1, 0.2), (0.2, 0.1), (0.1, 0.1)])
def test_a_derived_compile_time_is_never_below_0(run_s: float, steady_s: float) -> None:
    process = process_of(inside(run_s, steady_s, relowered_s=0.5))
    assert process.compile_s == 0.0
    assert process.lower_s == pytest.approx(max(0.0, run_s - steady_s))


def test_where_nothing_tells_them_apart_neither_is_invented() -> None:
    process = process_of(told(trace_s=0.1, lower_s=None, compile_s=None))
    assert (process.lower_s, process.compile_s, process.compile_derived) == (None, None, False)
    assert process.first_call_s == pytest.approx(0.15)


@given(SECONDS, SECONDS, SECONDS, SECONDS)
def test_phases_add_up_to_no_more_than_the_first_call(trace: float, run: float, steady: float, lower: float) -> None:
    derived = process_of(inside(run, steady, lower, trace))
    assert parts(derived) <= derived.first_call_s * (1 + 1e-12)
    apart = process_of(told(trace_s=trace, lower_s=lower, compile_s=steady, run_s=run))
    assert parts(apart) <= apart.first_call_s * (1 + 1e-12)


@pytest.mark.parametrize(
    ("one_s", "calls"), [(1.0, 5), (0.1, 5), (0.003, 100), (1e-9, phases.MOST_CALLS), (0.0, phases.MOST_CALLS)]
)
def test_the_steady_state_is_watched_for_a_while_and_for_five_calls_at_least(one_s: float, calls: int) -> None:
    assert phases.steady_calls(one_s) == pytest.approx(calls, abs=1)


# Several processes.


def test_every_figure_is_a_median_over_processes_by_itself() -> None:
    processes = [process_of(told(load_s=load, peak_rss_bytes=peak)) for load, peak in ((1, 30), (2, 10), (9, 20))]
    middle = phases.median(processes)
    assert (middle.load_s, middle.peak_rss_bytes) == (2, 20)


def test_what_one_process_lacks_comes_from_the_others_and_what_all_lack_is_none() -> None:
    processes = [process_of(told(trace_s=None, peak_rss_bytes=peak)) for peak in (None, 10, 20)]
    middle = phases.median(processes)
    assert (middle.trace_s, middle.peak_rss_bytes) == (None, 15)
    assert isinstance(middle.peak_rss_bytes, int)


def test_a_median_with_a_derived_compile_time_in_it_says_so() -> None:
    derived = process_of(inside(1.0, 0.1, 0.1))
    assert phases.median([process_of(told()), derived]).compile_derived


# Caches and code, judged by their files.


def test_a_cache_that_holds_nothing_says_why() -> None:
    cache = phases.cache_of({}, {})
    assert (cache.entries, cache.bytes) == (0, 0)
    assert cache.reason.startswith("the process wrote nothing into the cache")


def test_a_cache_that_is_found_counts_what_the_first_process_wrote() -> None:
    assert phases.cache_of({"a": 3, "b": 4}, {"a": 3, "b": 4}) == Cache(entries=2, bytes=7, reason="")


def test_a_cache_that_later_processes_add_to_was_not_found() -> None:
    cache = phases.cache_of({"a": 3}, {"a": 3, "b": 5})
    assert (cache.entries, cache.bytes) == (1, 3)
    assert cache.reason.startswith("the processes that followed wrote 1 more")


def test_generated_code_is_what_appeared_since_the_mode_was_prepared() -> None:
    assert phases.code_of({"loading.o": 8}, {"loading.o": 8, "step.o": 32, "loss.o": 4}) == (36, "")


def test_where_no_object_file_appeared_it_says_so() -> None:
    code_bytes, reason = phases.code_of({"loading.o": 8}, {"loading.o": 8})
    assert code_bytes is None
    assert reason.startswith("XLA wrote no object file")
