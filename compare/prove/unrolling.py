"""Several training steps as one program: they give what as many single steps give, or something is not carried."""

from __future__ import annotations

from compare.inputs.at_size import Prepared
from compare.progress import Reporter
from compare.prove import cells
from compare.prove.collect import FLOAT32, Collected, attempt
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.workers import failure_of
from workloads._framework import UNROLLED, WEIGHTS
from workloads._spec import Arrays
from workloads._trajectory import LOSS, kept_as

SINGLE = "jit"
"""The mode whose single steps every other one's loop is held against: what is compiled alike rounds alike."""


def check(side: Side, prepared: Prepared, collected: Collected, reporter: Reporter) -> list[Failure]:
    """The modes whose loop leaves other losses or weights than so many single steps of the same side. Never raises.

    Args:
      side: who is asked; the workload is loaded.
      prepared: the workload at the size that is timed.
      collected: gets what the side fails at.
      reporter: shows every step.
    """
    try:
        return _check(side, prepared, collected, reporter)
    except SideError as error:
        collected.lost = error.lost
        return [failure_of(error)]


def _check(side: Side, prepared: Prepared, collected: Collected, reporter: Reporter) -> list[Failure]:
    steps = prepared.loading.unrolled
    reporter.step(f"{side.name} {steps} single steps")
    trained = attempt(collected, lambda: requests.trajectory(side, SINGLE, FLOAT32, (steps,)))
    if trained is None:
        return []
    expected = single_steps(trained, steps)
    failures: list[Failure] = []
    case = prepared.loading.cases[0]
    for mode in collected.modes.get(UNROLLED, ()):
        reporter.step(f"{side.name}/{mode} {steps} steps in one program")
        unrolled = attempt(collected, lambda mode=mode: requests.outputs(side, mode, UNROLLED, case, FLOAT32))
        if unrolled is not None and (reason := difference(unrolled, expected, steps)):
            failures.append(Failure(side.name, f"{side.name}/{mode} unrolled", reason))
    return failures


def single_steps(trained: Arrays, steps: int) -> Arrays:
    """What single steps leave, under the names of the loop's results: losses [steps], and the weights after the last.

    Args:
      trained: a training run with a checkpoint after so many steps.
      steps: of the loop.
    """
    kept = {known: array for name, array in trained.items() if (known := kept_as(name)) is not None}
    weights = {WEIGHTS + known.path: array for known, array in kept.items() if known.step == steps}
    return {LOSS: trained[LOSS][:steps], **weights}


def difference(unrolled: Arrays, expected: Arrays, steps: int) -> str:
    """How the results of a loop differ from those of single steps; empty where they agree as two compilers do.

    Args:
      unrolled: results of the loop by leaf.
      expected: those of single steps.
      steps: of the loop.
    """
    missing = sorted(expected.keys() - unrolled.keys())
    if missing:
        return f"expected {missing[0]} among the results of {steps} steps in one program, found none"
    errors = cells.errors(unrolled, expected)
    if cells.agrees(max(errors), cells.usual(errors)):
        return ""
    return f"{steps} steps in one program differ from as many single steps by {max(errors):.2g} of the largest value"
