"""What a run makes of times that are given: attribution, and when no ratio is stated."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
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
from compare.measure import timed_sets
from compare.plain_json import to_json
from compare.progress import Silent
from compare.record import timing_part
from compare.record.timing_part import Bound, Threads
from compare.record.vocabulary import CELLS
from compare.sides import requests
from compare.sides._side import SIDES, Reply, Side
from compare.sides.client import LiveSide
from compare.sides.pool import Source
from compare.sides.settings import Settings
from workloads import _registry
from workloads._modes import JAX_JIT, TF_GRAPH, TF_JIT, Arm, parse_arm
from workloads._spec import Arrays


def samples(**slowed: float) -> timed_sets.Samples:
    """Five pairs of six rounds; arms take 1 to 10 ms, times a factor by name."""
    arms = ["tf/jit", "tf/jit#2", "jax/jit", "jax/jit#2", *CELLS]
    base = dict(zip(arms, (3e-3, 3e-3, 2e-3, 2e-3, 1e-3, 4e-3, 5e-3, 7e-3), strict=True))
    jitter = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0)
    taken = {
        parse_arm(arm): tuple(seconds * slowed.get(arm, 1) * each for each in jitter) for arm, seconds in base.items()
    }
    return timed_sets.Samples(pairs=[Measured(taken, {})] * 5)


def test_attribution_multiplies_to_the_published_ratio() -> None:
    found = to_json(timed_sets.summarise(samples(), recorded=()))
    ratios, parts = found["timing"]["ratios"], found["attribution"]
    assert set(parts) == {"frontend", "compiler", "runtime"}
    assert math.prod(parts.values()) == pytest.approx(ratios["jax/jit vs tf/jit"]["ratio"])
    assert parts["frontend"] * parts["compiler"] == pytest.approx(4)
    assert set(found["timing"]["cells"]) == set(CELLS)


TWINS = ["tf/jit#2", "jax/jit#2"]


@pytest.mark.parametrize("twin", TWINS)
def test_where_identical_code_differs_no_ratio_is_given(twin: str) -> None:
    ratios = timed_sets.summarise(samples(**{twin: 1.5}), recorded=()).timing.ratios
    assert set(ratios) == {"jax/jit vs tf/jit"}
    assert all(each.ratio is None and "A/A check failed" in each.withheld for each in ratios.values())


def test_a_side_that_xla_cannot_compile_is_held_against_itself_in_its_next_mode() -> None:
    """Every jit of TensorFlow failed: its graph mode vouches for it, and where that differs no ratio is stated."""
    graph = {Arm(TF_JIT, copy): Arm(TF_GRAPH, copy) for copy in (1, 2)}
    taken = {graph.get(arm, arm): rounds for arm, rounds in samples().pairs[0].medians.items()}
    found = timed_sets.summarise(timed_sets.Samples(pairs=[Measured(taken, {})] * 5), recorded=()).timing
    assert set(found.null) == {"tf/graph vs itself", "jax/jit vs itself"}
    assert found.ratios["jax/jit vs tf/graph"].ratio is not None
    again = Arm(TF_GRAPH, copy=2)
    spoilt = taken | {again: tuple(1.5 * seconds for seconds in taken[again])}
    unsteady = timed_sets.summarise(timed_sets.Samples(pairs=[Measured(spoilt, {})] * 5), recorded=()).timing
    assert "A/A check failed" in unsteady.ratios["jax/jit vs tf/graph"].withheld


@pytest.mark.parametrize("twin", TWINS)
def test_where_identical_code_differs_nothing_is_attributed(twin: str) -> None:
    assert timed_sets.summarise(samples(**{twin: 1.5}), recorded=()).attribution is None


@pytest.mark.parametrize("seen", [None, judge(2, {"tf": Bound((0,), 1.0), "jax": Bound((0, 1), 2.0)})])
def test_threads_that_are_not_those_asked_for_withhold_every_ratio(seen: Threads | None) -> None:
    reason = seen.reason if seen else "the threads of the two sides could not be verified"
    assert seen is None or reason.endswith("in the code or environment of tf")
    found = timed_sets.summarise(dataclasses.replace(samples(), threads=seen), recorded=(), asked=2)
    ratios = found.timing.ratios.values()
    assert {each.withheld for each in ratios} == {reason}
    assert all(each.ratio is None for each in ratios) and found.attribution is None


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


def measured(folder: Path) -> timed_sets.Samples:
    """Three sets of such processes."""
    _, prepared = prepare_both(_registry.get("add"), "smoke", None, folder)
    timed = timed_sets.Timed(prepared, {"tf": ["jit"], "jax": ["jit"]}, {})
    plan = Plan(3, 3, budget_s=0.01, threads=1)
    return timed_sets.measure([timed], {name: Source() for name in SIDES}, plan, folder, 1, Silent())["add"]


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
    workload = _registry.get("add")
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
