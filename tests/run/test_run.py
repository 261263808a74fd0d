"""A run from arrays to record: the contract of results.json, real times, and what is not measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from interpreters import JAX_AS_TF, interpreter
from runs import record_of

from compare.bench.pairs import Measured
from compare.inputs.at_size import Prepared, digest, prepare_both
from compare.inputs.request import Plan
from compare.measure import timed_samples, timed_sets
from compare.plain_json import to_json, write_json
from compare.progress import Position, Reporter, Steps
from compare.record.envelope import SCHEMA, Record
from compare.record.results_file import load, load_plain, save
from compare.record.vocabulary import CELLS
from compare.run import whole_run
from compare.sides import requests
from compare.sides.client import LiveSide
from compare.sides.pool import Source
from workloads import Workload
from workloads.core import registry
from workloads.core.modes import JAX_JIT, JAX_RETAINED, TF_JIT, Arm
from workloads.core.spec import GATES

pytestmark = pytest.mark.process

NOT_ASKED: Any = SimpleNamespace(name="jax")

PORT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="doubled", tf="functions.py:doubles", jax="functions.py:nearly", inputs={"x": ArraySpec((3,))}, builds=False
)
"""

MODES = {"tf/eager", "tf/graph", "tf/autocluster", "tf/jit", "jax/eager", "jax/jit"}
TIMED = MODES - {"tf/autocluster"}


class Told(Reporter):
    """Keeps what it is told: stages with the number of steps announced and the steps that came."""

    def __init__(self) -> None:
        self.stages: dict[str, tuple[int, list[str]]] = {}
        self.results: list[str] = []
        self.details: list[str] = []

    def stage(self, text: str, steps: Steps) -> None:
        self.stages[text] = (Position(steps, 0.0).count, [])

    def step(self, text: str) -> None:
        self.stages[list(self.stages)[-1]][1].append(text)

    def detail(self, text: str) -> None:
        self.details.append(text)

    def result(self, text: str) -> None:
        self.results.append(text)


# One function on both real sides.


@pytest.fixture(scope="module")
def told() -> Told:
    return Told()


@pytest.fixture(scope="module")
def record(told: Told) -> Record:
    request = whole_run.Request(
        [registry.get("scale_and_add")], size="smoke", plans=[Plan(2, 2, budget_s=0.2, threads=1)]
    )
    return whole_run.run(request, told).record


@pytest.fixture(scope="module")
def whole(record: Record) -> dict[str, Any]:
    return to_json(record)


@pytest.fixture(scope="module")
def judged(whole: dict[str, Any]) -> dict[str, Any]:
    return whole["workloads"]["scale_and_add"]


def test_the_record_has_its_schema_and_says_what_it_depends_on(whole: dict[str, Any], tmp_path: Path) -> None:
    assert whole["schema"] == SCHEMA == 1
    assert {"jaxport", "python", "platform", "cpu", "cores", "sides"} <= set(whole["environment"])
    assert whole["environment"]["sides"]["tf"]["tensorflow"]
    assert whole["environment"]["sides"]["jax"]["jaxlib"]
    write_json(tmp_path / "results.json", whole)
    assert load_plain(tmp_path / "results.json") == whole


def test_the_record_of_a_run_equals_itself_after_writing_and_reading(record: Record, tmp_path: Path) -> None:
    save(record, tmp_path / "results.json")
    assert load(tmp_path / "results.json") == record


def test_a_workload_s_part_has_every_field_of_the_contract(judged: dict[str, Any]) -> None:
    assert {"size", "dtype", "parity", "programs", "alignment", "compiled", "profile", "timing", "attribution"} <= set(
        judged
    )
    assert (judged["size"], judged["dtype"]) == ("smoke", "float32")
    assert judged["parity"]["verdict"] == "pass"
    assert tuple(judged["parity"]["gates"]) == GATES
    assert all("verdict" in gate for gate in judged["parity"]["gates"].values())
    for program in judged["programs"].values():
        assert program["instructions"] > 0
        assert len(program["sha256"]) == 64
    assert {"matched", "tf_only", "jax_only", "frontier"} <= set(judged["alignment"])
    for each in judged["alignment"]["frontier"]:
        assert {"side", "op", "name", "source", "reason"} <= set(each)
    assert tuple(judged["compiled"]) == CELLS
    for cell in judged["compiled"].values():
        assert {"instructions", "fusions", "kernels", "temp_bytes", "flops", "bytes"} <= set(cell)
    assert set(judged["profile"]) == MODES
    for profile in judged["profile"].values():
        assert profile["kernels"] == len(profile["names"])


