"""How every command that judges can end."""

from __future__ import annotations

from collections.abc import Callable

from concluding import (
    NO_GRADIENT,
    OUT,
    REASON,
    aligned,
    calibrated,
    changed,
    climbed,
    clustered,
    confirmed,
    counted,
    diagnosed,
    explained,
    interrupted_watch,
    left,
    of_line,
    on_gpu,
    on_target,
    pair_of,
    planned,
    replayed,
    returned,
    run,
    searched,
    surveyed,
    tried,
    tuned,
    typed,
    whole,
)

from compare.commands import (
    ablate,
    bugreport,
    clusters,
    distribute,
    export,
    figures,
    gpu_suite,
    grappler,
    hlo,
    launch,
    limits,
    ops,
    replay,
    tune,
    weights,
)
from compare.commands import record as record_
from compare.commands._conclusion import LEFT, Conclusion
from compare.figures.gpu_runs import GATES_FIGURE
from compare.history.moves import NOT_COMPARED, REGRESSED, UNCHANGED
from compare.prove.locating import AGREES, DEPARTS, FAILED, NONE
from compare.record.ablation_part import BIT_EQUAL, UNJUDGED, Ablation, LeftOut
from compare.record.clustering_part import Clustering, Launched
from compare.record.datatypes_part import DIFFERS, HOLDS, LOST, REFUSED
from compare.record.datatypes_part import UNJUDGED as UNJUDGED_TYPE
from compare.record.diagnosis_part import BLOCKER
from compare.record.distribution_part import Distribution
from compare.record.figure_part import Figure, MeasuredExperiment
from compare.record.grappler_part import Optimization, ResultsHeld
from compare.record.limit_part import Limit
from compare.record.replay_part import ReplayedDump, ReplayedModule
from compare.record.rung_part import NOT_REACHED
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.record.workload_part import Failure
from compare.report.verdicts import INCOMPLETE

LACKING = (Failure("jax", "profile", "lost"),)
RUN = {
    "every gate holds": (lambda: run(PASS, PASS), PASS),
    "a gate fails": (lambda: run(PASS, FAIL), FAIL),
    "a gate is not judged": (lambda: run(PASS, NOT_JUDGED), NOT_JUDGED),
    "fail beside not judged": (lambda: run(NOT_JUDGED, FAIL), FAIL),
    "nothing was judged": (lambda: run(PASS, None), INCOMPLETE),
    "a result is missing": (lambda: run(PASS, failures=LACKING), INCOMPLETE),
    "no workload": (run, INCOMPLETE),
}
SIZES = {
    "parity holds": (lambda: surveyed(PASS, NOT_APPLICABLE), PASS),
    "parity fails at a size": (lambda: surveyed(PASS, FAIL, None), FAIL),
    "a size is not judged": (lambda: surveyed(PASS, NOT_JUDGED), NOT_JUDGED),
    "a size was not reached": (lambda: surveyed(PASS, None), NOT_JUDGED),
    "interrupted": (lambda: surveyed(PASS, interrupted=True), INCOMPLETE),
    "no size": (surveyed, INCOMPLETE),
}
CHANGES = {
    "unchanged": (lambda: changed(UNCHANGED), PASS),
    "seen once": (lambda: changed(REGRESSED), PASS),
    "one of two not compared": (lambda: changed(UNCHANGED, NOT_COMPARED), PASS),
    "confirmed": (confirmed, FAIL),
    "none compared": (lambda: changed(NOT_COMPARED), NOT_JUDGED),
    "no ratio": (changed, NOT_JUDGED),
}
Scenario = tuple[Callable[[], Conclusion | None], str | None]

