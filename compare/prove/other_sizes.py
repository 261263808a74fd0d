"""Judges the port at other sizes than its own: a port that holds for a batch of 8 alone is wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from compare.errors import RequestError
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_others
from compare.parity import failure_at_size, messages, unjudged_at_size, with_sizes
from compare.parity.measure import largest
from compare.progress import Reporter
from compare.prove import both_sides, judging, refused_cases
from compare.prove.collect import Collected
from compare.prove.oracle import Doubles
from compare.record.parity_part import AtSize, Parity
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.record.workload_part import Failure
from compare.sides.pool import Pool
from workloads import _modes
from workloads._dimensions import Dimensions
from workloads._modes import Mode

MODES = (_modes.TF_EAGER, _modes.TF_JIT, _modes.PORT)
"""The modes that run at other sizes: the others are judged at the workload's own size."""

Ordinary = dict[tuple[str, str], float]
"""(pass, leaf) -> the largest value at the workload's own size."""

Judged = tuple[AtSize, Parity | None]
"""A size and its own parity; None where nothing could be compared."""


def with_others(
    pool: Pool,
    parity: Parity,
    instance: Prepared,
    doubles: Doubles,
    scratch: Path,
    reporter: Reporter,
) -> Parity:
    """The parity with that of each other size, both sides built anew. A port that fails at its own size is not judged.

    Args:
      pool: has the sides.
      parity: that of the workload's own size.
      instance: the workload at its own size.
      doubles: those of its own size: a gradient that vanishes at another one is rounding beside what it is here.
      scratch: where arrays are drawn into.
      reporter: shows every size.

    Raises:
      RequestError: the workload's code fails.
    """
    if parity.verdict == FAIL:
        return parity
    ordinary = _ordinary(doubles, instance)
    verdicts = [
        _refuse(other, dimensions)
        if isinstance(other, str)
        else judge_at(pool, other, dimensions, reporter, MODES, ordinary)
        for other, dimensions in zip(prepare_others(instance, scratch), instance.others, strict=True)
    ]
    return with_sizes(parity, verdicts, bool(instance.others))


def _refuse(reason: str, dimensions: Dimensions) -> Judged:
    return AtSize(dimensions, NOT_APPLICABLE, reason), None


def _ordinary(doubles: Doubles, instance: Prepared) -> Ordinary:
    largest_of: Ordinary = defaultdict(float)
    for (side, pass_, case), arrays in doubles.arrays.items():
        if side == "tf" and case in instance.loading.cases:
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

    Args:
      pool: has the sides.
      instance: the workload at that size.
      dimensions: those that differ from the workload's own.
      reporter: shows the size.
      modes: that are judged.
      ordinary: the largest values at the workload's own size, where they are known.

    Raises:
      BadTarget: the function that was named for a side does not exist.
    """
    reporter.step(f"at {instance.at}")
    failures: list[Failure] = []

    def collect(name: str, instance: Prepared) -> Collected:
        return both_sides.evidence_of(pool, name, instance, reporter, modes)

    deliveries, instance, _ = refused_cases.collect_accepted(instance, collect, failures)
    if reason := _find_reason(failures, "tf"):
        return _refuse(reason, dimensions)
    if reason := _find_reason(failures, "jax") or _structure(deliveries, instance):
        return AtSize(dimensions, FAIL, messages.fails_at_size(instance.title, reason)), None
    doubles = both_sides.doubles_of(pool, deliveries, instance, failures)
    parity = judging.parity_of(pool, instance, deliveries, doubles, failures, ordinary)
    if reason := failure_at_size(parity):
        return AtSize(dimensions, FAIL, reason), parity
    if reason := unjudged_at_size(parity):
        return AtSize(dimensions, NOT_JUDGED, reason), parity
    return AtSize(dimensions, PASS), parity


def _find_reason(failures: Sequence[Failure], side: str) -> str:
    return next((f"{failure.doing}: {failure.reason}" for failure in failures if failure.side == side), "")


def _structure(deliveries: Mapping[str, Collected], instance: Prepared) -> str:
    try:
        both_sides.check_structure(deliveries, instance)
    except RequestError as error:
        return str(error)
    return ""