def test_every_mode_and_cell_is_timed(judged: dict[str, Any]) -> None:
    # The two operations of this function are no cluster: what they are compiled to is not timed twice.
    assert judged["profile"]["tf/autocluster"]["same_as"] == "tf/graph"
    assert set(judged["timing"]["modes"]) == TIMED
    assert set(judged["timing"]["cells"]) == set(CELLS)
    for mode in judged["timing"]["modes"].values():
        assert {"median_s", "first_call_s", "compile_s", "peak_rss_bytes"} <= set(mode)
        assert mode["median_s"] > 0 < mode["first_call_s"]
    assert judged["timing"]["modes"]["jax/jit"]["compile_s"] > 0
    assert judged["timing"]["modes"]["jax/eager"]["compile_s"] is None


def test_the_port_stands_against_every_mode_of_the_original(judged: dict[str, Any]) -> None:
    ratios = judged["timing"]["ratios"]
    assert {f"jax/jit vs {mode}" for mode in TIMED if mode.startswith("tf/")} <= set(ratios)
    assert {"jax/jit vs jax/eager", "tf/jit vs tf/eager"} <= set(ratios)
    for ratio in ratios.values():
        assert ratio["verdict"] in ("faster", "slower", "equivalent", "inconclusive")
        assert ratio["pairs"] == 2
        if ratio["withheld"]:
            assert ratio["ratio"] is ratio["ci95"] is None
        else:
            low, high = map(float, ratio["ci95"])
            assert low <= ratio["ratio"] <= high


def test_identical_code_in_a_second_process_stands_beside_the_ratios(judged: dict[str, Any]) -> None:
    null = judged["timing"]["null"]
    assert set(null) == {"tf/jit vs itself", "jax/jit vs itself"}
    assert all(each["ratio"] > 0 and each["pairs"] == 2 for each in null.values())


def test_the_second_process_of_a_side_runs_all_that_the_first_runs(judged: dict[str, Any]) -> None:
    timed = timed_sets.Timed(NOT_ASKED, {"jax": ("eager", "jit")}, {})
    processes = [
        timed_sets._Process("jax", 1),
        timed_sets._Process("jax", 2),
        timed_sets._Process("jax", 3, JAX_RETAINED),
    ]
    first, second, other = (
        list(timed_sets._targets(timed_sets._Running(NOT_ASKED, process), timed, timed_samples.Samples()))
        for process in processes
    )
    assert [(str(arm), arm.slowdown, target) for arm, target in first] == [
        ("jax/eager", 0, "eager"),
        ("jax/jit", 0, "jit"),
        ("jax/jit+5%", 0.05, "jit"),
    ]
    assert [target for _, target in second] == [target for _, target in first]
    assert [str(arm) for arm, _ in second] == ["jax/eager#2", "jax/jit#2", "jax/jit#2+10%"]
    assert [(str(arm), target) for arm, target in other] == [("jax/eager#3", "eager"), ("jax/retained", "jit")]
    assert not [
        arm for part in ("modes", "cells", "ratios") for arm in judged["timing"][part] if "#" in arm or "+" in arm
    ]


def test_both_sides_computed_on_the_thread_that_was_asked_for(judged: dict[str, Any]) -> None:
    threads = judged["timing"]["threads"]
    assert (threads["asked"], threads["equal"]) == (1, True), threads["reason"]
    assert all(len(side["processors"]) == 1 for side in threads["sides"].values())


def test_the_machine_s_limits_and_dispatch_stand_beside_the_workloads(whole: dict[str, Any]) -> None:
    limits = whole["machine"]["1"]
    assert limits["threads"] == 1 and min(limits[kind]["bytes_per_s"] for kind in ("read", "copy", "triad")) > 0
    assert {"f32", "f64"} <= limits["gemm"].keys()
    assert {"tf/eager", "tf/graph", "tf/jit", "jax/eager", "jax/jit"} <= whole["dispatch"].keys()


