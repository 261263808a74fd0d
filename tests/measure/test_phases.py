"""Phases of real modes and of pretended ones: in which processes they are measured, and what fails is said."""

from __future__ import annotations

import dataclasses
import mmap
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from phase_times import parts, told

from compare.bench import phases
from compare.files import convert_plain
from compare.inputs.at_size import Prepared, prepare
from compare.measure import phase_processes as run
from compare.measure.measurements import Measurements, measure_phases
from compare.measure.phase_processes import Workers
from compare.measure.timed_sets import prepare_timing
from compare.plain_json import to_json
from compare.progress import Silent
from compare.prove.collect import Collected
from compare.record.cost_parts import Cache, Entry, Memory, Phases
from compare.record.program_parts import Profile
from compare.record.workload_part import Failure, Workload
from compare.sides import mapped, requests
from compare.sides._side import Reply, Side, SideError
from compare.sides.framework_host import Worker
from compare.sides.pool import Source
from compare.sides.settings import Settings
from workloads.core import registry
from workloads.core.spec import Arrays
from workloads.protocol.framework import Analysis, Twin
from workloads.protocol.framework import Prepared as Prepared_

# Settings: no cache means none.


@pytest.mark.parametrize(
    ("side", "inherited", "expected"),
    [
        ("tf", {}, {}),
        ("jax", {}, {}),
        ("tf", {"TF_XLA_FLAGS": "--other"}, {}),
        (
            "tf",
            {"TF_XLA_FLAGS": "--tf_xla_persistent_cache_directory=/mine"},
            {"TF_XLA_FLAGS": "--tf_xla_persistent_cache_directory=/mine --tf_xla_persistent_cache_directory="},
        ),
        ("jax", {"JAX_COMPILATION_CACHE_DIR": "/mine"}, {"JAX_COMPILATION_CACHE_DIR": ""}),
    ],
)
def test_a_cache_of_the_users_own_would_make_a_cold_process_warm(
    side: str, inherited: dict[str, str], expected: dict[str, str]
) -> None:
    assert Settings().variables(side, inherited) == expected


# Whole modes, in processes that only pretend.


@dataclasses.dataclass
class Fake(Side):
    """A process that tells what it is given, and leaves files where its settings say."""

    name: str
    settings: Settings
    reply: Mapping[str, Any]
    writes: bool = True
    fails: str = ""

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if method == "load":
            return Reply({"modes": {}})
        if self.fails == kind(self.settings):
            raise SideError(self.name, f"{method} {parameters['target']}", "it broke")
        if self.writes and self.settings.compilation_cache:
            (self.settings.compilation_cache / "entry").write_bytes(b"12345")
        if self.writes and self.settings.dump:
            inner = self.settings.dump / "module"
            inner.mkdir()
            (inner / "fusion.o").write_bytes(b"123")
            (inner / "text.txt").write_bytes(b"no code")
        return Reply({} if method == "prepare" else self.reply)

    def close(self) -> None:
        """Nothing is open."""


def kind(settings: Settings) -> str:
    return "cached" if settings.compilation_cache else "code" if settings.dump else "cold"


COLD = [told(compile_s=seconds) for seconds in (3.0, 1.0, 2.0)]
CACHED = [told(compile_s=seconds) for seconds in (9.0, 0.3, 0.1, 0.2)]
MODES = {"jax": ("jit",), "tf": ("jit",)}
SOURCES = {"jax": Source(), "tf": Source(recorded=Path("kept"))}

Measured = tuple[dict[str, Phases], list[Failure], list[str]]
Measure = Callable[..., Measured]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(registry.get("running_example"), "smoke", None, tmp_path_factory.mktemp("arrays"), one_case=True)


@pytest.fixture
def measure(tmp_path: Path, example: Prepared) -> Measure:
    def measured(**fake: Any) -> Measured:
        replies = {"cold": iter(COLD), "cached": iter(CACHED), "code": iter([{}])}
        started: list[str] = []

        def launch(side: str, scratch: Path, python: str | None, timeout_s: float, settings: Settings) -> Side:
            started.append(kind(settings))
            return Fake(side, settings, next(replies[kind(settings)]), **fake)

        workers = Workers(SOURCES, tmp_path, 1.0, launch=launch)
        return *run.measure(example, MODES, workers, Silent()), started

    return measured


