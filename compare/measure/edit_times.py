"""Measures how an edit changes the time of a function with autoclustering, in pairs of fresh processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from compare.bench import pairs, stats, timing
from compare.bench.pairs import Measured, Timer
from compare.inputs.at_size import Prepared
from compare.progress import Reporter
from compare.record.clustering_part import EditTime
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from compare.sides.workers import WorkerSet
from workloads.core.modes import TF

BEFORE, AFTER, AGAIN = "before", "after", "before, again"
"""The processes of one pair: the last is the control, identical code in another process."""

_MODE = "autocluster"


@dataclass(frozen=True)
class EditPlan:
    """How many pairs of processes, seconds of timed calls in each, the order's seed, and the interpreter."""

    pairs: int
    budget_s: float = 2.0
    seed: int = 0
    python: str | None = None
    timeout_s: float = 300


def time_edit(before: Prepared, after: Prepared, plan: EditPlan, scratch: Path, reporter: Reporter) -> EditTime:
    """The ratio of both, or why there is none."""
    reporter.stage("times of both", plan.pairs)
    loadings = {BEFORE: before, AFTER: after, AGAIN: before}
    measurements: list[Measured[str]] = []
    for pair in range(plan.pairs):
        reporter.step(f"pair {pair + 1}")
        try:
            measurements.append(_pair(loadings, plan, pair, scratch))
        except SideError as error:
            return EditTime(pairs=pair, withheld=error.reason)
        if measurements[-1].failures:
            return EditTime(pairs=pair, withheld="; ".join(measurements[-1].failures.values()))
    return judge(pairs.samples_of(measurements))


def judge(samples: Mapping[str, Sequence[Sequence[float]]]) -> EditTime:
    """The verdict on times by process, pair and round.

    Args:
      samples: seconds of BEFORE, AFTER and AGAIN.
    """
    edit, null = (timing.pair_ratio(samples, name, BEFORE) for name in (AFTER, AGAIN))
    assert edit is not None and null is not None, "a pair in which a process failed is none"
    edit_time = EditTime(pairs=edit.pairs, null=null.ratio, null_ci95=null.ci95)
    if edit.pairs < stats.LEAST_PAIRS:
        return EditTime(pairs=edit.pairs, withheld=f"an interval needs {stats.LEAST_PAIRS} pairs of processes")
    if stats.excluding_one(null):
        return replace(edit_time, withheld="identical code in two processes did not take equal times")
    verdict = stats.verdict(edit, stats.equivalence_margin([null]))
    return replace(edit_time, ratio=edit.ratio, ci95=edit.ci95, verdict=verdict)


def _pair(loadings: Mapping[str, Prepared], plan: EditPlan, pair: int, scratch: Path) -> Measured[str]:
    with ExitStack() as stack:
        sides = {name: _start(stack, plan, scratch) for name in pairs.spawn_order(list(loadings), pair, plan.seed)}
        for name, side in sides.items():
            requests.load(side, loadings[name].loading)
            requests.prepare(side, _MODE)
        arms = [Timer(name, partial(requests.time_round, side, _MODE)) for name, side in sides.items()]
        # A seed of its own: what an order leaves unbalanced must not repeat from pair to pair.
        return pairs.measure(arms, budget_s=plan.budget_s, seed=plan.seed + pair, failing=SideError)


def _start(stack: ExitStack, plan: EditPlan, scratch: Path) -> Side:
    workers = stack.enter_context(WorkerSet(lambda name: LiveSide(name, scratch, plan.python, plan.timeout_s)))
    return workers.get(TF)
