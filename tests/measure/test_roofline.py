"""The roofline: bounds by hand and by the paper, probes that compute what they say, shares that are not clipped."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from interpreters import JAX_AS_TF, interpreter

from compare.bench import host_limits
from compare.bench.roofline import Work, bandwidth_of, best, bounds, place, rate, share
from compare.hlo import bindings, probes
from compare.inputs.at_size import prepare
from compare.measure import machine_limits
from compare.measure.machine_limits import Probed
from compare.plain_json import to_json
from compare.record.base import require
from compare.record.cost_parts import Bandwidth, Limits, Throughput
from compare.record.program_parts import Compiled
from compare.record.workload_part import Cost, Workload
from compare.sides import requests
from compare.sides._side import Reply, Side, SideError
from compare.sides.client import LiveSide
from workloads.core import registry
from workloads.core.device import GPU, TF32, Device
from workloads.core.spec import Arrays
from workloads.protocol.framework import Parameter, Program, Result

MEBIBYTE = 1 << 20


def limits(read: float, copy: float, triad: float, **gemm: float) -> Limits:
    """Bandwidths and products a second, measured over 128 MiB."""
    size = 128 * MEBIBYTE
    moved = (Bandwidth(read, "numpy", size), Bandwidth(copy, "numpy", size), Bandwidth(triad, "numpy", size))
    return Limits(1, *moved, gemm={dtype: Throughput(each, "numpy") for dtype, each in gemm.items()})


HAND = limits(read=10e9, copy=4e9, triad=6e9, f32=100e9, f64=50e9)

OPTERON_X2 = limits(15e9, 15e9, 15e9, f64=17.6e9)
"""AMD Opteron X2 2214, two sockets: 17.6 GFlops/s in double precision and 15 GB/s, both from figure 1a of
Williams, Waterman, Patterson 2009, https://doi.org/10.1145/1498765.1498785."""


@pytest.mark.parametrize(
    ("flops_per_byte", "expected", "bound"),
    [
        (1 / 4, 3.75e9, "memory"),  # 15 / 4
        (1, 15e9, "memory"),
        (17.6 / 15 * 1.01, 17.6e9, "compute"),  # just past the ridge
        (16, 17.6e9, "compute"),
    ],
)
def test_what_the_paper_says_its_machine_attains(flops_per_byte: float, expected: float, bound: str) -> None:
    work = Work(flops=flops_per_byte * 1e9, bytes_read=1e9, bytes_written=0, dtype="f64")
    found = bounds(work, OPTERON_X2, OPTERON_X2.read, None)
    assert work.flops / found.limit_s == pytest.approx(expected) and found.bound == bound


@pytest.mark.parametrize(
    ("work", "dispatch_s", "seconds", "bound"),
    [
        # 10 MB / 10 GB/s = 1 ms; 1 Mflop / 100 Gflop/s = 10 us.
        (Work(1e6, 10e6, 0, "f32"), 15e-6, (1e-3, 10e-6, 15e-6), "memory"),
        # Double precision takes twice as long: 1 Gflop / 50 Gflop/s = 20 ms.
        (Work(1e9, 10e6, 0, "f64"), 15e-6, (1e-3, 20e-3, 15e-6), "compute"),
        # 1000 bytes / 10 GB/s = 0.1 us, 10 flops = 0.1 ns: the call itself.
        (Work(10, 1000, 0, "f32"), 15e-6, (1e-7, 1e-10, 15e-6), "dispatch"),
        # What was not measured does not limit.
        (Work(1e12, 10e6, 0, "bf16"), None, (1e-3, None, None), "memory"),
    ],
)
def test_the_largest_bound_limits(
    work: Work, dispatch_s: float | None, seconds: tuple[float | None, ...], bound: str
) -> None:
    found = bounds(work, HAND, require(bandwidth_of(HAND, work.kind)), dispatch_s)
    for value, expected in zip((found.memory_s, found.compute_s, found.dispatch_s), seconds, strict=True):
        assert value == (None if expected is None else pytest.approx(expected))
    assert found.bound == bound
    assert found.limit_s == max(each for each in seconds if each is not None)


@pytest.mark.parametrize(
    ("read", "written", "kind"),
    [
        (100, 0, "read"),
        (33554432, 4, "read"),
        (2, 1, "triad"),
        (3, 2, "triad"),
        (1, 1, "copy"),
        (0, 8, "copy"),
        (0, 0, "read"),
    ],
)
def test_the_written_part_picks_the_probe(read: int, written: int, kind: str) -> None:
    assert Work(0, read, written, "f32").kind == kind


