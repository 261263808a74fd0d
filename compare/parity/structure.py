"""Names, shapes, dtypes, NaN and infinities, integers: all that must be equal before any tolerance applies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compare.parity import messages
from compare.parity.evidence import TF_XLA
from compare.parity.holding import Bound, Context, Held, hold, mismatch, missing_runs, refuse
from compare.parity.measure import Distance, exact_distance, is_float, largest, scale_of, unlike
from compare.parity.messages import Place
from compare.parity.own_modes import followed_exactly, report_disagreement
from compare.record.parity_part import Disagreement
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, GRADIENTS

GATE = "structure"


def compare_structure(context: Context) -> list[Held]:
    """Every mode of the port against TF eager, in every pass and case; against another mode where that cannot run."""
    evidence = context.evidence
    comparisons: list[Held] = []
    # The gate "gradients" reports that no mode of the original computes them.
    passes = [pass_ for pass_ in (FORWARD, GRADIENTS) if pass_ == FORWARD or evidence.original_modes(pass_)]
    for pass_ in passes:
        for case in evidence.float_cases(pass_):
            for mode in evidence.judged_modes(pass_):
                reference = evidence.reference_mode(pass_, case)
                place = Place(evidence.workload, GATE, pass_, case, "", mode, reference, evidence.stand_in)
                comparisons += _compare_run(context, place)
    return comparisons


def _compare_run(context: Context, run: Place) -> list[Held]:
    outputs = context.evidence.outputs
    actual = outputs.get((run.found_from, run.pass_, run.case))
    expected = outputs.get((run.expected_from, run.pass_, run.case))
    if actual is None or expected is None:
        return missing_runs(context, run, actual, expected, ("float32", "float32"))
    xla = outputs.get((TF_XLA, run.pass_, run.case), {})
    model = largest(expected.values())
    return [_compare_leaf(context, run, leaf, actual, expected, xla, model) for leaf in sorted({*actual, *expected})]


def _compare_leaf(
    context: Context, run: Place, leaf: str, actual: Arrays, expected: Arrays, xla: Arrays, model: float
) -> Held:
    place = replace(run, leaf=leaf)
    problem = mismatch(place, actual.get(leaf), expected.get(leaf))
    if problem:
        return refuse(place, problem, str((actual if leaf in actual else expected)[leaf].dtype))
    ours, theirs = actual[leaf], expected[leaf]
    remark = ""
    is_half = _fits_in_half(ours, theirs)
    if is_half and not context.evidence.open_integers:
        remark, ours = messages.half(str(ours.dtype), str(theirs.dtype)), ours.astype(theirs.dtype)
    if ours.dtype != theirs.dtype:
        dtypes = messages.unequal("dtype", place.found_from, ours.dtype, place.expected_name, theirs.dtype)
        remedy = messages.open_integers(context.evidence.open_integers) if is_half else ""
        return refuse(place, dtypes + messages.widths(str(ours.dtype), str(theirs.dtype)) + remedy, str(ours.dtype))
    far = exact_distance(ours, theirs, scale_of(theirs, model))
    bound = Bound(0.0, declared=context.evidence.declared_bound(GATE))
    if far.error == 0:
        notes = _tf_unlike_itself(theirs, xla.get(leaf))
        comparison = hold(context, place, far, bound, str(actual[leaf].dtype), notes, remark)
        return replace(comparison, finding=_of_tensorflow(place, theirs, xla.get(leaf)))
    if agreement := followed_exactly(context.evidence, place, ours, theirs):
        notes = (messages.follows(agreement.mode),)
        comparison = hold(context, place, Distance(0.0), bound, str(actual[leaf].dtype), notes, remark)
        return replace(comparison, finding=agreement.finding)
    notes = (_extent(ours, theirs), *_tf_unlike_itself(theirs, xla.get(leaf)))
    return hold(context, place, far, bound, str(ours.dtype), notes)


def _fits_in_half(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether the port has integers of 32 bits for 64, as JAX makes them unless x64 is on, and every value fits."""
    if (str(ours.dtype), str(theirs.dtype)) not in _HALVES:
        return False
    least, most = np.iinfo(ours.dtype).min, np.iinfo(ours.dtype).max
    return bool(((theirs >= least) & (theirs <= most)).all())


_HALVES = (("int32", "int64"), ("uint32", "uint64"))


def _of_tensorflow(place: Place, eager: np.ndarray, xla: np.ndarray | None) -> Disagreement | None:
    """The finding that TensorFlow's modes disagree where the port agrees with the one that it is compared with."""
    if xla is None or xla.shape != eager.shape or not unlike(xla, eager).any():
        return None
    return report_disagreement(
        place, (place.expected_from, TF_XLA), (eager, xla), unlike(xla, eager), place.expected_from
    )


def _extent(actual: np.ndarray, expected: np.ndarray) -> str:
    return messages.differing(int(np.count_nonzero(unlike(actual, expected))), expected.size, is_float(expected))


def _tf_unlike_itself(eager: np.ndarray, xla: np.ndarray | None) -> tuple[str, ...]:
    if xla is None or xla.shape != eager.shape or not np.any(unlike(xla, eager)):
        return ()
    index = tuple(int(i) for i in np.argwhere(unlike(xla, eager))[0])
    return (messages.tf_disagrees(eager[index], xla[index], index),)
