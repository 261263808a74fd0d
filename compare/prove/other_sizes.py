"""The port at other sizes than its own: what holds for a batch of 8 alone is no port."""

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
"""Enough to tell: what else a mode may do, it does at the workload's own size."""

Ordinary = dict[tuple[str, str], float]
"""(pass, leaf) -> the largest value at the workload's own size."""

Judged = tuple[AtSize, Parity | None]
"""A size and its own parity; None where nothing could be compared."""


def with_others(
    pool: Pool,
    parity: Parity,
    prepared: Prepared,
    doubles: Doubles,
    scratch: Path,
    reporter: Reporter,
) -> Parity:
    """The parity with that of each other size, both sides built anew; asked of a port that agrees at its own size.

    Args:
      pool: has the sides.
      parity: that of the workload's own size.
      prepared: the workload at its own size.
      doubles: those of its own size: a gradient that vanishes at another one is rounding beside what it is here.
      scratch: where arrays are drawn into.
      reporter: shows every size.

    Raises:
      RequestError: the workload's code fails.
    """
    if parity.verdict == FAIL:
        return parity
    ordinary = _ordinary(doubles, prepared)
    judged = [
        _refused(drawn, at) if isinstance(drawn, str) else judged_at(pool, drawn, at, reporter, MODES, ordinary)
        for drawn, at in zip(prepare_others(prepared, scratch), prepared.others, strict=True)
    ]
    return with_sizes(parity, judged, bool(prepared.others))


def _refused(reason: str, dimensions: Dimensions) -> Judged:
    return AtSize(dimensions, NOT_APPLICABLE, reason), None


def _ordinary(doubles: Doubles, prepared: Prepared) -> Ordinary:
    largest_of: Ordinary = defaultdict(float)
    for (side, pass_, case), arrays in doubles.arrays.items():
        if side == "tf" and case in prepared.loading.cases:
            for leaf, array in arrays.items():
                largest_of[pass_, leaf] = max(largest_of[pass_, leaf], largest([array]))
    return largest_of


def judged_at(
    pool: Pool,
    prepared: Prepared,
    dimensions: Dimensions,
    reporter: Reporter,
    modes: Collection[Mode] = MODES,
    ordinary: Ordinary | None = None,
) -> Judged:
    """The port at a size that `prepare_others` drew, both sides built for it; what TensorFlow refuses is not judged.

    Args:
      pool: has the sides.
      prepared: the workload at that size.
      dimensions: those that differ from the workload's own.
      reporter: shows the size.
      modes: that are judged.
      ordinary: the largest values at the workload's own size, where they are known.

    Raises:
      BadTarget: the function that was named for a side does not exist.
    """
    reporter.step(f"at {prepared.at}")
    failures: list[Failure] = []

    def collect(name: str, prepared: Prepared) -> Collected:
        return both_sides.evidence_of(pool, name, prepared, reporter, modes)

    collected, prepared, _ = refused_cases.collect_accepted(prepared, collect, failures)
    if reason := _said(failures, "tf"):
        return _refused(reason, dimensions)
    if reason := _said(failures, "jax") or _structure(collected, prepared):
        return AtSize(dimensions, FAIL, messages.fails_at_size(prepared.title, reason)), None
    doubles = both_sides.doubles_of(pool, collected, prepared, failures)
    parity = judging.parity_of(pool, prepared, collected, doubles, failures, ordinary)
    if reason := failure_at_size(parity):
        return AtSize(dimensions, FAIL, reason), parity
    if reason := unjudged_at_size(parity):
        return AtSize(dimensions, NOT_JUDGED, reason), parity
    return AtSize(dimensions, PASS), parity


def _said(failures: Sequence[Failure], side: str) -> str:
    return next((f"{failure.doing}: {failure.reason}" for failure in failures if failure.side == side), "")


def _structure(collected: Mapping[str, Collected], prepared: Prepared) -> str:
    try:
        both_sides.check_structure(collected, prepared)
    except RequestError as error:
        return str(error)
    return ""