def test_a_mode_is_measured_cold_then_with_a_cache_that_one_process_filled(measure: Measure) -> None:
    found, failures, started = measure()
    assert not failures
    assert list(found) == ["jax/jit"], "a recorded side has no process to look at"
    assert started == ["cold"] * 3 + ["cached"] * 4 + ["code"]
    measured = found["jax/jit"]
    assert measured.cold.compile_s == 2.0
    assert measured.cached is not None
    assert measured.cached.compile_s == 0.2, "the process that filled the cache is not among those it helped"
    assert measured.cache == Cache(entries=1, bytes=5, reason="")
    assert (measured.code_bytes, measured.processes) == (3, 3)


def test_a_mode_that_compiled_nothing_has_neither_times_nor_phases_of_its_own(
    example: Prepared, tmp_path: Path
) -> None:
    profile = {"tf/autocluster": Profile(same_as="tf/graph"), "tf/graph": Profile()}
    collected = Collected("tf", modes={"forward": ["graph", "autocluster"]}, profile=profile)
    to_time = prepare_timing(example, {"tf": collected}, Workload())
    assert to_time.modes == {"tf": ["graph"]}

    def launch(side: str, scratch: Path, python: str | None, timeout_s: float, settings: Settings) -> Side:
        return Fake(side, settings, told())

    workers = Workers({"tf": Source()}, tmp_path, 1.0, launch=launch)
    found = {to_time.name: Measurements()}
    measure_phases([to_time], found, 1, workers, Silent())
    assert set(found[to_time.name].phases) == {"tf/graph"} and not found[to_time.name].failures


def test_a_mode_that_writes_nothing_has_no_cached_phases_and_no_code(measure: Measure) -> None:
    found, failures, started = measure(writes=False)
    assert not failures
    measured = found["jax/jit"]
    assert measured.cached is None and measured.cache.reason
    assert measured.code_bytes is None and measured.code_reason
    assert started.count("cached") == 1, "nobody waits for processes that have nothing to find"


@pytest.mark.parametrize(("fails", "method"), [("cold", "phases"), ("cached", "phases"), ("code", "prepare")])
def test_what_fails_is_reported_and_costs_only_itself(measure: Measure, fails: str, method: str) -> None:
    found, failures, _ = measure(fails=fails)
    assert failures == [Failure("jax", f"phases jax/jit, {fails}: {method} jit", "it broke")]
    assert ("jax/jit" in found) == (fails != "cold")
    if fails == "cached":
        assert found["jax/jit"].cached is None and found["jax/jit"].cache.reason == "it broke"
    if fails == "code":
        assert found["jax/jit"].code_bytes is None and found["jax/jit"].code_reason == "it broke"


def test_the_record_holds_the_phases_of_a_mode_under_stable_names(measure: Measure) -> None:
    record = to_json(measure()[0])["jax/jit"]
    assert set(record) == {"cold", "cached", "cache", "memory", "code_bytes", "code_reason", "processes"}
    assert set(record["cold"]) == set(record["cached"])
    assert {"import_s", "load_s", "trace_s", "lower_s", "compile_s", "compile_derived"} <= set(record["cold"])
    assert {"first_call_s", "steady_s", "baseline_rss_bytes", "peak_rss_bytes"} <= set(record["cold"])
    assert set(record["cache"]) == {"entries", "bytes", "reason"}


def test_dispatch_is_the_median_over_processes_and_a_side_that_fails_is_named(tmp_path: Path) -> None:
    figures = iter([5.0, 1.0, 3.0])

    def launch(side: str, scratch: Path, python: str | None, timeout_s: float, settings: Settings) -> Side:
        if side == "tf":
            raise SideError("tf", "import TensorFlow", "it is not there")
        return Fake(side, settings, {"eager": {"public_s": next(figures), "concrete_s": None}})

    found, failures = run.dispatch(Workers({"tf": Source(), "jax": Source()}, tmp_path, 1.0, launch=launch))
    assert found == {"jax/eager": Entry(public_s=3.0)}
    assert failures == [Failure("tf", "dispatch: import TensorFlow", "it is not there")] * 3


