"""The two numerical rules: float64 against float64, and float32 against the float64 oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from compare.parity import messages
from compare.parity.bands import Band, Scales
from compare.parity.either_mode import RunPair, all_hold, hold_to_either
from compare.parity.evidence import Amplified
from compare.parity.holding import Bound, Context, Held, hold, mismatch, missing_runs, refuse
from compare.parity.measure import SEMANTICS_BOUND, UNIT_ROUNDOFF, WIDE, Distance, distance, is_float
from compare.parity.messages import Place
from compare.parity.own_modes import nearest
from workloads.core.spec import FLOAT8
from workloads.protocol.framework import GRADIENTS

CONSTANTS_FACTOR = 4
"""The spread was measured on a few perturbations, each side has constants of its own."""
NOISE_FACTOR = 4
"""Honest ports were measured at up to 2.1 times TensorFlow's own error per tensor."""
FLOOR_ROUNDINGS = 8
"""An exact original leaves no noise to measure by; a few roundings are no error."""
FLOOR_ROUNDINGS_OF_FLOAT8 = 2
"""Eight roundings of a type of two or three bits are half of the largest value, or all of it."""
AMPLIFIED_FACTOR = 4
"""The spread was measured on a few samples, and each side has roundings of its own."""
DOUBLE_FLOOR = 64 * UNIT_ROUNDOFF["float64"]

Errors = Mapping[tuple[str, int, int], float]
"""(leaf, how many groups of magnitudes it has, which of them) -> relative error: what excuses one excuses no other."""

Base = Callable[[str, float, float], float]
"""(leaf, its largest value, the largest value of the pass) -> relative bound."""


def forward_base(leaf: str, scale: float, model_scale: float) -> float:
    """The error of each output is relative to its own size."""
    return SEMANTICS_BOUND


def gradient_base(leaf: str, scale: float, model_scale: float) -> float:
    """A gradient that is analytically zero has only noise, of the size that the largest gradient rounds to."""
    return max(SEMANTICS_BOUND, DOUBLE_FLOOR * model_scale / scale)


def compare_doubles(context: Context, gate: str, pass_: str, cases: Iterable[str], base: Base) -> list[Held]:
    """The port in float64 against the original in float64."""
    evidence = context.evidence
    comparisons: list[Held] = []
    for case in cases:
        run = Place(evidence.workload, gate, pass_, case, "", "jax", "tf")
        port, expected = (evidence.doubles.get((side, pass_, case)) for side in ("jax", "tf"))
        if port is None or expected is None:
            comparisons += missing_runs(context, run, port, expected, ("float64", "float64"))
            continue
        runs = RunPair(port, expected, evidence.scales(pass_, case, expected))
        comparisons += _hold_run(context, run, runs, partial(_double_leaf, context, base))
    return comparisons


def _double_leaf(
    context: Context, base: Base, place: Place, amplification: Amplified | None, runs: RunPair
) -> list[Held]:
    leaf, port, expected, scales = place.leaf, runs.port, runs.expected, runs.scales
    problem = mismatch(place, port.get(leaf), expected.get(leaf))
    if problem:
        return [refuse(place, problem, "float64")]
    declared_bound = context.evidence.declared_bound(place.gate)
    pairs = [
        (
            distance(port[leaf], expected[leaf], band.scale, band.others),
            Bound(
                base(leaf, band.scale, scales.model),
                CONSTANTS_FACTOR * _spread(context, place, rank),
                _formula(context, "float64", place, rank),
                _measure_amplification(amplification, leaf, band),
                declared_bound,
            ),
        )
        for rank, band in enumerate(scales.bands[leaf])
    ]
    worst, bound = _worst(pairs)
    narrow = None if declared_bound else _narrow(place, port[leaf], expected[leaf])
    if narrow:
        source, dtype = narrow
        return [refuse(place, messages.not_double(source, dtype, place.gate, worst.error), dtype)]
    return [hold(context, place, worst, bound, dtype=str(port[leaf].dtype), says=runs.reason)]