def test_every_mode_has_its_share_of_the_limit_that_binds(judged: dict[str, Any]) -> None:
    roofline, modes = judged["roofline"], judged["timing"]["modes"]
    assert roofline["bound"] in ("memory", "compute", "dispatch")
    assert roofline["modes"].keys() == modes.keys()
    for mode, share in roofline["modes"].items():
        assert share["share"] == pytest.approx(roofline["limit_s"] / modes[mode]["median_s"])


def test_the_parts_of_the_ratio_multiply_to_it(judged: dict[str, Any]) -> None:
    ratio, parts = judged["timing"]["ratios"]["jax/jit vs tf/jit"], judged["attribution"]
    assert bool(parts) != bool(ratio["withheld"])
    if parts:
        assert math.prod(parts.values()) == pytest.approx(ratio["ratio"], rel=1e-9)


def test_the_reporter_is_told_of_every_stage_and_its_steps(whole: dict[str, Any], told: Told) -> None:
    timed = [f"timing on 1 thread, processes {pair} of 2" for pair in (1, 2)]
    assert list(told.stages) == [
        "scale_and_add: parity and programs",
        "scale_and_add: alignment",
        "compiling on 1 thread",
        *timed,
        "limits on 1 thread",
    ]
    assert told.results == [
        "scale_and_add: forward pass: structure, semantics, rounding hold on the drawn arrays",
        "scale_and_add: gradients: structure, gradients hold on the drawn arrays",
        "scale_and_add: pass: structure, semantics, rounding, gradients; not applicable: training",
        "scale_and_add: pass: stability",
        "scale_and_add: parity holds",
    ]
    announced, steps = told.stages["scale_and_add: parity and programs"]
    assert steps == ["forward pass", "gradients", "gates", "stability, forward", "stability, gradients", "programs"]
    assert announced == len(steps)
    assert {"jax/jit forward", "tf/eager forward", "jax float64 gradients", "tf/graph profile"} <= set(told.details)
    assert all(told.stages[stage][1] == ["starting", "scale_and_add"] for stage in (*timed, "compiling on 1 thread"))
    assert all(0 < len(steps) <= announced for announced, steps in told.stages.values())


# A training step, JAX alone.


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prepared, LiveSide]]:
    folder = tmp_path_factory.mktemp("trained")
    prepared, _ = prepare_both(registry.get("mnist_mlp"), "smoke", None, folder)
    side = LiveSide("jax", folder)
    assert requests.load(side, prepared.loading)["step"] == ["eager", "jit", "donated"]
    yield prepared, side
    side.close()


def test_training_takes_the_same_course_with_its_state_donated(trained: tuple[Prepared, LiveSide]) -> None:
    prepared, side = trained
    kept, donated = (requests.trajectory(side, mode, "float32", [1, 50]) for mode in ("jit", "donated"))
    assert prepared.workload.training is not None
    assert kept["loss"].shape == (prepared.workload.training.steps,)
    assert kept["loss"][-5:].mean() < kept["loss"][:5].mean()
    assert kept.keys() == donated.keys() > {"loss", "weights@1/hidden/kernel", "weights@50/logits/bias"}
    for name, array in kept.items():
        np.testing.assert_array_equal(donated[name], array, err_msg=name)


def test_a_training_step_is_timed_with_its_state_threaded_and_donated(
    trained: tuple[Prepared, LiveSide], tmp_path: Path
) -> None:
    prepared, side = trained
    program = requests.program(side, "step", "float32")
    assert {"state", "weight", "input"} == {parameter.kind for parameter in program.parameters}
    each = timed_sets.Timed(prepared, {"jax": ("jit", "donated")}, {"jax": program})
    measured = timed_sets.measure(
        [each], {"jax": Source()}, Plan(1, 1, budget_s=0.2, threads=1), tmp_path, 300, Told()
    )["mnist_mlp"]
    assert measured.failures == []
    found = timed_samples.summarise(measured, recorded_sides=["tf"]).timing
    assert set(found.modes) == {"jax/jit", "jax/donated"}
    assert set(found.cells) == {"jax@jax"}
    assert set(found.null) == {"jax/jit vs itself"}