# Real processes.

ARGUMENTS = 2 * 64 * 64 * 4
"""Bytes of the running example's x and y at size smoke."""


@pytest.mark.process
def test_jax_has_phases_that_add_up_and_a_cache_that_the_next_process_finds(example: Prepared, tmp_path: Path) -> None:
    workers = Workers({"jax": Source()}, tmp_path, 120, threads=1)
    found, failures = run.measure(example, {"jax": ("jit",)}, workers, Silent(), repeats=1)
    assert not failures
    measured = found["jax/jit"]
    assert measured.cached is not None
    for process in (measured.cold, measured.cached):
        assert 0 < parts(process) <= process.first_call_s
        assert process.steady_s > 0 and process.import_s > 0 and process.load_s > 0
        assert process.compile_s is not None and not process.compile_derived
    assert measured.cache.entries > 0 and not measured.cache.reason
    assert measured.code_bytes
    assert measured.memory == Memory(argument_bytes=ARGUMENTS, output_bytes=4, temp_bytes=0, alias_bytes=0)


@pytest.mark.process
def test_tensorflow_tells_of_jit_what_it_tells_and_no_more(example: Prepared, tmp_path: Path) -> None:
    with closing(Workers({"tf": Source()}, tmp_path, 120).start("tf")) as side:
        requests.load(side, example.loading)
        compiled, graph = (convert_plain(requests.phases(side, mode), phases.Start) for mode in ("jit", "graph"))
        dispatch = requests.dispatch(side, calls=20)
    process, memory = phases.process_of(compiled), phases.memory_of(compiled)
    assert process.compile_derived
    assert process.lower_s
    assert 0 < parts(process) <= process.first_call_s
    assert memory is not None
    assert (memory.argument_bytes, memory.output_bytes, memory.alias_bytes) == (ARGUMENTS, 4, 0)
    plain = phases.process_of(graph)
    assert (plain.lower_s, plain.compile_s, phases.memory_of(graph)) == (None, None, None)
    assert {mode: entry["concrete_s"] is None for mode, entry in dispatch.items()} == {
        "eager": True,
        "graph": False,
        "jit": False,
    }
    assert all(entry["public_s"] > 0 for entry in dispatch.values())


def touched(size: int) -> mmap.mmap:
    """Memory that no allocation before it left behind: what the heap holds already would not count again."""
    pages = mmap.mmap(-1, size)
    pages.write(b"x" * size)
    return pages


def test_peak_memory_counts_the_twin_and_its_mode_and_nothing_that_analysing_needs(tmp_path: Path) -> None:
    """TensorFlow makes weights when the twin is built, JAX when a mode is prepared: both are the twin's."""
    held: list[mmap.mmap] = []
    touched(1 << 28).close()  # held before, and no part of it

    class Growing:
        def settings(self) -> Mapping[str, str]:
            return {}

        def load(self, twin: Twin) -> Mapping[str, Any]:
            held.append(touched(1 << 24))
            return {"modes": {}}

        def prepare(self, target: str) -> Prepared_:
            return Prepared_(lambda: held.append(touched(1 << 24)) if len(held) < 2 else None, analyse=grow)

    def grow() -> Analysis:
        held.append(touched(1 << 27))
        return Analysis()

    mapped.save({"cases/seed0/x": np.zeros(1)}, tmp_path / "arrays")
    twin = {"workload": "growing", "target": "", "builds": False, "dimensions": {}, "cases": ["seed0"], "inputs": ["x"]}
    worker = Worker(cast(Any, Growing()), import_s=0.0)
    worker.reply("load", twin | {"arrays": str(tmp_path / "arrays"), "sha256": ""}, {})
    said = worker.reply("phases", {"target": "jit"}, {}).value
    grown = said["peak_rss_bytes"] - said["baseline_rss_bytes"]
    assert 2 << 24 <= grown < 1 << 27
