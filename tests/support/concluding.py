"""What each command concludes of a small record."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from compare.api import port_writing
from compare.bench.calibration import ModeCalibration
from compare.bundles.distance import difference
from compare.bundles.replaying import HERE, Compared, Replayed
from compare.commands import (
    _size_surveys,
    calibrate,
    clusters,
    datatypes,
    doctor,
    explain,
    gotchas,
    gpu_suite,
    hlo,
    init,
    locate,
    plan,
    profile,
    recompiles,
    replay,
    watch,
    weights,
)
from compare.commands import compare as compare_
from compare.commands import next as next_
from compare.commands._conclusion import Conclusion
from compare.commands._output import conclude
from compare.figures.gpu_runs import GATES_FIGURE, TASKS
from compare.gotchas.trying import Attempt, Trial
from compare.history.moves import REGRESSED, SEEN_ONCE, Change, Recurrence
from compare.prove.locating import Located
from compare.record.base import Verdict
from compare.record.clustering_part import ClusteredGraph, Clustering, GraphNode
from compare.record.crossing_part import Crossings, SizedRun, SizeSeries
from compare.record.datatypes_part import TypedFunction, TypedMode, TypedRow
from compare.record.diagnosis_part import Diagnosis, Finding
from compare.record.envelope import Record
from compare.record.figure_part import Figure, MeasuredExperiment, MeasuredRow
from compare.record.ledger_part import RecompilationLedger, SideLedger
from compare.record.parity_part import Gate, Parity
from compare.record.plan_part import JudgedLayout, Planned, PlannedCluster, PlannedLayout, PlannedStep
from compare.record.profile_part import ProfiledKernel, ReadProfile
from compare.record.rung_part import Ladder, Rung
from compare.record.vocabulary import FAIL
from compare.record.workload_part import Failure, Workload
from compare.weights.returning import Returned

REASON = "XLA has no kernel for MaxPoolWithArgmax"
NO_GRADIENT = "tf: program gradients float32: TensorFlow has no gradient of Floor"


OUT = Path("out")


def run(*verdicts: Verdict, failures: tuple[Failure, ...] = ()) -> Conclusion:
    """`jaxport run` of workloads whose semantics gate says so."""
    workloads = {
        f"port{at}": Workload(
            parity=None if verdict is None else Parity(verdict, {"semantics": Gate(verdict, reason=REASON)}),
            failures=failures,
        )
        for at, verdict in enumerate(verdicts)
    }
    return conclude(Record(schema=1, workloads=workloads))


def searched(*verdicts: str, reason: str = REASON) -> Conclusion:
    """`jaxport locate` of passes of which so much is said."""
    passes = {f"pass{at}": Located(verdict, reason=reason) for at, verdict in enumerate(verdicts)}
    return locate.conclude({"port": passes})


def climbed(*verdicts: str) -> Conclusion:
    """`jaxport next` of rungs that say so."""
    rungs = tuple(Rung(f"rung{at}", verdict) for at, verdict in enumerate(verdicts))
    fails = next((rung.name for rung in rungs if rung.verdict == FAIL), "")
    return next_.conclude(Ladder("port", fails, rungs))


def whole(gates: Verdict) -> Conclusion:
    """`jaxport init` of a port that is written whole, which the gates judge so."""
    return _initialized(gates, unwritten=())


def left(gates: Verdict) -> Conclusion:
    """`jaxport init` of a port with two places, whose rest the gates judge so."""
    return _initialized(gates, unwritten=("a (Lambda)", "b (Lambda)"))


def _initialized(gates: Verdict, unwritten: tuple[str, ...]) -> Conclusion:
    options: Any = argparse.Namespace(no_run=False, json=False, timeout=1, tf_python=None, jax_python=None)
    port: Any = SimpleNamespace(
        **{"folder": Path(), "file": Path("port.py"), "rest": Path("rest.py")},
        **{"unwritten": unwritten, "findings": (), "unwritten_files": ("model_jax.py",)},
        files_of_user=("README.md",),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(port_writing.port_files, "get_each", lambda _: [])
        patch.setattr(port_writing.whole_run, "run", lambda *_: SimpleNamespace(record=None))
        patch.setattr(init, "deliver", lambda *_: run(gates))
        conclusion = init._conclude(options, port)
    assert conclusion is not None
    return conclusion


def interrupted_watch() -> Conclusion:
    """`jaxport watch` that is interrupted before anything was judged."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    files: Any = SimpleNamespace(note=interrupt)
    unused: Any = None
    return watch._Watch(unused, OUT, unused, unused).watch(files)


def explained(interrupted: bool) -> Conclusion | None:
    """`jaxport explain` of what it measured, or was interrupted in."""
    measured = explain._Measured(Record(schema=1, workloads={}), OUT, interrupted=interrupted)
    options: Any = argparse.Namespace(workload=None, json=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explain, "_is_record", lambda _: False)
        patch.setattr(explain, "_run", lambda _: measured)
        return explain.main(options)


def surveyed(*parities: Verdict, interrupted: bool = False) -> Conclusion:
    """`jaxport crossing` and `jaxport crossing blocks` of one function at so many sizes."""
    runs = tuple(SizedRun(parity=parity) for parity in parities)
    return _size_surveys.conclude(Crossings(series=(SizeSeries("softmax", runs=runs),), interrupted=interrupted))


