"""The worker's half of bench: times of calls and peak memory, with the standard library alone."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path

import pytest

from compare.bench.clock import slow_down, time_calls
from compare.bench.memory import counters, page_faults, peak_rss_bytes, reset_peak_rss, settings
from compare.record import timing_part

MEBIBYTE = 1 << 20


class FakeClock:
    """A clock in nanoseconds that only moves when told to."""

    def __init__(self) -> None:
        self.now = 10**18

    def __call__(self) -> int:
        return self.now


def test_each_call_is_timed_apart_and_in_order() -> None:
    clock = FakeClock()
    durations = iter([3_000, 1_000, 2_000_000_000])

    def call() -> None:
        clock.now += next(durations)

    assert time_calls(call, 3, clock) == pytest.approx([3e-6, 1e-6, 2.0])


def test_what_happens_between_calls_is_not_timed() -> None:
    readings = iter((0, 5, 1_000, 1_007))
    assert time_calls(lambda: None, 2, lambda: next(readings)) == pytest.approx([5e-9, 7e-9])


def test_a_call_that_fails_fails_the_timing() -> None:
    with pytest.raises(ZeroDivisionError):
        time_calls(lambda: 1 / 0, 1, FakeClock())


def test_a_planted_slowdown_adds_its_part_of_each_call() -> None:
    clock = FakeClock()
    durations = iter([1_000_000, 400_000])

    def call() -> None:
        clock.now += next(durations)

    def ticking() -> int:
        clock.now += 100
        return clock.now

    first, second = time_calls(slow_down(call, 0.1, ticking), 2, clock)
    assert first == pytest.approx(1.1e-3, rel=1e-3) and second == pytest.approx(0.44e-3, rel=1e-3)


def test_the_peak_is_read_in_bytes(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("VmPeak:\t 9999 kB\nVmHWM:\t   2048 kB\nVmRSS:\t 1024 kB\n")
    assert peak_rss_bytes(status) == 2 * MEBIBYTE


@pytest.mark.parametrize("text", [None, "Name:\tpython\nVmRSS:\t 1024 kB\n"], ids=["no such file", "not counted"])
def test_no_peak_is_made_up_where_the_platform_counts_none(tmp_path: Path, text: str | None) -> None:
    status = tmp_path / "status"
    if text is not None:
        status.write_text(text)
    assert peak_rss_bytes(status) is None


def test_page_faults_are_read_behind_a_name_of_any_kind(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("17 (a) name) S 1 17 17 0 -1 4194560 2345 99 6 0 1 2 3 4 20 0 1 0 5 6 7\n")
    assert page_faults(stat) == 2345
    assert page_faults(tmp_path / "missing") is None


def test_every_counter_has_a_field_of_a_mode_in_the_record() -> None:
    assert set(counters()) <= set(timing_part.Mode.__struct_fields__)


@pytest.mark.skipif(page_faults() is None, reason="this platform does not count page faults")
def test_memory_that_is_mapped_anew_costs_a_fault_a_page_and_kept_memory_none() -> None:
    size, page = 64 * MEBIBYTE, mmap.PAGESIZE
    with mmap.mmap(-1, size) as kept:
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            kept.madvise(mmap.MADV_NOHUGEPAGE)
        counts = [page_faults() or 0]
        for _ in range(2):
            for place in range(0, size, page):
                kept[place] = 1
            counts.append(page_faults() or 0)
    mapped, written = counts[1] - counts[0], counts[2] - counts[1]
    assert mapped >= size // page
    assert written < size // page / 10


def test_a_reset_that_the_platform_refuses_is_told(tmp_path: Path) -> None:
    assert reset_peak_rss(tmp_path / "missing" / "clear_refs") is None


@pytest.mark.skipif(reset_peak_rss() is None, reason="this platform does not reset the peak")
def test_after_a_reset_the_peak_counts_from_what_is_held_now() -> None:
    start = reset_peak_rss()
    held = bytearray(b"x") * (64 * MEBIBYTE)
    peak = peak_rss_bytes()
    assert start is not None and peak is not None
    assert peak - start > 60 * MEBIBYTE
    del held
    again = reset_peak_rss()
    assert again is not None
    assert peak - again > 60 * MEBIBYTE


@pytest.mark.process
def test_a_worker_needs_only_the_standard_library() -> None:
    code = "import sys; from compare.bench import clock, memory; print('numpy' in sys.modules, 'scipy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


def test_what_the_allocator_was_told_is_said() -> None:
    told = {"MALLOC_TRIM_THRESHOLD_": "1", "MALLOC_ARENA_MAX": "2", "LD_PRELOAD": "other.so", "HOME": "/"}
    assert settings(told) == {"allocator": "LD_PRELOAD=other.so MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=1"}
    assert settings({"HOME": "/"}) == {}
