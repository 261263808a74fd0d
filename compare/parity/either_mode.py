"""A leaf that is held to the float64 reference, or to TensorFlow's other mode where its own modes disagree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from compare.parity import messages
from compare.parity.bands import Scales
from compare.parity.evidence import Evidence
from compare.parity.holding import Held
from compare.parity.messages import Place
from compare.parity.own_modes import disagreement, found_in_double, held_elsewhere, other_leaf, other_scales
from compare.record.vocabulary import PASS
from workloads._spec import Arrays

HoldLeaf = Callable[[Arrays, Arrays, Scales, str], list[Held]]
"""(the port's leaves, what is expected, what errors are relative to, why it is held to that) -> comparisons."""


def hold_to_either(
    evidence: Evidence, place: Place, port: Arrays, expected: Arrays, scales: Scales, hold_leaf: HoldLeaf, told: str
) -> list[Held]:
    """A leaf against the reference; where it fails, against the other mode, and against the reference elsewhere.

    Args:
      evidence: has TensorFlow's runs.
      place: what is compared.
      port: the leaves of the port.
      expected: those of the reference.
      scales: what errors are relative to.
      hold_leaf: compares one leaf.
      told: why it is held to what is expected; empty for the reference itself.
    """
    held = hold_leaf(port, expected, scales, told)
    pass_, case, leaf = place.pass_, place.case, place.leaf
    where = disagreement(evidence, pass_, case, leaf)
    if where is None or not held or leaf not in port or port[leaf].shape != where.shape:
        return held
    if all_hold(held):
        return [replace(one, finding=found_in_double(evidence, one.place, where, other=False)) for one in held]
    kept, kept_scales = held_elsewhere(evidence, pass_, case, leaf, where)
    rest = {**port, leaf: np.where(where, 0, port[leaf]).astype(port[leaf].dtype)}
    if not all_hold(hold_leaf(rest, kept, kept_scales, "")):
        return held
    other = {**expected, leaf: other_leaf(evidence, pass_, case, leaf)}
    follows = messages.follows(evidence.otherwise[pass_, case].mode)
    there = hold_leaf(port, other, other_scales(evidence, pass_, case), follows)
    if not all_hold(there):
        return held
    return [replace(one, finding=found_in_double(evidence, one.place, where, other=True)) for one in there]


def all_hold(held: Iterable[Held]) -> bool:
    """Whether every comparison passes."""
    return all(comparison.verdict == PASS for comparison in held)