def test_each_kind_of_traffic_has_its_own_bandwidth() -> None:
    assert [require(bandwidth_of(HAND, kind)).bytes_per_s for kind in ("read", "copy", "triad")] == [10e9, 4e9, 6e9]


def test_rounded_products_bound_what_may_be_rounded() -> None:
    rounding = limits(10e9, 4e9, 6e9, f32=1e9, f64=1e9, tf32=8e9)
    seconds = [
        bounds(Work(8e9, 1, 0, dtype), rounding, require(rounding.read), None).compute_s for dtype in ("f32", "f64")
    ]
    assert seconds == [pytest.approx(1.0), pytest.approx(8.0)]


def test_a_share_of_the_limit_has_nothing_to_explain() -> None:
    found = share(limit_s=1e-3, median_s=4e-3)
    assert (found.share, found.note) == (0.25, "")


def test_faster_than_the_limit_is_said_and_never_clipped() -> None:
    found = share(limit_s=3e-3, median_s=2e-3)
    assert found.share == 1.5 and "1.50 times as fast as the limit" in found.note


def test_the_limit_is_the_best_of_all_and_says_whose() -> None:
    assert best({"tf xla": 3.0, "jax xla": 5.0, "numpy": 4.0}) == (5.0, "jax xla")


def test_a_rate_is_that_of_the_best_rounds_median() -> None:
    # Medians 4, 2 and 3: neither the lucky call of 0.1 s nor the round that was disturbed decides.
    assert rate(10.0, [[0.1, 4.0, 9.0], [2.0, 1.9, 2.1], [3.0, 3.0, 3.0]]) == 5.0


def test_the_record_says_how_near_each_mode_came_and_to_what() -> None:
    work = Work(flops=1e6, bytes_read=10e6, bytes_written=0, dtype="f32")
    cached = Bandwidth(20e9, "jax xla", 10_000_000)
    found = to_json(place(work, {"tf/jit": 2e-3, "jax/jit": 0.4e-3}, HAND, cached, 15e-6))
    assert found["bounds"] == pytest.approx({"memory_s": 0.5e-3, "compute_s": 10e-6, "dispatch_s": 15e-6})
    assert (found["bound"], found["limit_s"], found["kind"]) == ("memory", 0.5e-3, "read")
    assert (found["threads"], found["working_set_bytes"]) == (1, 10_000_000)
    assert (found["bandwidth_bytes_per_s"], found["bandwidth_by"]) == (20e9, "jax xla")
    assert found["modes"]["tf/jit"] == {"share": 0.25, "note": ""}
    assert found["modes"]["jax/jit"]["share"] == pytest.approx(1.25) and found["modes"]["jax/jit"]["note"]


PROGRAM = Program(
    b"",
    (Parameter("input", "x", (8, 4), "float32"), Parameter("weight", "w", (4,), "bfloat16")),
    (Result("y", (8,), "float64"), Result("positive", (3,), "bool")),
)


def test_a_program_reads_each_parameter_and_writes_each_result_once() -> None:
    assert machine_limits.traffic(PROGRAM) == (8 * 4 * 4 + 4 * 2, 8 * 8 + 3)


@pytest.mark.parametrize(
    ("cost", "cells", "expected"),
    [
        # Declared: 100 bytes of which the results' 67 are written.
        (Cost(7.0, 100), {}, Work(7.0, 33, 67, "f32")),
        (
            None,
            {"tf@tf": Compiled(flops=9.0), "jax@jax": Compiled(flops=8.0), "tf@jax": Compiled(reason="lost")},
            Work(8.0, 136, 67, "f32"),
        ),
        (None, {"tf@tf": Compiled(reason="lost")}, None),
    ],
)
def test_work_is_what_is_declared_or_else_what_is_counted(
    cost: Cost | None, cells: Mapping[str, Compiled], expected: Work | None
) -> None:
    assert machine_limits.work_of(Workload(dtype="float32", cost=cost, compiled=cells), PROGRAM) == expected


@pytest.mark.parametrize(("written", "expected"), [("32768K", 32 * MEBIBYTE), ("1M", MEBIBYTE), ("512", 512)])
def test_the_last_cache_is_the_largest(tmp_path: Path, written: str, expected: int) -> None:
    for index, size in enumerate(["48K" if expected > 512 << 10 else "64", written]):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(f"{size}\n")
    assert host_limits.last_level_cache_bytes(tmp_path) == expected