def _narrow(place: Place, port: np.ndarray, expected: np.ndarray) -> tuple[str, str] | None:
    """The side whose float64 run gave another type of float, and which; a declared bound makes up for that."""
    for source, array in ((place.found_from, port), (place.expected_from, expected)):
        if is_float(array) and array.dtype.name not in WIDE:
            return source, str(array.dtype)
    return None


def compare_rounding(context: Context, gate: str, pass_: str, cases: Iterable[str]) -> list[Held]:
    """Every mode of the port in the twins' dtypes against the oracle, bounded by what TensorFlow's modes reach."""
    evidence = context.evidence
    cases = tuple(cases)
    oracles = {case: run for case in cases if (run := evidence.doubles.get(("tf", pass_, case))) is not None}
    scales = {case: evidence.scales(pass_, case, oracle) for case, oracle in oracles.items()}
    tf_errors = _tf_errors(context, pass_, scales)
    comparisons: list[Held] = []
    for case in cases:
        for mode in evidence.judged_modes(pass_):
            run = Place(evidence.workload, gate, pass_, case, "", mode, "tf")
            actual, oracle = evidence.outputs.get((mode, pass_, case)), oracles.get(case)
            if actual is None or oracle is None:
                comparisons += missing_runs(context, run, actual, oracle, ("float32", "float64"))
                continue
            runs = RunPair(actual, oracle, scales[case])
            comparisons += _hold_run(context, run, runs, partial(_rounded_leaf, context, tf_errors))
    return comparisons


def _hold_run(context: Context, run: Place, runs: RunPair, hold_leaf: Callable[..., list[Held]]) -> list[Held]:
    """A run against the reference; where it fails and its regions hold, with what amplifies their roundings.

    That is allowed the whole run or nothing of it: what explains one leaf explains all.
    """

    def against(amplification: Amplified | None) -> list[Held]:
        comparisons: list[Held] = []
        explained_runs = replace(runs, reason=amplification.says) if amplification else runs
        for leaf in sorted({*runs.port, *runs.expected}):
            place = replace(run, leaf=leaf)
            compare_leaf = partial(hold_leaf, place, amplification)
            comparisons += hold_to_either(context.evidence, place, explained_runs, compare_leaf)
        return comparisons

    comparisons = against(None)
    amplification = context.evidence.regions.get((run.pass_, run.case))
    if amplification is None or all_hold(comparisons):
        return comparisons
    with_amplification = against(amplification)
    return with_amplification if all_hold(with_amplification) else comparisons


def _rounded_leaf(
    context: Context, tf_errors: Errors, place: Place, amplification: Amplified | None, runs: RunPair
) -> list[Held]:
    leaf, actual, oracle, scales = place.leaf, runs.port, runs.expected, runs.scales
    problem = mismatch(place, actual.get(leaf), oracle.get(leaf))
    if problem:
        return [refuse(place, problem, "float32")]
    reference = context.evidence.reference_mode(place.pass_, place.case)
    eager = context.evidence.outputs.get((reference, place.pass_, place.case), {}).get(leaf, actual[leaf])
    if not is_float(eager):
        return []
    mask = _without_value(oracle[leaf], eager if eager.shape == oracle[leaf].shape else oracle[leaf])
    # The reference's dtype, not the port's: a port that drops to bfloat16 must not widen its own bound.
    dtype = max(eager.dtype.name, context.evidence.computes_in, key=lambda name: UNIT_ROUNDOFF.get(name, 0.0))
    own = [_own_error(tf_errors, leaf, len(scales.bands[leaf]), rank) for rank in range(len(scales.bands[leaf]))]
    pairs = [
        (
            distance(actual[leaf], oracle[leaf], band.scale, _either(mask, band)),
            replace(
                _rounding_bound(context, place, dtype, band.scale, scales.model, own[rank]),
                allowance=_spread(context, place, rank),
                formula=_formula(context, "float32", place, rank),
                amplified=_measure_amplification(amplification, leaf, band),
            ),
        )
        for rank, band in enumerate(scales.bands[leaf])
    ]
    far, bound = _worst(pairs)
    return [hold(context, place, far, bound, dtype=str(actual[leaf].dtype), says=runs.reason)]


