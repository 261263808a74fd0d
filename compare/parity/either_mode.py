"""Compare a leaf with the float64 reference, or with TensorFlow's other mode where its own modes disagree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from compare.parity import messages
from compare.parity.bands import Scales
from compare.parity.evidence import Evidence
from compare.parity.holding import Held
from compare.parity.messages import Place
from compare.parity.own_modes import disagreement, found_in_double, held_elsewhere, other_leaf, other_scales
from compare.record.vocabulary import PASS
from workloads.core.spec import Arrays


@dataclass(frozen=True)
class RunPair:
    """A run of the port and what it is compared with.

    Attributes:
      port: the leaves of the port.
      expected: the leaves that they should equal.
      scales: errors are relative to these.
      reason: why the expected leaves are right; empty for the reference itself.
    """

    port: Arrays
    expected: Arrays
    scales: Scales
    reason: str = ""


def hold_to_either(
    evidence: Evidence, place: Place, runs: RunPair, hold_leaf: Callable[[RunPair], list[Held]]
) -> list[Held]:
    """Compare a leaf with the reference; where it fails, with the other mode, and with the reference elsewhere."""
    comparisons, port = hold_leaf(runs), runs.port
    pass_, case, leaf = place.pass_, place.case, place.leaf
    where = disagreement(evidence, pass_, case, leaf)
    if where is None or not comparisons or leaf not in port or port[leaf].shape != where.shape:
        return comparisons
    if all_hold(comparisons):
        return [replace(one, finding=found_in_double(evidence, one.place, where, other=False)) for one in comparisons]
    elsewhere, scales_elsewhere = held_elsewhere(evidence, pass_, case, leaf, where)
    rest = {**port, leaf: np.where(where, 0, port[leaf]).astype(port[leaf].dtype)}
    if not all_hold(hold_leaf(RunPair(rest, elsewhere, scales_elsewhere))):
        return comparisons
    other = {**runs.expected, leaf: other_leaf(evidence, pass_, case, leaf)}
    follows = messages.follows(evidence.otherwise[pass_, case].mode)
    there = hold_leaf(RunPair(port, other, other_scales(evidence, pass_, case), follows))
    if not all_hold(there):
        return comparisons
    return [replace(one, finding=found_in_double(evidence, one.place, where, other=True)) for one in there]


def all_hold(comparisons: Iterable[Held]) -> bool:
    """Whether every comparison passes."""
    return all(comparison.verdict == PASS for comparison in comparisons)