def test_a_platform_that_hides_its_caches_has_none(tmp_path: Path) -> None:
    assert host_limits.last_level_cache_bytes(tmp_path) is None


def test_the_triad_in_blocks_is_the_triad() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 3 * host_limits.BLOCK + 5)).astype(np.float32)
    out = np.empty_like(a)
    host_limits.triad(out, a, b)
    np.testing.assert_array_equal(out, a + np.float32(host_limits.FACTOR) * b)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", machine_limits.TRAFFIC)
def test_numpy_moves_bytes_in_any_number_of_threads(kind: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_limits, "ROUND_BYTES", MEBIBYTE)
    assert host_limits.bandwidth(kind, MEBIBYTE, threads) > 1e6


@pytest.mark.parametrize("dtype", machine_limits.HOST_DTYPES.values())
def test_numpy_computes_products(dtype: str) -> None:
    assert host_limits.product(dtype, 64, 1) > 1e6


CASE = "seed0"


@pytest.fixture(scope="module")
def sides() -> Iterator[dict[str, Side]]:
    """Two real workers with a workload loaded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found: dict[str, Side] = {
            "tf": LiveSide("tf", folder, interpreter(folder, JAX_AS_TF)),
            "jax": LiveSide("jax", folder),
        }
        loading = prepare(registry.get("add"), "smoke", None, folder).loading
        assert CASE in loading.cases
        try:
            for side in found.values():
                requests.load(side, loading)
            yield found
        finally:
            for side in found.values():
                side.close()


def expected_read(states: Arrays) -> np.ndarray:
    return states["a"].astype(np.float64).sum(axis=1)


def expected_copy(states: Arrays) -> np.ndarray:
    return -states["a"].astype(np.float64)


def expected_triad(states: Arrays) -> np.ndarray:
    return states["a"] + probes.FACTOR * states["b"]


def expected_product(states: Arrays) -> np.ndarray:
    return states["a"].astype(np.float64) @ states["b"].astype(np.float64)


PROBES: dict[str, tuple[Program, Callable[[Arrays], np.ndarray]]] = {
    "read": (probes.read(64 << 10), expected_read),
    "copy": (probes.copy(64 << 10), expected_copy),
    "triad": (probes.triad(64 << 10), expected_triad),
} | {dtype: (probes.product(96, dtype), expected_product) for dtype in probes.DTYPES}


@pytest.mark.process
@pytest.mark.parametrize("name", PROBES)
def test_a_probe_computes_what_it_says(name: str, sides: dict[str, Side]) -> None:
    probe, expected = PROBES[name]
    handle = requests.compile_program(sides["jax"], probe).handle
    found = requests.execute(sides["jax"], handle, CASE)["result"]
    assert found.dtype == (ml_dtypes.bfloat16 if name == "bf16" else probe.results[0].dtype)
    # Whole numbers below 256: exact in every float type, bfloat16 included.
    np.testing.assert_array_equal(found.astype(np.float64), expected(probe.states))


@pytest.mark.parametrize("kind", machine_limits.TRAFFIC)
def test_a_probe_moves_the_bytes_that_it_was_asked_for(kind: str) -> None:
    assert sum(machine_limits.traffic(machine_limits.TRAFFIC[kind](MEBIBYTE))) == pytest.approx(MEBIBYTE, rel=0.01)


@pytest.mark.parametrize(("kind", "part"), [("read", 0.002), ("copy", 1 / 2), ("triad", 1 / 3)])
def test_a_probe_writes_the_part_that_names_it(kind: str, part: float) -> None:
    read, written = machine_limits.traffic(machine_limits.TRAFFIC[kind](MEBIBYTE))
    assert written / (read + written) == pytest.approx(part, abs=0.001)
    assert Work(0, read, written, "f32").kind == kind


@pytest.mark.process
def test_the_machine_is_measured_by_all_and_named(sides: dict[str, Side], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_limits, "MOST_BYTES", MEBIBYTE)
    monkeypatch.setattr(machine_limits, "PRODUCT_SIDE", 128)
    monkeypatch.setattr(host_limits, "ROUND_BYTES", 16 * MEBIBYTE)
    found = machine_limits.measure_machine(Probed(sides, 1))
    assert found.threads == 1 and set(found.gemm) == {"f32", "f64", "bf16", "f16"}
    named = {each.by for each in (found.read, found.copy, found.triad, *found.gemm.values())}
    assert named <= {"tf xla", "jax xla", "numpy"}
    assert found.gemm["bf16"].by != "numpy", "NumPy has no bfloat16"


class Scripted(Side):
    """A side that takes so many seconds a call, or fails at every probe."""

    def __init__(self, name: str, seconds: float | None, lost: bool = False) -> None:
        self.name, self._seconds, self._lost = name, seconds, lost
        self.asked: list[int] = []

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if self._seconds is None:
            raise SideError(self.name, method, "no", is_lost=self._lost)
        if method == "compile":
            assert arrays is not None
            self.asked.append(sum(array.size * 4 for name, array in arrays.items() if name != "artifact"))
            return Reply({"handle": 0, "compile_s": 0.0})
        if method == "profile":
            return Reply([[["probe", 0, 0.0, self._seconds / 2], ["probe.1", 1, 0.0, self._seconds / 2]]] * 3)
        return Reply([self._seconds] * parameters["calls"] if method == "round" else {})

    def close(self) -> None:
        """Nothing runs."""


@pytest.fixture
def slow_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_limits, "bandwidth", lambda kind, size_bytes, threads: 1.0)


@pytest.mark.usefixtures("slow_numpy")
def test_the_faster_side_sets_the_limit() -> None:
    found = machine_limits.measure_working_set(
        Probed({"tf": Scripted("tf", 2e-3), "jax": Scripted("jax", 1e-3)}, 1), "copy", MEBIBYTE
    )
    assert found is not None
    assert found.by == "jax xla" and found.bytes_per_s == pytest.approx(MEBIBYTE / 1e-3)


@pytest.mark.usefixtures("slow_numpy")
def test_a_side_that_fails_at_a_probe_is_left_out_of_it() -> None:
    found = machine_limits.measure_working_set(
        Probed({"tf": Scripted("tf", None), "jax": Scripted("jax", 1e-3)}, 1), "read", MEBIBYTE
    )
    assert found is not None and found.by == "jax xla"


@pytest.mark.usefixtures("slow_numpy")
def test_a_side_that_is_lost_ends_the_measurement() -> None:
    with pytest.raises(SideError):
        machine_limits.measure_working_set(Probed({"tf": Scripted("tf", None, lost=True)}, 1), "read", MEBIBYTE)


@pytest.mark.usefixtures("slow_numpy")
@pytest.mark.parametrize(
    ("size_bytes", "asked"),
    [(32 * MEBIBYTE, [32 * MEBIBYTE]), (100, [machine_limits.LEAST_BYTES]), (200 * MEBIBYTE, [])],
)
def test_what_a_cache_may_hold_is_measured_at_its_own_size(size_bytes: int, asked: list[int]) -> None:
    side = Scripted("jax", 1e-3)
    work = Work(0, size_bytes, 0, "f32")
    found = machine_limits.of_workload(Probed({"jax": side}, 1), work, {"jax/jit": 1.0}, HAND, None)
    assert found is not None
    assert side.asked == asked
    assert (found.bandwidth_by == "numpy") == (not asked), "without a probe the machine's own limit stands"


GPU_OF_TF32 = Device(GPU, precision=TF32)


def test_a_gpu_has_the_limits_of_its_own_programs() -> None:
    found = machine_limits.measure_machine(Probed({"jax": Scripted("jax", 1e-3)}, 1, GPU_OF_TF32))
    assert set(found.gemm) == {"f32", "f64", "bf16", "f16", "tf32"}
    assert {each.by for each in (found.read, found.copy, found.triad, *found.gemm.values()) if each} == {"jax xla"}
    assert found.gemm["f32"].flops_per_s == pytest.approx(2 * machine_limits.GPU_PRODUCT_SIDE**3 / 1e-3)


@pytest.mark.parametrize(("dtype", "exact"), [("f32", True), ("tf32", False)])
def test_float32_is_rounded_only_where_that_is_measured(dtype: str, exact: bool) -> None:
    text = str(bindings.parse(probes.product(8, dtype).artifact))
    assert "8x8xf32" in text and ("precision = [HIGHEST, HIGHEST]" in text) == exact


def test_what_nobody_could_measure_is_missing() -> None:
    failing = Probed({"jax": Scripted("jax", None)}, 1, GPU_OF_TF32)
    found = machine_limits.measure_machine(failing)
    assert (found.read, found.copy, found.triad, found.gemm) == (None, None, None, {})
    assert machine_limits.of_workload(failing, Work(0, 1, 0, "f32"), {"jax/jit": 1.0}, found, None) is None
