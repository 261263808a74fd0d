"""Judges the port at other sizes than its own: a port that holds for a batch of 8 alone is wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

from compare.errors import RequestError
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_others
from compare.parity import failure_at_size, messages, unjudged_at_size, with_sizes
from compare.parity.measure import largest
from compare.progress import Reporter
from compare.prove.both_sides import BothSides
from compare.prove.judging import judge_gates
from compare.prove.refused_cases import collect_accepted
from compare.record.parity_part import AtSize, Parity
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.record.workload_part import Failure
from compare.sides.pool import Pool
from workloads.core.dimensions import Dimensions
from workloads.core.modes import JAX, PORT, TF, TF_EAGER, TF_JIT, Mode

MODES = (TF_EAGER, TF_JIT, PORT)
"""The modes that run at other sizes: the others are judged at the workload's own size."""

Ordinary = dict[tuple[str, str], float]
"""(pass, leaf) -> the largest value at the workload's own size."""

Judged = tuple[AtSize, Parity | None]
"""A size and its own parity; None where nothing could be compared."""


def with_others(sides: BothSides, parity: Parity, scratch: Path) -> Parity:
    """The parity with that of each other size, both sides built anew. A port that fails at its own size is not judged.

    Raises:
      RequestError: the workload's code fails.
    """
    if parity.verdict == FAIL:
        return parity
    instance = sides.instance
    ordinary = _ordinary(sides)
    verdicts = [
        _refuse(other, dimensions)
        if isinstance(other, str)
        else judge_at(sides.pool, other, dimensions, sides.reporter, MODES, ordinary)
        for other, dimensions in zip(prepare_others(instance, scratch), instance.others, strict=True)
    ]
    return with_sizes(parity, verdicts, bool(instance.others))


def _refuse(reason: str, dimensions: Dimensions) -> Judged:
    return AtSize(dimensions, NOT_APPLICABLE, reason), None


def _ordinary(sides: BothSides) -> Ordinary:
    largest_of: Ordinary = defaultdict(float)
    for (side, pass_, case), arrays in sides.doubles.arrays.items():
        if side == TF and case in sides.instance.loading.cases:
            for leaf, array in arrays.items():
                largest_of[pass_, leaf] = max(largest_of[pass_, leaf], largest([array]))
    return largest_of


def judge_at(
    pool: Pool,
    instance: Prepared,
    dimensions: Dimensions,
    reporter: Reporter,
    modes: Collection[Mode] = MODES,
    ordinary: Ordinary | None = None,
) -> Judged:
    """The port at a size that `prepare_others` drew, both sides built for it; what TensorFlow refuses is not judged.

    Raises:
      BadTarget: the function that was named for a side does not exist.
    """
    reporter.step(f"at {instance.at}")
    (evidence,) = collect_accepted(pool, instance, reporter, modes)
    sides = evidence.sides
    if reason := _find_reason(sides.failures, TF):
        return _refuse(reason, dimensions)
    if reason := _find_reason(sides.failures, JAX) or _find_other_structure(sides):
        return AtSize(dimensions, FAIL, messages.fails_at_size(sides.instance.title, reason)), None
    parity = judge_gates(sides.with_doubles(), ordinary)
    if reason := failure_at_size(parity):
        return AtSize(dimensions, FAIL, reason), parity
    if reason := unjudged_at_size(parity):
        return AtSize(dimensions, NOT_JUDGED, reason), parity
    return AtSize(dimensions, PASS), parity


def _find_reason(failures: Sequence[Failure], side: str) -> str:
    return next((f"{failure.doing}: {failure.reason}" for failure in failures if failure.side == side), "")


def _find_other_structure(sides: BothSides) -> str:
    try:
        sides.check_structure()
    except RequestError as error:
        return str(error)
    return ""