def _worst(pairs: list[tuple[Distance, Bound]]) -> tuple[Distance, Bound]:
    """The error that is the largest beside its bound."""
    return max(pairs, key=lambda pair: pair[0].error / pair[1].value)


def _rounding_bound(
    context: Context, place: Place, dtype: str, scale: float, model_scale: float, tf_error: float | None
) -> Bound:
    unit = UNIT_ROUNDOFF[dtype]
    of = f" of {dtype}" if dtype == context.evidence.computes_in else ""
    roundings = FLOOR_ROUNDINGS_OF_FLOAT8 if dtype in FLOAT8 else FLOOR_ROUNDINGS
    parts = {f"{roundings} roundings{of}": roundings * unit}
    if dtype in WIDE:
        # The oracle is no wider, and TensorFlow in eager mode may be the oracle: what is left to ask is what semantics
        # asks.
        base = gradient_base if place.pass_ == GRADIENTS else forward_base
        parts[f"the bound of {dtype}"] = base(place.leaf, scale, model_scale)
    if tf_error is not None:
        parts[f"{NOISE_FACTOR} times TF's own error"] = NOISE_FACTOR * tf_error
    if place.pass_ == GRADIENTS:
        parts["one rounding of the largest gradient"] = unit * model_scale / scale
    basis = max(parts, key=lambda part: parts[part])
    return Bound(parts[basis], declared=context.evidence.declared_bound(place.gate), basis=basis)


def _own_error(tf_errors: Errors, leaf: str, groups: int, rank: int) -> float | None:
    """TensorFlow's own error in a group of magnitudes; of any, where another mode's values have other groups."""
    if (leaf, groups, rank) in tf_errors:
        return tf_errors[leaf, groups, rank]
    return max((error for (name, _, _), error in tf_errors.items() if name == leaf), default=None)


def _measure_amplification(amplification: Amplified | None, leaf: str, band: Band) -> float:
    """The error that amplified roundings explain, relative to the largest value of a group; 0 unless regions hold."""
    return AMPLIFIED_FACTOR * amplification.spread.get(leaf, 0.0) / band.scale if amplification else 0.0


def _spread(context: Context, place: Place, rank: int) -> float:
    """The error that rounded constants explain in one group of magnitudes."""
    return context.evidence.allowance.get((place.pass_, place.case, place.leaf, rank), 0.0)


def _formula(context: Context, width: str, place: Place, rank: int) -> float:
    """The error that rounding of a width explains in one group of magnitudes."""
    return context.evidence.formula.get((width, place.pass_, place.case, place.leaf, rank), 0.0)


def _tf_errors(context: Context, pass_: str, scales: Mapping[str, Scales]) -> Errors:
    """Per leaf, the largest error of any mode of TensorFlow in any case, over what is finite in it and the oracle.

    An infinite error here would excuse every port, so that values without a finite counterpart count nothing:
    the structure gate judges them.
    """
    errors: dict[tuple[str, int, int], float] = {}
    for mode in context.evidence.original_modes(pass_):
        for case, relative_to in scales.items():
            run = context.evidence.outputs.get((mode, pass_, case), {})
            oracle = context.evidence.doubles["tf", pass_, case]
            for leaf in run.keys() & oracle.keys():
                if run[leaf].shape != oracle[leaf].shape:
                    continue
                expected = nearest(context.evidence, pass_, case, leaf, run[leaf])
                mask = _without_value(run[leaf], expected)
                bands = relative_to.bands[leaf]
                for rank, band in enumerate(bands):
                    error = distance(run[leaf], expected, band.scale, _either(mask, band)).error
                    key = leaf, len(bands), rank
                    errors[key] = max(errors.get(key, 0.0), error)
    return errors


def _either(mask: np.ndarray, band: Band) -> np.ndarray:
    return mask if band.others is None else mask | band.others


def _without_value(*arrays: np.ndarray) -> np.ndarray:
    """Where any of the arrays, all of one shape, is NaN or infinite."""
    return ~np.logical_and.reduce([np.isfinite(array) for array in arrays])
