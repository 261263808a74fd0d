"""Plans the calls of a sweep, and judges their results beside exact values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare.parity import stability
from compare.parity.breaks import Outcome
from compare.parity.measure import UNIT_ROUNDOFF, is_float, largest
from compare.parity.stability import BOTH, BREAKS, HOLDS, UNJUDGED, Rounding, Values
from workloads.core import sweeps
from workloads.core.spec import Arrays, ArraySpec
from workloads.core.sweeps import Probe
from workloads.protocol.framework import Twin

SAMPLES = 4
"""The number of samples with moved roundings."""
MOST_ELEMENTS = 1 << 20
"""Inputs of more elements are not swept: every call costs their size."""
LARGE, LARGE_STEP = 1 << 20, 6
"""A model of more weights is swept in steps of so many powers of two: each call gives as many gradients."""


@dataclass(frozen=True)
class CallResults:
    """The results of one call, by leaf.

    Attributes:
      port: by the port's program.
      original: by TensorFlow's program.
      exact: by TensorFlow's formula in float64.
    """

    port: Arrays
    original: Arrays
    exact: Arrays


def plan_calls(specs: Mapping[str, ArraySpec], twin: Twin) -> list[Probe]:
    """The calls of a sweep: of a model fewer, and within moderate magnitudes."""
    weights = sum(array.size for array in twin.weights.values())
    step = LARGE_STEP if weights > LARGE else sweeps.STEPS[0]
    return list(sweeps.probes(specs, bool(twin.weights), step))


def measure_rounding(dtype: str, times: float, ordinary: Arrays, digits: float) -> Rounding:
    """How values of a type are rounded.

    Args:
      times: how many roundings in a row a program makes.
      ordinary: gradients at ordinary inputs: an error as large as their rounding counts nothing.
    """
    info, unit = ml_dtypes.finfo(np.dtype(dtype)), UNIT_ROUNDOFF[dtype]
    relative = min(times * unit, math.sqrt(unit))
    floors = {leaf: relative * largest([array]) for leaf, array in ordinary.items() if is_float(array)}
    return Rounding(unit, float(info.smallest_normal), float(info.max), times, floors, digits)


def judge_calls(
    results: Sequence[CallResults], rounding: Rounding, sample: Callable[[Sequence[int], int], Sequence[Arrays]]
) -> list[tuple[Values, Outcome]]:
    """The values of each call, with the samples that it took, and the outcome of its worst leaf.

    Args:
      results: the results of each call.
      sample: from positions of calls and a seed, TensorFlow's exact values of these with every value moved by a
        rounding.
    """
    leaves = [
        stability.by_leaf(Values(one.port, one.original, one.exact), rounding, until_broken=True) for one in results
    ]
    samples: list[list[Arrays]] = [[] for _ in results]
    for seed in range(SAMPLES):
        # A call that holds with few samples holds with more: each sample widens the bound.
        open_calls = [
            position
            for position, outcomes in enumerate(leaves)
            if stability.worst(outcomes.values()).status in (BREAKS, BOTH)
        ]
        for position, exact_sample in zip(open_calls, sample(open_calls, seed) if open_calls else (), strict=True):
            samples[position].append(exact_sample)
            is_last = seed == SAMPLES - 1
            leaves[position] = _judge_again(results[position], leaves[position], samples[position], rounding, is_last)
    return [
        (Values(one.port, one.original, one.exact, call_samples), stability.worst(outcomes.values()))
        for one, call_samples, outcomes in zip(results, samples, leaves, strict=True)
    ]


def _judge_again(
    results: CallResults, leaves: dict[str, Outcome], samples: Sequence[Arrays], rounding: Rounding, is_last: bool
) -> dict[str, Outcome]:
    outcomes = {leaf: one for leaf, one in leaves.items() if one.status in (HOLDS, UNJUDGED)}
    # The leaf that broke is judged first: if it breaks again, the others need not be judged.
    open_leaves = sorted((leaf for leaf in results.exact if leaf not in outcomes), key=lambda leaf: leaf not in leaves)
    exact = {leaf: results.exact[leaf] for leaf in open_leaves}
    values = Values(results.port, results.original, exact, samples)
    return outcomes | stability.by_leaf(values, rounding, until_broken=not is_last)
