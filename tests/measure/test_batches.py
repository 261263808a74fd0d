"""Larger batches: what fits under a limit, and what becomes of a mode that fails at one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.bench.batches import bytes_per_example, largest_under, summarise
from compare.errors import RequestError
from compare.inputs.at_size import prepare_batch
from compare.measure import batch_sizes
from compare.measure.phase_processes import Workers
from compare.plain_json import to_json
from compare.progress import Silent
from compare.record.cost_parts import Batch, LargestBatch
from compare.record.workload_part import Failure
from compare.sides import mapped
from compare.sides._side import Reply, Side, SideError
from compare.sides.pool import Source
from compare.sides.settings import Settings
from workloads.core import registry
from workloads.core.spec import Arrays, Workload

MLP = registry.get("mnist_mlp")


def row(batch: int, peak_bytes: int | None, mode: str = "jax/jit") -> Batch:
    return Batch(mode=mode, batch=batch, peak_bytes=peak_bytes, examples_per_s=batch * 10.0)


def batch_of(found: Batch | None) -> int:
    return found.batch if found else 0


# The largest batch under a limit.


@pytest.mark.parametrize(
    ("peaks", "expected"),
    [
        pytest.param({8: 10, 16: 20, 32: 40}, 16, id="the last that fits"),
        pytest.param({8: 10, 16: 25}, 16, id="a peak at the limit fits"),
        pytest.param({8: 26, 16: 30}, 0, id="none fits"),
        pytest.param({8: 10, 16: 40, 32: 20}, 8, id="one that fits above one that does not is no promise"),
        pytest.param({8: 10, 16: None, 32: 20}, 8, id="nor is one above a failure"),
        pytest.param({}, 0, id="none was tried"),
    ],
)
def test_the_largest_batch_that_fits_as_all_below_it_do(peaks: Mapping[int, int | None], expected: int) -> None:
    assert batch_of(largest_under(25, [row(batch, peak) for batch, peak in peaks.items()])) == expected


ROWS = st.dictionaries(st.integers(1, 1000), st.none() | st.integers(0, 100), max_size=8).map(
    lambda peaks: [row(batch, peak) for batch, peak in peaks.items()]
)
LIMITS = st.integers(0, 100)


@given(ROWS, LIMITS, LIMITS)
def test_a_higher_limit_never_gives_a_smaller_batch(rows: list[Batch], one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert batch_of(largest_under(low, rows)) <= batch_of(largest_under(high, rows))


@given(ROWS, LIMITS, st.randoms())
def test_the_order_of_the_rows_does_not_matter(rows: list[Batch], limit: int, random: Any) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert largest_under(limit, shuffled) == largest_under(limit, rows)


@given(ROWS, LIMITS, st.integers(1, 1000))
def test_one_more_batch_that_does_not_fit_never_gives_a_larger_one(rows: list[Batch], limit: int, batch: int) -> None:
    others = [each for each in rows if each.batch != batch]
    fitting = largest_under(limit, others)
    assert batch_of(largest_under(limit, [*others, row(batch, None)])) <= batch_of(fitting)


@given(ROWS, LIMITS)
def test_what_is_said_to_fit_was_measured_and_fits(rows: list[Batch], limit: int) -> None:
    found = largest_under(limit, rows)
    assert found is None or (found in rows and found.peak_bytes is not None and found.peak_bytes <= limit)


def test_each_mode_is_judged_by_itself_and_gives_its_throughput_there() -> None:
    rows = [row(8, 10), row(16, 30), row(8, 90, "tf/eager"), row(16, 190, "tf/eager")]
    found = summarise(25, rows)
    assert found.largest == {"jax/jit": LargestBatch(batch=8, examples_per_s=80.0), "tf/eager": LargestBatch()}
    assert found.rows == tuple(rows)
    assert found.bytes_per_example == {"jax/jit": 2.5, "tf/eager": 12.5}


def test_what_an_example_costs_leaves_out_what_every_batch_costs() -> None:
    peaks = {8: 100, 16: 108, 32: 124}
    assert bytes_per_example(row(batch, peak) for batch, peak in peaks.items()) == 1.0
    assert bytes_per_example(row(batch, peak + 5000) for batch, peak in peaks.items()) == 1.0


@pytest.mark.parametrize("peaks", [{}, {8: 10}, {8: 10, 16: None}])
def test_one_peak_is_no_slope(peaks: Mapping[int, int | None]) -> None:
    assert bytes_per_example(row(batch, peak) for batch, peak in peaks.items()) is None


# Processes that only pretend.


@dataclass
class Fake(Side):
    """Needs a thousand bytes an example, and is killed above a batch."""

    name: str
    tried: list[tuple[str, int]]
    killed_above: int
    batch: int = field(default=0)

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if method == "load":
            self.batch = parameters["dimensions"]["batch"]
            return Reply({"modes": {}})
        self.tried.append((f"{self.name}/{parameters['target']}", self.batch))
        if self.name == "tf" and self.batch > self.killed_above:
            raise SideError(
                self.name, f"phases {parameters['target']}", "the worker ended by signal SIGKILL", is_lost=True
            )
        memory = {"argument_bytes": 1, "output_bytes": 2, "temp_bytes": 3 * self.batch, "alias_bytes": 0}
        times = {"import_s": 1.0, "load_s": 1.0, "trace_s": None, "lower_s": None, "compile_s": None, "run_s": 1.0}
        rss = {"baseline_rss_bytes": 5000, "peak_rss_bytes": 5000 + 1000 * self.batch}
        return Reply(times | rss | {"steady_s": 0.5, "analysis": {"lower_s": None, "memory": memory}})

    def close(self) -> None:
        """Nothing is open."""


MODES = {"tf": ("eager",), "jax": ("jit",)}


def measured(scratch: Path, killed_above: int) -> tuple[Any, list[Failure], list[tuple[str, int]]]:
    tried: list[tuple[str, int]] = []

    def launch(side: str, scratch: Path, python: str | None, timeout_s: float, settings: Settings) -> Side:
        return Fake(side, tried, killed_above)

    workers = Workers({"tf": Source(), "jax": Source()}, scratch, 1.0, launch=launch)
    sizes = (64, 16, 32)
    return *batch_sizes.measure(MLP, "smoke", None, 32_000, workers, Silent(), sizes, MODES), tried


def test_every_mode_is_measured_at_every_batch_smallest_first(tmp_path: Path) -> None:
    found, failures, tried = measured(tmp_path, killed_above=1000)
    assert not failures
    assert tried == [(mode, batch) for batch in (16, 32, 64) for mode in ("tf/eager", "jax/jit")]
    assert found.rows[-1] == Batch(
        mode="jax/jit", batch=64, peak_bytes=64_000, temp_bytes=192, steady_s=0.5, examples_per_s=128.0, reason=""
    )
    assert found.largest["jax/jit"] == LargestBatch(batch=32, examples_per_s=64.0)


def test_a_mode_that_fails_is_reported_and_not_tried_at_a_larger_batch(tmp_path: Path) -> None:
    found, failures, tried = measured(tmp_path, killed_above=16)
    reason = "the worker ended by signal SIGKILL"
    assert failures == [Failure("tf", "batch 32 of tf/eager: phases eager", reason, lost=True)]
    assert ("tf/eager", 64) not in tried and ("jax/jit", 64) in tried
    assert Batch(mode="tf/eager", batch=32, reason=reason) in found.rows
    assert found.largest["tf/eager"] == LargestBatch(batch=16, examples_per_s=32.0)


def test_the_record_holds_the_batches_under_stable_names(tmp_path: Path) -> None:
    record = to_json(measured(tmp_path, killed_above=16)[0])
    assert {"limit_bytes", "rows", "largest"} <= set(record)
    assert set(record["rows"][0]) == {
        *("mode", "batch", "peak_bytes", "temp_bytes", "steady_s", "examples_per_s", "reason")
    }
    assert record["largest"]["tf/eager"] == {"batch": 16, "examples_per_s": 32.0}


# What is enlarged.


def test_only_the_batch_changes_and_one_batch_of_training_is_enough(tmp_path: Path) -> None:
    prepared = prepare_batch(MLP, "smoke", 48, None, tmp_path)
    assert prepared.dimensions == {**MLP.sizes["smoke"], "batch": 48}
    arrays = mapped.load(prepared.loading.arrays)
    assert {array.shape for name, array in arrays.items() if name.endswith("images")} == {(48, 64), (1, 48, 64)}


@pytest.mark.parametrize(
    ("workload", "found"),
    [
        (registry.get("running_example"), "expected a workload that trains, found running_example"),
        (replace(MLP, sizes={"smoke": {"hidden": 32}}), "expected 'batch' among the dimensions that size smoke of"),
    ],
)
def test_a_workload_without_a_batch_to_choose_is_refused(tmp_path: Path, workload: Workload, found: str) -> None:
    with pytest.raises(RequestError, match=found):
        batch_sizes.measure(workload, "smoke", None, 1, Workers({}, tmp_path, 1.0), Silent())


@pytest.mark.process
def test_a_real_process_says_what_a_batch_costs(tmp_path: Path) -> None:
    workers = Workers({"jax": Source()}, tmp_path, 120, threads=1)
    found, failures = batch_sizes.measure(MLP, "smoke", None, 1 << 40, workers, Silent(), (32,), {"jax": ("jit",)})
    (only,) = found.rows
    assert not failures
    assert only.peak_bytes and only.peak_bytes > 32 * 64 * 4, "at least the images"
    assert only.temp_bytes is not None and only.steady_s
    assert found.largest["jax/jit"] == LargestBatch(batch=32, examples_per_s=32 / only.steady_s)