def calibrated(called: int, modes: int = 2) -> Conclusion:
    """`jaxport bench calibrate` of ten runs, of which so many detect a slowdown."""
    mode = ModeCalibration(10, 10, (0.01,), {"+10 %": called}, {"+10 %": 10}, {}, None)
    return calibrate.conclude({f"mode{at}": mode for at in range(modes)}, runs=10, sides=2)


def changed(*verdicts: str) -> Conclusion:
    """`jaxport history compare` and `jaxport history` of a ratio a verdict, as its last change has it."""
    return compare_.conclude(
        [
            Recurrence("port", str(at), SEEN_ONCE if verdict == REGRESSED else verdict, False, (),
                       (Change("port", str(at), verdict),))
            for at, verdict in enumerate(verdicts)
        ]
    )  # fmt: skip


def confirmed() -> Conclusion:
    """`jaxport history compare` of a ratio that regressed in two later runs."""
    return compare_.conclude([Recurrence("port", "a", REGRESSED, True, (), (Change("port", "a", REGRESSED),) * 2)])


def clustered(*clusters_of_nodes: str, expected: float = 0.5) -> Conclusion:
    """`jaxport compilation clusters --expect` of nodes in these clusters."""
    nodes = tuple(GraphNode(str(at), cluster=cluster) for at, cluster in enumerate(clusters_of_nodes))
    return clusters.conclude(Clustering(name="f", graph=ClusteredGraph(nodes=nodes)), expected)


def typed(*statuses: str) -> Conclusion:
    """`jaxport lookup datatypes` of a function whose modes came out so in one type."""
    modes = tuple(TypedMode(mode, status) for mode, status in zip(("jax/jit", "tf/jit"), statuses, strict=False))
    return datatypes.conclude([TypedFunction(name="f", rows=(TypedRow(dtype="float16", modes=modes),))])


def aligned(**level: Any) -> Conclusion:
    """`jaxport hlo --expect-equal algebraic` of a pair of whose level that is said; without anything it has none."""
    return hlo.conclude([pair_of(**level)], "algebraic")


def pair_of(**level: Any) -> dict[str, Any]:
    """A pair of programs with one level."""
    return {"name": "port", "levels": {"algebraic": level} if level else {}, "targets": {}}


def on_target(equal: bool | None) -> Conclusion:
    """`jaxport hlo --expect-equal optimized --target` of a pair that is equal here, and so on a device."""
    target = {"tf@jax": None, "jax@jax": None, "equal": equal, "differences": ["another fusion"]}
    pair = {"name": "port", "levels": {"optimized": {"equal": True}}, "targets": {"H100": target}}
    return hlo.conclude([pair], "optimized")


def planned(agrees: bool | None, peak_bytes: int | None = 8, judged: bool = True) -> Conclusion:
    """`jaxport plan` of one layout on one cluster, which was run on CPU devices, or was not."""
    layouts = (PlannedLayout(layout="data", peak_bytes=peak_bytes),)
    step = PlannedStep(
        judged=(JudgedLayout("data", agrees=agrees),) if judged else (),
        clusters=(PlannedCluster(target="H100:2", layouts=layouts),),
    )
    return plan.conclude(Planned(steps=(step,)), judged)


def counted(most: int | None, **side: Any) -> Conclusion | None:
    """`jaxport compilation recompiles` of a side, with a limit or without."""
    return recompiles.conclude(RecompilationLedger(sides={"jax": SideLedger(**side)}), most)


def replayed(scale: float = 1.0, refused: str = "") -> Conclusion:
    """`jaxport replay` of a module with one result, which one compiler gives that much larger."""
    expected = np.ones(2, np.float32)
    result = Compared("r", (2,), "float32", {HERE: difference(expected * np.float32(scale), expected, None)})
    return replay.conclude([Replayed("m", "", "", (result,), {HERE: refused} if refused else {})], [{}])


def tried(*ports: str) -> Conclusion:
    """`jaxport lookup gotchas --run` of controls whose right port came out so."""
    entry: Any = SimpleNamespace(id="theme/name")
    return gotchas.conclude([Trial(entry, None, Attempt(verdict)) for verdict in ports])


def diagnosed(*severities: str, not_traced: str = "") -> Conclusion:
    """`jaxport doctor --strict` of a model with such findings."""
    findings = tuple(Finding(severity, "compilation", "MaxPool", "") for severity in severities)  # type: ignore[arg-type]
    return doctor.conclude(Diagnosis(target="model.keras", kind="keras", findings=findings, not_traced=not_traced))


def of_line(*sources: str) -> Conclusion:
    """`jaxport explain profile --line` of kernels that come from these lines."""
    kernels = tuple(ProfiledKernel(sources=(source,)) for source in sources)
    return profile.conclude(ReadProfile(kernels=kernels), "model.py:8")


def returned(leaves: int, *changed_leaves: str) -> Conclusion:
    """`jaxport weights --back` of weights of which these were changed."""
    return weights.concluded_back(Returned(leaves, changed_leaves, (), ()))


def tuned(reason: str) -> Any:
    return SimpleNamespace(reason=reason, options={})


def on_gpu(gates: Figure | None = None, reason: str = "") -> Conclusion:
    """`jaxport bench gpu-suite` whose last run has these gates, or failed."""
    experiments = [MeasuredExperiment(figures=(Figure(GATES_FIGURE, value=5),), task=task.name) for task in TASKS[1:]]
    last = MeasuredExperiment(
        figures=() if reason else (gates or Figure(GATES_FIGURE, value=5),), reason=reason, task=TASKS[0].name
    )
    return gpu_suite.conclude(MeasuredRow(1, "gpu", None, (*experiments, last)))
