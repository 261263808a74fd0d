"""Checks that several training steps as one program give what as many single steps give."""

from __future__ import annotations

from compare.inputs.at_size import Prepared
from compare.progress import Reporter
from compare.prove import cells
from compare.prove.collect import FLOAT32, Collected, attempt
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.workers import failure_of
from workloads.core.spec import Arrays
from workloads.protocol.framework import UNROLLED, WEIGHTS
from workloads.protocol.trajectory import LOSS, kept_as

SINGLE = "jit"
"""The mode of the single steps that loops are compared with: programs that are compiled alike round alike."""


def check(side: Side, instance: Prepared, delivery: Collected, reporter: Reporter) -> list[Failure]:
    """The modes whose loop leaves other losses or weights than so many single steps of the same side. Never raises."""
    try:
        return _check(side, instance, delivery, reporter)
    except SideError as error:
        delivery.lost = error.lost
        return [failure_of(error)]


def _check(side: Side, instance: Prepared, delivery: Collected, reporter: Reporter) -> list[Failure]:
    steps = instance.loading.unrolled
    reporter.detail(f"{side.name} {steps} single steps")
    trajectory = attempt(delivery, lambda: requests.trajectory(side, SINGLE, FLOAT32, (steps,)))
    if trajectory is None:
        return []
    expected = single_steps(trajectory, steps)
    failures: list[Failure] = []
    case = instance.loading.cases[0]
    for mode in delivery.modes.get(UNROLLED, ()):
        reporter.detail(f"{side.name}/{mode} {steps} steps in one program")
        outputs = attempt(delivery, lambda mode=mode: requests.outputs(side, mode, UNROLLED, case, FLOAT32))
        if outputs is not None and (reason := difference(outputs, expected, steps)):
            failures.append(Failure(side.name, f"{side.name}/{mode} unrolled", reason))
    return failures


def single_steps(trajectory: Arrays, steps: int) -> Arrays:
    """The results of single steps by the names of the loop's results: losses [steps], and the last weights.

    Args:
      trajectory: a training run with a checkpoint after so many steps.
    """
    checkpoints = {checkpoint: array for name, array in trajectory.items() if (checkpoint := kept_as(name)) is not None}
    weights = {
        WEIGHTS + checkpoint.path: array for checkpoint, array in checkpoints.items() if checkpoint.step == steps
    }
    return {LOSS: trajectory[LOSS][:steps], **weights}


def difference(actual: Arrays, expected: Arrays, steps: int) -> str:
    """How the results of a loop differ from those of single steps; empty where they agree as two compilers do.

    Args:
      actual: results of the loop by leaf.
    """
    missing = sorted(expected.keys() - actual.keys())
    if missing:
        return f"expected {missing[0]} among the results of {steps} steps in one program, found none"
    errors = cells.errors(actual, expected)
    if cells.agrees(max(errors), cells.usual(errors)):
        return ""
    return f"{steps} steps in one program differ from as many single steps by {max(errors):.2g} of the largest value"
