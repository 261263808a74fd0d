"""The gates' rules, mode by mode, for functions whose inputs were cast: what holds, what differs, what has no judge."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from compare.parity.evidence import TF_REFERENCE, Evidence
from compare.parity.holding import Context, Held, measure_noise
from compare.parity.measure import UNIT_ROUNDOFF, WIDE, is_float, unlike
from compare.parity.rules import compare_rounding
from compare.parity.structure import compare_structure
from compare.record.datatypes_part import DIFFERS, HOLDS, OTHER_TYPE, REFERENCE, UNJUDGED, TypedMode
from compare.record.vocabulary import FAIL
from workloads._framework import FORWARD, is_kinks
from workloads._modes import TF
from workloads._spec import Arrays

FAILING = (DIFFERS, OTHER_TYPE)


def judged(evidence: Evidence, dtype: str) -> dict[str, TypedMode]:
    """By mode, what is said of it, of the modes that ran.

    Compiled modes of TensorFlow are held against its eager mode and the reference like the port, and excuse nothing
    in themselves: their own error is no part of their bound.

    Args:
      evidence: the outputs of all modes, and the float64 results under "tf".
      dtype: of the inputs.
    """
    compiled = tuple(mode for mode in evidence.modes(TF, FORWARD) if mode != TF_REFERENCE)
    port = [mode for mode in evidence.modes("jax", FORWARD)]
    of_tf = dataclasses.replace(evidence, further=(*evidence.further, *compiled))
    held = {
        **_by_mode(_held(evidence, dtype), port),
        **_by_mode(_held(of_tf, dtype), compiled),
        TF_REFERENCE: _alone(evidence),
    }
    ran = {mode for mode, _, _ in evidence.outputs}
    return {mode: _said(evidence, dtype, mode, leaves) for mode, leaves in held.items() if mode in ran}


def _held(evidence: Evidence, dtype: str) -> list[Held]:
    """What the gates structure and rounding say; the first only where there is an eager run to be equal to."""
    context = Context(evidence, measure_noise(evidence))
    cases = evidence.float_cases(FORWARD)
    held = compare_structure(context) if _has(evidence, TF_REFERENCE) else []
    if _oracles(evidence, dtype):
        held += compare_rounding(context, "rounding", FORWARD, [case for case in cases if not is_kinks(case)])
    return held


def _alone(evidence: Evidence) -> list[Held]:
    """How far TensorFlow's eager mode is from the reference: what the others are measured by, and judged by nothing."""
    own = {key: arrays for key, arrays in evidence.outputs.items() if key[0] == TF_REFERENCE}
    alone = dataclasses.replace(evidence, outputs=own, port=TF_REFERENCE, further=(TF_REFERENCE,))
    cases = [case for case in alone.float_cases(FORWARD) if not is_kinks(case)]
    return compare_rounding(Context(alone, {}), "rounding", FORWARD, cases) if alone.doubles else []


def _by_mode(held: Iterable[Held], modes: Iterable[str]) -> dict[str, list[Held]]:
    kept = list(held)
    return {mode: [each for each in kept if each.place.found_from == mode] for mode in modes}


def _said(evidence: Evidence, dtype: str, mode: str, held: list[Held]) -> TypedMode:
    runs = {case: arrays for (ran, _, case), arrays in evidence.outputs.items() if ran == mode}
    dtypes = tuple(sorted({array.dtype.name for arrays in runs.values() for array in arrays.values()}))
    failing = [each for each in held if each.verdict == FAIL]
    worst = max((each for each in held if each.bound is not None), key=lambda each: each.error, default=None)
    error, bound = (worst.error, worst.limit) if worst else (None, None)
    status, reason = _status(evidence, dtype, mode, runs, held, failing)
    return TypedMode(mode, status, dtypes, error, bound, reason)


def _status(
    evidence: Evidence, dtype: str, mode: str, runs: Mapping[str, Arrays], held: list[Held], failing: list[Held]
) -> tuple[str, str]:
    other = _other_type(evidence, dtype, runs)
    if other:
        return OTHER_TYPE, other
    if not _has(evidence, TF_REFERENCE):
        lost = _not_finite(evidence, runs)
        if lost:
            return DIFFERS, lost
    if mode == TF_REFERENCE:
        return REFERENCE, ""
    if failing:
        return DIFFERS, failing[0].message
    return (HOLDS, "") if held else (UNJUDGED, "nothing to hold it against: TensorFlow refuses this type")


def _other_type(evidence: Evidence, dtype: str, runs: Mapping[str, Arrays]) -> str:
    """Where results have another type than TensorFlow's; without one to compare with, floats than the inputs'."""
    for case, arrays in runs.items():
        theirs = evidence.outputs.get((TF_REFERENCE, FORWARD, case), {})
        for leaf, array in arrays.items():
            expected = theirs[leaf].dtype.name if leaf in theirs else dtype
            if array.dtype.name != expected:
                gives = "TensorFlow gives" if leaf in theirs else "the inputs are"
                return f"{leaf} is {array.dtype.name} where {gives} {expected}"
    return ""


def _not_finite(evidence: Evidence, runs: Mapping[str, Arrays]) -> str:
    """Where a result is NaN or infinite and the reference, rounded to the result's type, is not, or otherwise."""
    for case, arrays in runs.items():
        for leaf, expected in evidence.doubles.get((TF, FORWARD, case), {}).items():
            found = arrays.get(leaf)
            if found is None or not is_float(found) or found.shape != expected.shape:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                apart = unlike(found, expected.astype(found.dtype))
            if apart.any():
                at = tuple(int(i) for i in np.argwhere(apart)[0])
                return f"{leaf}{list(at)} is {found[at]} where float64 gives {expected[at]:.6g}"
    return ""


def _has(evidence: Evidence, mode: str) -> bool:
    return any(ran == mode for ran, _, _ in evidence.outputs)


def _oracles(evidence: Evidence, dtype: str) -> bool:
    """Whether there are float64 results, and all wide enough to judge this type by."""
    leaves = [array for arrays in evidence.doubles.values() for array in arrays.values() if is_float(array)]
    own = UNIT_ROUNDOFF.get(dtype, 0.0)
    return bool(leaves) and all(array.dtype.name in WIDE or UNIT_ROUNDOFF[array.dtype.name] < own for array in leaves)