SCENARIOS: dict[str, dict[str, Scenario]] = {
    "run": RUN,
    "bench ports": RUN,
    "watch": RUN | {"interrupted before the first judgement": (interrupted_watch, NOT_JUDGED)},
    "report html": RUN,
    "locate": {
        "agrees": (lambda: searched(AGREES, AGREES), PASS),
        "departs": (lambda: searched(AGREES, DEPARTS), FAIL),
        "departs beside not searched": (lambda: searched(NONE, DEPARTS), FAIL),
        "not searched": (lambda: searched(NONE, NONE), NOT_JUDGED),
        "agrees beside not searched": (lambda: searched(AGREES, NONE), NOT_JUDGED),
        "agrees beside a program that fails": (lambda: searched(AGREES, FAILED), NOT_JUDGED),
        "agrees, without a gradient": (lambda: searched(AGREES, NONE, reason=NO_GRADIENT), PASS),
        "nothing but a gradient that is none": (lambda: searched(NONE, reason=NO_GRADIENT), NOT_JUDGED),
        "no pass": (searched, NOT_JUDGED),
    },
    "next": {
        "every rung holds": (lambda: climbed(PASS, NOT_APPLICABLE, PASS), PASS),
        "a rung fails": (lambda: climbed(PASS, FAIL, NOT_REACHED), FAIL),
        "a rung is not judged": (lambda: climbed(PASS, NOT_JUDGED, PASS), NOT_JUDGED),
        "fail beside not judged": (lambda: climbed(NOT_JUDGED, FAIL), FAIL),
    },
    "init": {
        "written whole, and it holds": (lambda: whole(PASS), PASS),
        "written whole, and a gate fails": (lambda: whole(FAIL), FAIL),
        "written whole, and a gate is not judged": (lambda: whole(NOT_JUDGED), NOT_JUDGED),
        "places are left, and the rest holds": (lambda: left(PASS), LEFT),
        "places are left, and the rest fails": (lambda: left(FAIL), LEFT),
        "places are left, and the rest is not judged": (lambda: left(NOT_JUDGED), LEFT),
    },
    "explain ports": {
        "told": (lambda: explained(interrupted=False), None),
        "interrupted": (lambda: explained(interrupted=True), INCOMPLETE),
    },
    "crossing sizes": SIZES,
    "crossing blocks": SIZES,
    "tune options": {
        "the search ended": (lambda: tune.conclude({"port": tuned("")}), PASS),
        "parity fails": (lambda: tune.conclude({"port": tuned(REASON)}), FAIL),
    },
    "tune ablate": {
        "bit-equal": (lambda: ablate.conclude({"port": Ablation(rows=(LeftOut(results=BIT_EQUAL),))}, True), PASS),
        "parity fails": (lambda: ablate.conclude({"port": Ablation(reason=REASON)}, True), FAIL),
        "gates were lost": (
            lambda: ablate.conclude({"port": Ablation(rows=(LeftOut("cse", results=UNJUDGED),))}, True), NOT_JUDGED,
        ),
        "no gates were asked": (
            lambda: ablate.conclude({"port": Ablation(rows=(LeftOut("cse", results=UNJUDGED),))}, False), PASS,
        ),
        "nothing was left out": (lambda: ablate.conclude({"port": Ablation()}, True), NOT_JUDGED),
    },
    "bench calibrate": {
        "as promised": (lambda: calibrated(10), PASS),
        "too few detected": (lambda: calibrated(5), FAIL),
        "a side is missing": (lambda: calibrated(10, modes=1), INCOMPLETE),
        "nothing was timed": (lambda: calibrated(10, modes=0), INCOMPLETE),
    },
    "bench gpu-suite": {
        "all runs are kept": (on_gpu, PASS),
        "a gate does not hold": (lambda: on_gpu(Figure(GATES_FIGURE, reason=REASON)), FAIL),
        "a run failed": (lambda: on_gpu(reason=REASON), INCOMPLETE),
        "recordings are missing": (lambda: gpu_suite.conclude_recordings([REASON]), INCOMPLETE),
        "all sides are recorded": (lambda: gpu_suite.conclude_recordings([]), PASS),
    },
    "hlo": {
        "equal": (lambda: aligned(equal=True), PASS),
        "unequal": (lambda: aligned(equal=False, assumes=(), left_only=1, right_only=2), FAIL),
        "could not be aligned": (lambda: aligned(reason=REASON), NOT_JUDGED),
        "no such level": (aligned, NOT_JUDGED),
        "no pair": (lambda: hlo.conclude([], "algebraic"), NOT_JUDGED),
        "nothing is expected": (lambda: hlo.conclude_unaligned([pair_of(equal=False)]), None),
        "nothing could be compared": (lambda: hlo.conclude_unaligned([pair_of(reason=REASON)]), NOT_JUDGED),
        "equal on the device": (lambda: on_target(True), PASS),
        "unequal on the device": (lambda: on_target(False), FAIL),
        "not compiled for the device": (lambda: on_target(None), NOT_JUDGED),
    },
    "plan": {
        "computes the step": (lambda: planned(agrees=True), PASS),
        "computes something else": (lambda: planned(agrees=False), FAIL),
        "was not run": (lambda: planned(agrees=None), NOT_JUDGED),
        "was not to be run": (lambda: planned(agrees=None, judged=False), PASS),
        "no figures": (lambda: planned(agrees=True, peak_bytes=None), INCOMPLETE),
    },
    "compilation recompiles": {
        "no limit": (lambda: counted(None, compilations=3, failed=0), None),
        "within": (lambda: counted(3, compilations=3, failed=0), PASS),
        "more": (lambda: counted(2, compilations=3, failed=0), FAIL),
        "calls failed": (lambda: counted(3, compilations=0, failed=1), NOT_JUDGED),
        "not counted": (lambda: counted(3, failed=0), NOT_JUDGED),
        "not called": (lambda: counted(None, error=REASON), INCOMPLETE),
    },
    "distribute": {
        "holds": (lambda: distribute.conclude([Distribution(name="port", verdict=PASS)]), PASS),
        "fails": (lambda: distribute.conclude([Distribution(verdict=PASS), Distribution(verdict=FAIL)]), FAIL),
        "no strategy": (lambda: distribute.conclude([Distribution(verdict=NOT_JUDGED)]), NOT_JUDGED),
        "no verdict": (lambda: distribute.conclude([Distribution()]), NOT_JUDGED),
    },
    "lookup datatypes": {
        "holds": (lambda: typed(HOLDS, REFUSED), PASS),
        "differs": (lambda: typed(LOST, DIFFERS), FAIL),
        "lost": (lambda: typed(HOLDS, LOST), INCOMPLETE),
        "refused by all": (lambda: typed(REFUSED, REFUSED), NOT_JUDGED),
        "the port refuses": (lambda: typed(REFUSED, HOLDS), NOT_JUDGED),
        "the port is not judged": (lambda: typed(UNJUDGED_TYPE, HOLDS), NOT_JUDGED),
    },
    "compilation clusters": {
        "enough": (lambda: clustered("a", ""), PASS),
        "too few": (lambda: clustered("a", "", ""), FAIL),
        "no graph": (lambda: clusters.conclude(Clustering(name="f"), 0.0), NOT_JUDGED),
        "no node": (lambda: clustered(expected=0.0), NOT_JUDGED),
    },
    "lookup limits": {
        "as known": (lambda: limits.conclude([Limit("a", expected={"tf/jit": "same"})]), PASS),
        "otherwise": (lambda: limits.conclude([Limit("a", unexpected="tf/jit: expected same, found other")]), FAIL),
        "nothing is known": (lambda: limits.conclude([Limit("a")]), NOT_JUDGED),
    },
    "lookup figures": {
        "ran": (lambda: figures.conclude([MeasuredExperiment()]), PASS),
        "failed": (lambda: figures.conclude([MeasuredExperiment(), MeasuredExperiment(reason=REASON)]), INCOMPLETE),
        "no experiment": (lambda: figures.conclude([]), NOT_JUDGED),
    },
    "compilation grappler": {
        "bit-equal": (lambda: grappler.conclude(Optimization(results=ResultsHeld(bit_equal=True))), PASS),
        "other bits": (lambda: grappler.conclude(Optimization(results=ResultsHeld())), FAIL),
        "not compared": (lambda: grappler.conclude(Optimization()), NOT_JUDGED),
    },
    "compilation launch": {
        "ended with 0": (lambda: launch.conclude(Launched(exit_code=0)), PASS),
        "ended with 3": (lambda: launch.conclude(Launched(exit_code=3)), FAIL),
        "killed": (lambda: launch.conclude(Launched(signal="SIGKILL")), FAIL),
    },
    "explain profile": {
        "a kernel": (lambda: of_line("model.py:8", "model.py:9"), PASS),
        "no kernel": (lambda: of_line("model.py:9"), FAIL),
        "an empty profile": (of_line, FAIL),
    },
    "bugreport": {
        "whole": (lambda: bugreport.conclude(OUT, 0), PASS),
        "a part is missing": (lambda: bugreport.conclude(OUT, 2), INCOMPLETE),
    },
    "export": {
        "whole": (lambda: export.conclude(OUT, ()), PASS),
        "a form is missing": (lambda: export.conclude(OUT, LACKING), INCOMPLETE),
    },
    "record": {
        "whole": (lambda: record_.conclude(OUT, ()), PASS),
        "a part is missing": (lambda: record_.conclude(OUT, LACKING), INCOMPLETE),
    },
    "replay": {
        "the same": (replayed, PASS),
        "other results": (lambda: replayed(scale=2.0), FAIL),
        "refused": (lambda: replayed(refused="unknown custom call"), FAIL),
        "no module": (lambda: replay.conclude([], []), NOT_JUDGED),
        "a dump": (lambda: replay.concluded_dump(ReplayedDump(modules=(ReplayedModule(),))), PASS),
        "a dump with a module that fails": (
            lambda: replay.concluded_dump(ReplayedDump(modules=(ReplayedModule(failure=REASON),))), FAIL,
        ),
        "a dump without a module": (lambda: replay.concluded_dump(ReplayedDump()), NOT_JUDGED),
    },
    "history compare": CHANGES,
    "history show": CHANGES,
    "weights": {
        "carried": (lambda: weights.conclude(0, OUT), PASS),
        "does not fit": (lambda: weights.conclude(3, OUT), FAIL),
        "carried back": (lambda: returned(2), PASS),
        "trained since": (lambda: returned(2, "dense/kernel"), FAIL),
        "carried back nothing": (lambda: returned(0), FAIL),
    },
    "doctor": {
        "no blocker": (lambda: diagnosed("note"), PASS),
        "a blocker": (lambda: diagnosed("note", BLOCKER), FAIL),
        "not traced": (lambda: diagnosed(not_traced=REASON), NOT_JUDGED),
    },
    "lookup gotchas": {
        "as said": (lambda: tried(PASS, PASS), PASS),
        "otherwise": (lambda: tried(PASS, FAIL, ""), FAIL),
        "a side was lost": (lambda: tried(PASS, ""), NOT_JUDGED),
        "a gate is not judged": (lambda: tried(NOT_JUDGED), NOT_JUDGED),
        "no entry": (tried, NOT_JUDGED),
    },
    "lookup ops": {
        "none is missing": (lambda: ops.conclude("model", ()), PASS),
        "one is missing": (lambda: ops.conclude("model", ("MaxPoolWithArgmax",)), FAIL),
    },
}  # fmt: skip
"""By command, how it can end: what its conclusion is made of, and the verdict; None where nothing was to be judged."""
