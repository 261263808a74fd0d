"""Refutes supposed cut points by inputs at which their values differ.

A maximum of TensorFlow's `relu6` has the values of the whole `relu6` as long as no value comes to 6. The cases on which
programs are aligned suggest it for a cut point, and an input with larger values refutes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo.align import Alignment
from compare.hlo.pair import Pair
from compare.regions.open_programs import OpenPrograms
from compare.regions.parts import CutPoint, Region

TOLERANCE = 1e-5
"""Relative to the largest value: constants that were rounded to float32 explain less, and another value is farther."""

NOISE = 2.0**-43
"""Relative to the largest value that a region reads: a thousand roundings of float64. Where values cancel, as in the
gradient of a softmax that has nearly converged, the two formulas leave nothing else."""

_Member = tuple[int, int]
"""The side, 0 for the left program, and the id there."""


@dataclass(frozen=True)
class ExactCall:
    """One call of the open regions in float64.

    Attributes:
      results: what both of their programs give.
      sizes: by region, the largest value that it reads.
    """

    results: Pair[Sequence[np.ndarray]]
    sizes: Sequence[float]


Matched = tuple[int, int]
"""Ids in the left and in the right program."""


def find_refuted(
    cuts: Sequence[CutPoint], members: Sequence[Region], programs: OpenPrograms, call: ExactCall
) -> set[Matched]:
    """The values that were supposed to be one, and differ in a call though they are computed from the same arrays.

    Args:
      programs: of these regions, or of identical ones in the same order.
      call: what the programs give in float64 from the same arrays.
    """
    values: list[dict[_Member, np.ndarray]] = [{} for _ in members]
    for side, arrays in enumerate(call.results):
        for (position, output), array in zip(programs.results(side), arrays, strict=True):
            values[position][side, members[position].pieces[side].outputs[output]] = array
    return {
        pair
        for position, region in enumerate(members)
        if region.cut_point is not None
        for pair in _find_apart(cuts[region.cut_point], values[position], NOISE * call.sizes[position])
    }


def without_matches(alignment: Alignment, pairs: Collection[Matched]) -> Alignment:
    """The alignment without these matches."""
    matches = tuple(match for match in alignment.matches if (match.left, match.right) not in pairs)
    return dataclasses.replace(alignment, matches=matches)


def _find_apart(cut: CutPoint, values: Mapping[_Member, np.ndarray], noise: float) -> Iterable[Matched]:
    """The pairs of nodes of a cut point whose values differ, each from the first that it agrees with."""
    group_of = {member: number for number, group in enumerate(_part(cut, values, noise)) for member in group}
    left, right = cut.nodes
    return ((one, other) for one in left for other in right if group_of[0, one] != group_of[1, other])


def _part(cut: CutPoint, values: Mapping[_Member, np.ndarray], noise: float) -> Iterable[list[_Member]]:
    """The nodes of a cut point in groups whose members agree with their first one."""
    rest = [(side, key) for side in (0, 1) for key in cut.nodes[side]]
    while rest:
        alike = [member for member in rest if _agree(values[rest[0]], values[member], noise)]
        yield alike
        rest = [member for member in rest[1:] if member not in alike]


def _agree(one: np.ndarray, other: np.ndarray, noise: float) -> bool:
    if one is other:
        return True
    if one.dtype.kind in "biu" or one.shape != other.shape:
        return np.array_equal(one, other)
    finite = np.isfinite(one)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True) or not np.isfinite(other[finite]).all():
        return False
    scale = np.max(np.abs(one[finite]), initial=0.0)
    return bool(np.max(np.abs(one[finite] - other[finite]), initial=0.0) <= max(TOLERANCE * scale, noise))
