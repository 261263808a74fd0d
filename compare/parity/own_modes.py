"""Where TensorFlow's own modes disagree: at which elements, which of them is right, and which one the port follows.

No port can agree with both. What decides is a run of each in float64: where these agree, numbers decide, and a mode
that gives something else is wrong; where they disagree too, no rounding is the reason, each follows a convention of its
own, and a port may follow either. It has to follow one mode in the whole leaf of a case, and all of them elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from compare.parity.bands import Scales
from compare.parity.evidence import TF_REFERENCE, Evidence
from compare.parity.measure import is_float, largest, pattern, scale_of, unlike, wide
from compare.parity.messages import Place, modes_disagree
from compare.record.parity_part import Disagreement
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD

DISAGREES = 2.0**-12
"""Relative: modes of one function that are further apart than this compute something else; rounding of any kind that
was measured stays below."""


NOTHING = 2.0**-40
"""Relative to the largest value of a call: smaller values are rounding errors of float64 where terms cancel."""


@dataclass(frozen=True)
class Followed:
    """A mode of TensorFlow that a port follows where another one gives something else."""

    mode: str
    finding: Disagreement


def disagreeing(one: np.ndarray, other: np.ndarray, model: float = 0.0) -> np.ndarray:
    """The elements, bool[...], that two modes give unlike values of; arrays of two shapes have none to compare.

    Args:
      one: x[...], of one mode.
      other: x[...], of the other.
      model: the largest value of the call: beside it, what vanishes but for rounding is no answer of either.
    """
    if one.shape != other.shape:
        return np.zeros(one.shape, bool)
    if not is_float(one):
        return np.asarray(one != other)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(wide(one) - wide(other))
        apart = np.isfinite(gap) & (gap > max(DISAGREES * scale_of(one, 0.0), NOTHING * model))
    return apart | (pattern(one) != pattern(other))


def disagreement(evidence: Evidence, pass_: str, case: str, leaf: str) -> np.ndarray | None:
    """Where the float64 runs of TensorFlow's two modes disagree; None where they do not, or one is not known."""
    reference, other = evidence.doubles.get(("tf", pass_, case), {}), _other(evidence, pass_, case)
    if leaf not in reference or leaf not in other:
        return None
    forward = evidence.doubles.get(("tf", FORWARD, case), reference)
    made_of = reference, other, forward
    masks = evidence.once(("disagreements", pass_, case), made_of, lambda: _disagreements(*made_of))
    return masks.get(leaf)


def _disagreements(reference: Arrays, other: Arrays, forward: Arrays) -> Arrays:
    """By leaf that the modes give unlike values of, where they do: bool in its shape."""
    model = largest([*reference.values(), *forward.values()])
    common = [leaf for leaf in reference if leaf in other and reference[leaf].shape == other[leaf].shape]
    masks = {leaf: disagreeing(reference[leaf], other[leaf], model) for leaf in common}
    return {leaf: where for leaf, where in masks.items() if where.any()}


def followed_exactly(evidence: Evidence, place: Place, port: np.ndarray, eager: np.ndarray) -> Followed | None:
    """The mode that the port follows instead of eager, in the whole leaf; None where there is none that is right.

    Args:
      port: x[...], what is compared by integers, or by the places of NaN and infinities.
      eager: x[...], TensorFlow's in mode eager.
    """
    for mode in evidence.original_modes(place.pass_):
        theirs = evidence.outputs.get((mode, place.pass_, place.case), {}).get(place.leaf)
        if mode == TF_REFERENCE or theirs is None or theirs.dtype != port.dtype or theirs.shape != port.shape:
            continue
        if not unlike(port, theirs).any() and _is_right(evidence, place, theirs, unlike(theirs, eager)):
            return Followed(
                mode, report_disagreement(place, (TF_REFERENCE, mode), (eager, theirs), unlike(theirs, eager), mode)
            )
    return None


