"""The gates' rules, mode by mode, for functions whose inputs were cast: what holds, what differs, what has no judge."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from compare.parity.evidence import TF_REFERENCE, Evidence
from compare.parity.holding import Context, Held, measure_noise
from compare.parity.measure import UNIT_ROUNDOFF, WIDE, is_float, unlike
from compare.parity.rules import compare_rounding
from compare.parity.structure import GATE as STRUCTURE
from compare.parity.structure import compare_structure
from compare.record.datatypes_part import DIFFERS, HOLDS, OTHER_TYPE, REFERENCE, UNJUDGED, TypedMode
from compare.record.vocabulary import FAIL
from workloads.core.modes import TF
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, is_kinks

FAILING = (DIFFERS, OTHER_TYPE)

STANDS_IN = "int64 stands in for a type that TensorFlow refuses, and is right for sums and products alone"


def judge_modes(evidence: Evidence, dtype: str, stand_in: bool = False, missing: str = "") -> dict[str, TypedMode]:
    """Judge each mode that ran.

    Compiled modes of TensorFlow are held against its eager mode and the reference like the port. Eager mode alone
    measures how large errors may be: a compiled mode that is wrong excuses neither itself nor the port.

    Args:
      evidence: the outputs of all modes, and the float64 results under "tf".
      stand_in: whether TensorFlow's eager mode was computed in int64; a result that disagrees with that is not judged.
      missing: why there are no float64 results, where there are none.
    """
    compiled = tuple(mode for mode in evidence.modes(TF, FORWARD) if mode != TF_REFERENCE)
    stand_in_name = "TensorFlow in int64" if stand_in else ""
    evidence = dataclasses.replace(evidence, further=(*evidence.further, *compiled), stand_in=stand_in_name)
    ran = {mode for mode, _, _ in evidence.outputs}
    comparisons = {**_by_mode(_compare_modes(evidence, dtype), ran), TF_REFERENCE: _alone(evidence, dtype)}
    verdicts = {mode: _judge_mode(evidence, dtype, mode, comparisons[mode], missing) for mode in sorted(ran)}
    if not stand_in:
        return verdicts
    return {mode: _qualify_stand_in(verdict, evidence, dtype) for mode, verdict in verdicts.items()}


def _compare_modes(evidence: Evidence, dtype: str) -> list[Held]:
    """Compare by the gates structure and rounding; by the first only where there is an eager run to be equal to."""
    context = Context(evidence, measure_noise(evidence))
    comparisons = compare_structure(context) if _has(evidence, TF_REFERENCE) else []
    return comparisons + compare_rounding(context, "rounding", FORWARD, _cases(evidence, dtype))


def _alone(evidence: Evidence, dtype: str) -> list[Held]:
    """Measure TensorFlow's eager mode against the reference: it bounds the other modes, and nothing judges it."""
    own = {key: arrays for key, arrays in evidence.outputs.items() if key[0] == TF_REFERENCE}
    alone = dataclasses.replace(evidence, outputs=own, port=TF_REFERENCE, further=(TF_REFERENCE,))
    return compare_rounding(Context(alone, {}), "rounding", FORWARD, _cases(alone, dtype))


def _by_mode(comparisons: Iterable[Held], modes: Iterable[str]) -> dict[str, list[Held]]:
    rows = list(comparisons)
    return {mode: [comparison for comparison in rows if comparison.place.found_from == mode] for mode in modes}


def _judge_mode(evidence: Evidence, dtype: str, mode: str, comparisons: list[Held], missing: str) -> TypedMode:
    runs = {case: arrays for (ran, _, case), arrays in evidence.outputs.items() if ran == mode}
    dtypes = tuple(sorted({array.dtype.name for arrays in runs.values() for array in arrays.values()}))
    worst = max(
        (comparison for comparison in comparisons if comparison.bound is not None),
        key=lambda comparison: comparison.error,
        default=None,
    )
    error, bound = (worst.error, worst.limit) if worst else (None, None)
    status, reason = _status(evidence, dtype, mode, runs, comparisons)
    if status == UNJUDGED and missing:
        reason += f": {missing}"
    return TypedMode(mode, status, dtypes, error, bound, reason)


def _status(
    evidence: Evidence, dtype: str, mode: str, runs: Mapping[str, Arrays], comparisons: list[Held]
) -> tuple[str, str]:
    other = next((_describe_other(result, evidence.stand_in) for result in _other_types(evidence, dtype, runs)), "")
    if other:
        return OTHER_TYPE, other
    if not _has(evidence, TF_REFERENCE):
        not_finite = _not_finite(evidence, runs)
        if not_finite:
            return DIFFERS, not_finite
    if mode == TF_REFERENCE:
        return REFERENCE, ""
    failing = next((comparison.message for comparison in comparisons if comparison.verdict == FAIL), "")
    if failing:
        return DIFFERS, failing
    unheld = _unheld(runs, comparisons)
    return (UNJUDGED, unheld) if unheld else (HOLDS, "")


