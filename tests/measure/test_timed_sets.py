"""Which processes are started to be timed, what they share, and what of them is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from compare.bench import pairs
from compare.bench.pairs import Measured
from compare.bench.threads import judge
from compare.hlo import probes
from compare.inputs.at_size import prepare_both
from compare.inputs.request import Plan
from compare.measure import timed_samples, timed_sets, used_threads
from compare.progress import Silent
from compare.record import timing_part
from compare.record.timing_part import Bound, Threads
from compare.sides import requests
from compare.sides._side import SIDES, Reply, Side
from compare.sides.client import LiveSide
from compare.sides.pool import Source
from compare.sides.replies import Changed
from compare.sides.settings import RETAINING, Settings
from workloads.core import registry
from workloads.core.device import GPU, HIGHEST, ON_CPU, SYNCHRONOUS, Device
from workloads.core.modes import IN_OTHER_PROCESSES, JAX_JIT, JAX_RETAINED, JAX_SYNCHRONOUS, TF_JIT, Arm, Mode
from workloads.core.spec import Arrays

PLAN = Plan(3, 3, budget_s=0.01, threads=1)
PHASES = sorted(set(timing_part.Mode.__struct_fields__) - {"median_s", "page_faults"})


class Started(Side):
    """A process that takes a millisecond a call, and keeps what it was started with."""

    settings: ClassVar[list[Settings]] = []
    answers: ClassVar[dict[str, Any]] = {
        "load": {"modes": {}},
        "compile": {"handle": 0, "compile_s": 1.0},
        "threads": [1e-3],
        "processors": [0],
    }
    alive = True

    def __init__(self, name: str, scratch: Path, python: str | None, timeout_s: float, settings: Settings) -> None:
        self.name = name
        self.settings.append(settings)

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if method == "round":
            return Reply([1e-3] * parameters["calls"])
        if method == "counters":
            return Reply({"page_faults": parameters["calls"]})
        return Reply(self.answers.get(method, dict.fromkeys(PHASES, 1.0)))

    def close(self) -> None:
        """Nothing runs."""


def measured(folder: Path, device: Device = ON_CPU, others: Sequence[Mode] = ()) -> timed_samples.Samples:
    """Three sets of such processes."""
    _, prepared = prepare_both(registry.get("add"), "smoke", None, folder)
    timed = timed_sets.Timed(prepared, {"tf": ["jit"], "jax": ["jit"]}, {})
    plan = Plan(3, 3, budget_s=0.01, threads=1, other_processes=others)
    sources = {name: Source(device=device) for name in SIDES}
    return timed_sets.measure([timed], sources, plan, folder, 1, Silent())["add"]


def test_every_process_computes_on_the_device_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(timed_sets, "LiveSide", Started)
    monkeypatch.setattr(Started, "settings", [])
    asked = Device(GPU, 1, HIGHEST)
    measured(tmp_path, asked)
    assert {settings.device for settings in Started.settings} == {asked}


@pytest.mark.parametrize("others", [(), (JAX_RETAINED,), (JAX_SYNCHRONOUS,), IN_OTHER_PROCESSES])
def test_on_request_the_port_has_a_process_more_of_each_other_setting(
    others: Sequence[Mode], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(timed_sets, "LiveSide", Started)
    monkeypatch.setattr(Started, "settings", [])
    samples = measured(tmp_path, others=others)
    ratios = timed_samples.summarise(samples, ()).timing.ratios
    of_port = {
        JAX_RETAINED: [settings for settings in Started.settings if settings.retained_memory],
        JAX_SYNCHRONOUS: [settings for settings in Started.settings if settings.synchronous_dispatch],
    }
    for mode, started in of_port.items():
        asked, arm = mode in others, Arm(mode)
        assert len(started) == (1 + 3) * asked
        assert (samples.phases[arm] == timing_part.Mode(page_faults=1.0)) if asked else arm not in samples.phases
        assert all((arm in pair.medians) is asked for pair in samples.pairs)
        assert (f"{mode} vs jax/jit" in ratios) is asked
        assert (f"{mode} vs tf/jit" in ratios) is asked


def test_memory_is_kept_by_variables_of_the_port_s_process_and_no_other() -> None:
    told = Settings(retained_memory=True).variables("jax", {})
    assert set(told) == set(RETAINING)
    assert not set(Settings().variables("jax", {})) & set(RETAINING)


def test_calls_stay_in_their_thread_by_a_variable_of_the_port_s_process_and_no_other() -> None:
    told = Settings(synchronous_dispatch=True)
    assert told.variables("jax", {})[SYNCHRONOUS] == "1" and SYNCHRONOUS not in told.variables("tf", {})
    assert not Settings().variables("jax", {SYNCHRONOUS: "1"})[SYNCHRONOUS]


def test_one_process_a_side_compiles_and_those_that_are_timed_share_what_it_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(timed_sets, "LiveSide", Started)
    monkeypatch.setattr(Started, "settings", [])
    found = measured(tmp_path)
    assert len(Started.settings) == 2 + 3 * 4
    (shared,) = {settings.compilation_cache for settings in Started.settings}
    assert shared is not None and shared.is_dir()
    told = timing_part.Mode(**dict.fromkeys(PHASES, 1.0), page_faults=1.0)
    assert found.phases == dict.fromkeys([Arm(TF_JIT), Arm(JAX_JIT)], told)
    assert found.threads == judge(1, dict.fromkeys(SIDES, Bound((0,), 1.0)))
    assert len(found.pairs) == 3


def test_a_process_that_a_user_s_file_has_changed_is_another_one_for_the_next_workload(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def changed_by(side: Side) -> Changed:
        return Changed(("the umask (from 0022 to 0777)",)) if side.name == "jax" else Changed()

    monkeypatch.setattr(timed_sets, "LiveSide", Started)
    monkeypatch.setattr(timed_sets, "changed_by", changed_by)
    _, built_in = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    own = dataclasses.replace(built_in.loading, targets={"tf": "port.py:adds", "jax": "port.py:adds"})
    ports = [
        timed_sets.Timed(
            dataclasses.replace(
                built_in, workload=dataclasses.replace(built_in.workload, name=name), loading=loading
            ),
            {"tf": ["jit"], "jax": ["jit"]}, {},
        )
        for name, loading in (("first", own), ("second", built_in.loading), ("third", built_in.loading))
    ]  # fmt: skip
    started: list[int] = []
    for chosen in (ports, ports[1:]):
        monkeypatch.setattr(Started, "settings", [])
        timed_sets.measure(chosen, {name: Source() for name in SIDES}, PLAN, tmp_path, 1, Silent())
        started.append(len(Started.settings))
    # Of JAX, one that compiles and two of each of three sets, before the second workload alone.
    assert started == [2 + 3 * 4 + 1 + 3 * 2, 2 + 3 * 4]


def test_threads_are_verified_again_after_each_file_of_a_user_s_and_after_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def verified(sides: Mapping[str, Side], asked: int, device: Device) -> Threads:
        assert device == ON_CPU
        verifications.append(asked)
        return Threads(asked=len(verifications), equal=True)

    verifications: list[int] = []
    monkeypatch.setattr(timed_sets, "LiveSide", Started)
    monkeypatch.setattr(used_threads, "verify", verified)
    _, built_in = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    own = dataclasses.replace(built_in.loading, targets={"tf": "port.py:adds", "jax": "jaxport.add:build"})
    workloads = [
        dataclasses.replace(built_in, workload=dataclasses.replace(built_in.workload, name=name), loading=loading)
        for name, loading in (("first", built_in.loading), ("second", built_in.loading), ("own", own), ("another", own))
    ]
    timed = [timed_sets.Timed(prepared, {"tf": ["jit"], "jax": ["jit"]}, {}) for prepared in workloads]
    found = timed_sets.measure(
        timed, dict.fromkeys(SIDES, Source()), Plan(1, 1, budget_s=0.01, threads=1), tmp_path, 1, Silent()
    )
    counted = {name: samples.threads and samples.threads.asked for name, samples in found.items()}
    assert counted == {"first": 1, "second": 1, "own": 2, "another": 3}


def test_who_interrupts_a_set_keeps_those_that_were_complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*arguments: Any, seed: int, **options: Any) -> Measured:
        if seed == 2:
            raise KeyboardInterrupt
        return honest(*arguments, seed=seed, **options)

    honest = pairs.measure
    monkeypatch.setattr(timed_sets, "LiveSide", Started)
    monkeypatch.setattr(pairs, "measure", interrupted)
    with pytest.raises(timed_sets.Interrupted) as stopped:
        measured(tmp_path)
    kept = stopped.value.samples["add"]
    assert (len(kept.pairs), set(kept.phases)) == (2, {Arm(TF_JIT), Arm(JAX_JIT)})


@pytest.mark.process
@pytest.mark.parametrize("side", ["tf", "jax"])
def test_a_program_that_one_process_compiled_the_next_one_finds(side: str, tmp_path: Path) -> None:
    workload = registry.get("add")
    _, prepared = prepare_both(workload, "smoke", None, tmp_path)
    settings = Settings(compilation_cache=tmp_path / "compiled")
    (tmp_path / "compiled").mkdir()
    program = probes.product(16, "f32")
    entries, results = [], []
    for _ in range(2):
        with closing(LiveSide(side, tmp_path, None, 100, settings)) as process:
            requests.load(process, prepared.loading)
            handle = requests.compile_program(process, program).handle
            results.append(requests.execute(process, handle, prepared.loading.cases[0])["result"])
        entries.append({path.name for path in (tmp_path / "compiled").iterdir() if "atime" not in path.name})
    assert entries[0] and entries[0] == entries[1]
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.process
def test_it_is_found_however_often_was_called_what_came_before(tmp_path: Path) -> None:
    """TensorFlow's cache knows a function by its name, which says how many tensors there were before it."""
    _, before = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    _, prepared = prepare_both(registry.get("mnist_mlp"), "smoke", None, tmp_path)
    (tmp_path / "compiled").mkdir()
    entries = []
    for calls in (3, 8):
        with closing(LiveSide("tf", tmp_path, None, 100, Settings(compilation_cache=tmp_path / "compiled"))) as process:
            requests.load(process, before.loading)
            requests.prepare(process, "eager")
            requests.time_round(process, "eager", calls)
            requests.load(process, prepared.loading)
            requests.prepare(process, "jit")
        entries.append({path.name for path in (tmp_path / "compiled").iterdir()})
    assert entries[0] and entries[0] == entries[1]