def _is_right(evidence: Evidence, place: Place, theirs: np.ndarray, where: np.ndarray) -> bool:
    """Whether a mode gives what float64 gives, unless float64 shows that the leaf is one of convention."""
    reference = evidence.doubles.get(("tf", place.pass_, place.case), {}).get(place.leaf)
    if reference is None or reference.shape != theirs.shape:
        return False
    if disagreement(evidence, place.pass_, place.case, place.leaf) is not None:
        return True
    return not (where & unlike(theirs, reference)).any()


def other_scales(evidence: Evidence, pass_: str, case: str) -> Scales:
    """The scales of errors if a run is compared with the other mode."""
    return evidence.measured_scales(pass_, case, _other(evidence, pass_, case))


def held_elsewhere(evidence: Evidence, pass_: str, case: str, leaf: str, where: np.ndarray) -> tuple[Arrays, Scales]:
    """The float64 reference without the elements of a leaf at which the modes disagree: these are zero.

    Args:
      where: bool[...], these elements.
    """
    reference = evidence.doubles["tf", pass_, case]
    elsewhere = {**reference, leaf: np.where(where, 0, reference[leaf])}
    return elsewhere, evidence.measured_scales(pass_, case, elsewhere)


def nearest(evidence: Evidence, pass_: str, case: str, leaf: str, run: np.ndarray) -> np.ndarray:
    """The float64 reference; where the modes disagree, the one that a run is nearer to.

    Args:
      evidence: has both float64 runs.
      run: x[...], of a mode of TensorFlow.
    """
    reference, where = evidence.doubles["tf", pass_, case][leaf], disagreement(evidence, pass_, case, leaf)
    if where is None or run.shape != reference.shape:
        return reference
    other = _other(evidence, pass_, case)[leaf]
    with np.errstate(invalid="ignore", over="ignore"):
        nearer = np.abs(wide(run) - wide(other)) < np.abs(wide(run) - wide(reference))
    nearer |= (pattern(run) == pattern(other)) & (pattern(run) != pattern(reference))
    return np.where(where & nearer, other, reference)


def other_leaf(evidence: Evidence, pass_: str, case: str, leaf: str) -> np.ndarray:
    """The leaf of the other mode in float64."""
    return _other(evidence, pass_, case)[leaf]


def found_in_double(evidence: Evidence, place: Place, where: np.ndarray, other: bool) -> Disagreement:
    """The finding that TensorFlow's modes disagree in float64.

    Args:
      where: bool[...], the elements at which they do.
      other: whether the port agrees with the other mode than the one that the reference is of.
    """
    run = evidence.otherwise[place.pass_, place.case]
    values = evidence.doubles["tf", place.pass_, place.case][place.leaf], run.arrays[place.leaf]
    return report_disagreement(place, (run.instead_of, run.mode), values, where, run.mode if other else run.instead_of)


def report_disagreement(
    place: Place,
    modes: tuple[str, str],
    values: tuple[np.ndarray, np.ndarray],
    where: np.ndarray,
    follows: str,
) -> Disagreement:
    """A finding about TensorFlow, by the first element at which two of its modes disagree.

    Args:
      where: bool[...], the elements at which they disagree.
    """
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(where)), where.shape))
    ours = replace(place, found_from=modes[0], expected_from=modes[1])
    first, second = (array[index] for array in values)
    return Disagreement(
        gate=place.gate,
        pass_=place.pass_,
        case=place.case,
        leaf=place.leaf,
        index=index,
        modes=modes,
        values=(_number(first), _number(second)),
        elements=int(np.count_nonzero(where)),
        follows=follows,
        message=modes_disagree(ours, index, (first, second), int(np.count_nonzero(where)), follows),
    )


def first_findings(findings: Iterable[Disagreement | None]) -> tuple[Disagreement, ...]:
    """The first of each gate, pass and leaf."""
    first: dict[tuple[str, str, str], Disagreement] = {}
    for finding in filter(None, findings):
        first.setdefault((finding.gate, finding.pass_, finding.leaf), finding)
    return tuple(first.values())


def _other(evidence: Evidence, pass_: str, case: str) -> Arrays:
    run = evidence.otherwise.get((pass_, case))
    return {} if run is None else run.arrays


def _number(value: complex) -> float:
    return float(np.real(value))