def _unheld(runs: Mapping[str, Arrays], comparisons: list[Held]) -> str:
    """Names a value without a reference: a float without a float64 result, or another type without an eager run."""
    keys = {(comparison.place.case, comparison.place.leaf, comparison.place.gate) for comparison in comparisons}
    for case, arrays in runs.items():
        for leaf, array in arrays.items():
            if is_float(array) and not is_kinks(case) and (case, leaf, "rounding") not in keys:
                return f"{leaf} is {array.dtype.name}, and there is no float64 result to hold it against"
            if not is_float(array) and (case, leaf, STRUCTURE) not in keys:
                return f"{leaf} is {array.dtype.name}, and there is no result of TensorFlow's to hold it against"
    return "" if comparisons else "there is nothing to hold it against"


@dataclasses.dataclass(frozen=True)
class _Other:
    """A result of another type than it should have; `of_tf` is true where TensorFlow's result has that type."""

    leaf: str
    found: str
    expected: str
    of_tf: bool


def _describe_other(other: _Other, stand_in: str) -> str:
    gives = f"{stand_in or 'TensorFlow'} gives" if other.of_tf else "the inputs are"
    return f"{other.leaf} is {other.found} where {gives} {other.expected}"


def _other_types(evidence: Evidence, dtype: str, runs: Mapping[str, Arrays]) -> Iterator[_Other]:
    """Where results have another type than TensorFlow's; without one to compare with, than the inputs'.

    Without one, a comparison is a boolean and the place of the largest float an integer, whatever the inputs are.
    """
    for case, arrays in runs.items():
        theirs = evidence.outputs.get((TF_REFERENCE, FORWARD, case), {})
        for leaf, array in arrays.items():
            actual = array.dtype.name
            if leaf not in theirs and (actual == "bool" or (dtype in UNIT_ROUNDOFF and not is_float(array))):
                continue
            expected = theirs[leaf].dtype.name if leaf in theirs else dtype
            if actual != expected:
                yield _Other(leaf, actual, expected, leaf in theirs)


def _qualify_stand_in(verdict: TypedMode, evidence: Evidence, dtype: str) -> TypedMode:
    """Weaken a verdict where int64 stands in for eager mode: only a difference in kind, float or int, is certain."""
    runs = {case: arrays for (mode, _, case), arrays in evidence.outputs.items() if mode == verdict.mode}
    for other in _other_types(evidence, dtype, runs):
        if _kind(other.found) != _kind(other.expected):
            return replace(verdict, reason=f"{other.leaf} is {other.found} where int64 gives {other.expected}")
    if verdict.status not in FAILING:
        return verdict
    return replace(verdict, status=UNJUDGED, reason=f"{STANDS_IN}: {verdict.reason}")


def _kind(dtype: str) -> str:
    return "float" if dtype in UNIT_ROUNDOFF else "bool" if dtype == "bool" else "integer"


def _not_finite(evidence: Evidence, runs: Mapping[str, Arrays]) -> str:
    """Where a result is NaN or infinite and the reference, rounded to the result's type, is not, or otherwise."""
    for case, arrays in runs.items():
        for leaf, expected in evidence.doubles.get((TF, FORWARD, case), {}).items():
            actual = arrays.get(leaf)
            if actual is None or not is_float(actual) or actual.shape != expected.shape:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                apart = unlike(actual, expected.astype(actual.dtype))
            if apart.any():
                index = tuple(int(i) for i in np.argwhere(apart)[0])
                return f"{leaf}{list(index)} is {actual[index]} where float64 gives {expected[index]:.6g}"
    return ""


def _has(evidence: Evidence, mode: str) -> bool:
    return any(ran == mode for ran, _, _ in evidence.outputs)


def _cases(evidence: Evidence, dtype: str) -> list[str]:
    """The cases with float64 results, all of them wide enough to judge the results by."""
    cases = [case for case in evidence.float_cases(FORWARD) if not is_kinks(case)]
    return [case for case in cases if _wide_enough(evidence, dtype, case)]


def _wide_enough(evidence: Evidence, dtype: str, case: str) -> bool:
    doubles = evidence.doubles.get((TF, FORWARD, case), {})
    theirs = evidence.outputs.get((TF_REFERENCE, FORWARD, case), {})
    floats = {leaf: array.dtype.name for leaf, array in doubles.items() if is_float(array)}
    own = {leaf: theirs[leaf].dtype.name if leaf in theirs else dtype for leaf in floats}
    wider = (name in WIDE or UNIT_ROUNDOFF[name] < UNIT_ROUNDOFF.get(own[leaf], 0.0) for leaf, name in floats.items())
    return bool(floats) and all(wider)