# A port that is not the same.


def of_doubled(folder: Path, nearly: str = "x + x", **asked: Any) -> dict[str, Any]:
    """The part of a port whose JAX function is `nearly`, and whose original doubles; JAX stands in for TensorFlow."""
    (folder / "functions.py").write_text(f"def doubles(x): return x * 2\n\ndef nearly(x): return {nearly}\n")
    (folder / "port.py").write_text(PORT)
    sources = {"tf": Source(interpreter(folder, JAX_AS_TF)), "jax": Source()}
    return record_of(str(folder / "port.py"), sources=sources, **asked)["workloads"]["doubled"]


def test_what_is_not_the_same_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*_: object) -> None:
        raise AssertionError("timing was started")

    monkeypatch.setattr(timed_sets, "measure", measure)
    found = of_doubled(tmp_path, "x * 2.0001", plans=[Plan(1, 1)])
    assert found["failures"] == []
    assert found["parity"]["verdict"] == "fail"
    assert (found["timing"], found["attribution"]) == (None, None)


def test_programs_that_need_not_be_aligned_are_compiled_all_the_same(tmp_path: Path) -> None:
    found = of_doubled(tmp_path, plans=(), alignment=False)
    assert (found["failures"], found["alignment"], found["compilers"]) == ([], None, None)
    assert all(each["kernels"] for each in found["compiled"].values())


@pytest.mark.parametrize("sets", [0, 1])
def test_who_interrupts_the_timing_keeps_what_was_judged_and_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sets: int
) -> None:
    def interrupted(*_: object) -> None:
        rounds = {Arm(TF_JIT): (2e-3,) * 5, Arm(JAX_JIT): (1e-3,) * 5}
        raise timed_sets.Interrupted({"doubled": timed_samples.Samples(pairs=[Measured(rounds, {})] * sets)})

    monkeypatch.setattr(timed_sets, "measure", interrupted)
    found = of_doubled(tmp_path, plans=[Plan(1, 1)])
    assert found["parity"]["verdict"] == "pass"
    assert [(each["doing"], each["reason"].partition(":")[0]) for each in found["failures"]] == [
        ("timing", "interrupted")
    ]
    medians = {mode: each["median_s"] for mode, each in found["timing"]["modes"].items()} if sets else found["timing"]
    assert medians == ({"tf/jit": 2e-3, "jax/jit": 1e-3} if sets else None)


# The arrays.


def sha256(workload: Workload, folder: Path, size: str) -> str:
    folder.mkdir()
    return prepare_both(workload, size, None, folder)[0].loading.sha256


@pytest.mark.parametrize("name", ["scale_and_add", "mnist_mlp"])
def test_the_same_request_draws_the_same_arrays(tmp_path: Path, name: str) -> None:
    workload = registry.get(name)
    first = sha256(workload, tmp_path / "first", "smoke")
    assert sha256(workload, tmp_path / "again", "smoke") == first
    assert sha256(workload, tmp_path / "larger", "default") != first


def test_the_record_names_the_arrays_by_their_digest(judged: dict[str, Any], tmp_path: Path) -> None:
    assert judged["sha256"] == sha256(registry.get("scale_and_add"), tmp_path / "arrays", "smoke")


@pytest.mark.parametrize(
    "other",
    [
        {"y": np.arange(4.0)},
        {"x": np.arange(4.0, dtype=np.float32)},
        {"x": np.arange(4.0).reshape(2, 2)},
        {"x": np.array([0.0, 1.0, 2.0, 3.0 + 1e-15])},
        {"x": np.array([-0.0, 1.0, 2.0, 3.0])},
    ],
    ids=["name", "dtype", "shape", "last bit", "sign of zero"],
)
def test_the_digest_differs_wherever_arrays_differ(other: dict[str, np.ndarray]) -> None:
    assert digest({"x": np.arange(4.0)}) == digest({"x": np.arange(8.0)[:4].copy()})
    assert digest(other) != digest({"x": np.arange(4.0)})
