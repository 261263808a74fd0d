"""From which size on XLA hands a computation to other threads: a jump of times, and the threads that computed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from compare.bench.handover import between, judge
from compare.hlo import probes
from compare.inputs.at_size import prepare_both, prepare_one
from compare.measure import thread_handover
from compare.measure.phase_processes import Workers
from compare.progress import Silent
from compare.record.cost_parts import SizedCall
from compare.sides import requests
from compare.sides._side import Reply, SideError
from compare.sides.client import LiveSide
from compare.sides.pool import Source
from compare.sides.settings import Settings
from workloads.core import registry

Law = Callable[[int], tuple[float, int | None]]
"""Seconds and threads of a size."""


def points(law: Law) -> list[SizedCall]:
    return [SizedCall(size, *law(size)) for size in thread_handover.SIZES]


def jumps(size: int, limit: int = 1000) -> tuple[float, int]:
    return (5e-6, 1) if size <= limit else (33e-6, 2)


def test_a_jump_with_other_threads_is_a_handover() -> None:
    found = judge(points(jumps))
    assert found.below == SizedCall(512, 5e-6, 1) and found.above == SizedCall(1024, 33e-6, 2) and not found.reason


@pytest.mark.parametrize(
    ("law", "reason"),
    [
        (lambda size: (87e-6, 1), "no size parts calls"),
        (lambda size: (33e-6, 2), "no size parts calls"),
        (lambda size: (jumps(size)[0], 1), "no size parts calls"),  # slower, and on one thread all the same
        (lambda size: (5e-6, jumps(size)[1]), "no size parts calls"),  # other threads, and no slower
        (lambda size: (1e-8 * size, jumps(size)[1]), "grow with the size"),
        (lambda size: (jumps(size)[0], None), "not known which threads"),
    ],
)
def test_anything_else_is_none_with_its_reason(law: Law, reason: str) -> None:
    found = judge(points(law))
    assert found.below is None and found.above is None and reason in found.reason


def test_how_long_other_threads_take_to_wake_may_vary_where_the_sizes_are_next_to_one_another() -> None:
    small = [SizedCall(size, 8.5e-6, 1) for size in (64, 128, 256, 512)]
    large = [SizedCall(1024, 46e-6, 3), SizedCall(2048, 19e-6, 3), SizedCall(4096, 47e-6, 3)]

    found = judge([*small, *large])
    assert found.below is not None and found.above is not None
    assert (found.below.elements, found.above.elements) == (512, 1024)

    apart = judge([*small, *large[1:]])
    assert "grow with the size" in apart.reason, "of four times the elements the size itself may be the reason"


def test_sizes_that_are_neither_belong_to_none() -> None:
    found = judge([*points(jumps), SizedCall(900, 5e-6, 2), SizedCall(800, 6e-6, 1)])
    assert (found.below, found.above) == (SizedCall(800, 6e-6, 1), SizedCall(1024, 33e-6, 2))


def test_the_middle_is_searched_until_both_sizes_are_close() -> None:
    assert between(judge(points(jumps))) == 768
    assert between(judge([SizedCall(960, 5e-6, 1), SizedCall(1024, 33e-6, 2)])) is None
    assert between(judge(points(lambda size: (5e-6, 1)))) is None


class Computes:
    """A side whose calls take what the law says."""

    name = "jax"

    def __init__(self, law: Law) -> None:
        self.law, self.sizes = law, list[int]()

    def call(self, method: str, parameters: Any, arrays: Any = None) -> Reply:
        if method == "compile":
            self.sizes.append(parameters["parameters"][0]["shape"][0])
            return Reply({"handle": len(self.sizes) - 1, "compile_s": 0.1})
        if method == "prepare":
            return Reply({})
        seconds, threads = self.law(self.sizes[parameters["target"]])
        if method == "round":
            return Reply([seconds] * parameters["calls"])
        assert method == "threads"
        return Reply([1e-3] * (threads or 0) + [1e-6])  # the last one only woke up


def test_the_size_is_found_by_halving() -> None:
    side: Any = Computes(jumps)
    found = thread_handover.search(side)
    assert found.below and found.above
    assert (found.below.elements, found.above.elements) == (896, 1024)
    assert len(found.points) == len(thread_handover.SIZES) + 2


def test_a_size_that_fits_nowhere_ends_the_search_with_what_was_found_before() -> None:
    side: Any = Computes(lambda size: (15e-6, 1) if size == 768 else jumps(size))
    found = thread_handover.search(side)
    assert found.below and found.above
    assert (found.below.elements, found.above.elements) == (512, 1024)


@pytest.mark.process
def test_a_side_is_asked_in_a_process_of_its_own(tmp_path: Path) -> None:
    loading = prepare_one(registry.get("add"), "smoke", None, tmp_path).loading
    found = thread_handover.measure(loading, Workers({"jax": Source()}, tmp_path, 300, 1), Silent())
    points = found["jax"].points
    assert [point.elements for point in points if point.elements in thread_handover.SIZES] == [*thread_handover.SIZES]
    assert all(point.seconds and point.threads for point in points)
    assert bool(found["jax"].above) != bool(found["jax"].reason)


def test_a_side_that_cannot_compute_says_why(tmp_path: Path) -> None:
    def refuses(*_: object) -> Any:
        raise SideError("jax", "start", "no XLA here")

    workers = Workers({"jax": Source()}, tmp_path, 300, 1, refuses)
    loading = prepare_one(registry.get("add"), "smoke", None, tmp_path).loading
    assert "no XLA here" in thread_handover.measure(loading, workers, Silent())["jax"].reason


@pytest.mark.process
@pytest.mark.parametrize("synchronous", [False, True])
def test_jax_is_kept_from_handing_a_call_over(synchronous: bool, tmp_path: Path) -> None:
    elements = thread_handover.SIZES[-1]
    _, prepared = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    with closing(LiveSide("jax", tmp_path, settings=Settings(synchronous_dispatch=synchronous))) as side:
        requests.load(side, prepared.loading)
        handle = requests.compile_program(side, probes.sum_of_two(elements)).handle
        requests.prepare(side, handle)
        shares = requests.thread_seconds(side, handle, 20_000)
    threads = sum(share >= thread_handover.TAKES_PART * shares[0] for share in shares)
    assert (threads == 1) is synchronous
