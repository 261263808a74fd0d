"""Compares runs of training steps by the training gate, and finds the first value that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.parity.evidence import PORT, TF_REFERENCE, Evidence
from compare.parity.holding import Held
from compare.parity.verdict import held_leaves
from compare.record.distribution_part import Blind, StepDeparture
from compare.record.vocabulary import FAIL, PASS
from workloads.core.modes import JAX
from workloads.core.spec import Arrays
from workloads.protocol.trajectory import LOSS, STATE, WEIGHTS, KeptArray, kept_as

FLOAT32, FLOAT64 = "float32", "float64"

EQUAL_PARTS = 1e-3
"""The largest difference, relative to the largest value, between replicas with equal parts and one device."""

_STATE = "optimizer state: "


@dataclass(frozen=True)
class Runs:
    """Runs of the same training steps in both float types: "loss" [steps], "weights@STEP/PATH", "state@STEP/NAME"."""

    name: str
    by_dtype: Mapping[str, Arrays]


def departure(runs_judged: Runs, expected: Runs, with_state: bool) -> StepDeparture:
    """How far a run is from a reference, by the training gate: float64 against float64, float32 against the latter.

    Args:
      runs_judged: the run, in both float types.
      with_state: whether the optimizer's state is compared too: within one framework its names are the same.
    """
    leaves = _compare(runs_judged, expected, with_state)
    failing = [leaf for leaf in leaves if leaf.verdict != PASS]
    if not leaves:
        return StepDeparture(expected.name, FAIL, message=f"{runs_judged.name} gave no arrays")
    return _describe(expected.name, leaves, failing)


def _describe(against: str, leaves: Sequence[Held], failing: Sequence[Held]) -> StepDeparture:
    worst = min(failing, key=_order) if failing else max(leaves, key=_share)
    path, step = _place(worst)
    is_comparable = worst.bound is not None
    return StepDeparture(
        against=against,
        verdict=FAIL if failing else PASS,
        leaf=path,
        step=step,
        dtype=worst.dtype,
        index=worst.far.index,
        found=float(worst.far.found) if is_comparable and worst.far.found is not None else None,
        expected=float(worst.far.expected) if is_comparable and worst.far.expected is not None else None,
        error=worst.error,
        bound=worst.limit,
        message="" if is_comparable else worst.message,
    )


def departure_of_equal_parts(name: str, runs_judged: Arrays, expected: Arrays) -> StepDeparture:
    """How far what replicas of equal parts compute is from one device's step, in float64, weights and state.

    A sum that is averaged, or draws that are equal, change gradients by their own size. What a loss adds to the number
    that it divides by, as BERT's does, changes them by a millionth, and is no mistake.
    """
    leaves = _compare(
        _doubles(name, runs_judged, expected), Runs(name, dict.fromkeys((FLOAT32, FLOAT64), expected)), True
    )
    failing = [leaf for leaf in leaves if leaf.verdict != PASS and not _share_of_largest(leaf) <= EQUAL_PARTS]
    return _describe(name, leaves, failing)


def _share_of_largest(leaf: Held) -> float:
    """The error over the largest value; infinite where nothing could be compared."""
    return float("inf") if leaf.bound is None else leaf.error


def blind(right: Runs, wrong_arrays: Arrays, mistake: str) -> Blind:
    """How many arrays of the last step show a mistake that was planted in the reference."""
    wrong = _doubles(mistake, wrong_arrays, right.by_dtype[FLOAT32])
    leaves = [leaf for leaf in _compare(wrong, right, with_state=True) if leaf.dtype == FLOAT64]
    last = max(_place(leaf)[1] for leaf in leaves)
    of_last = [leaf for leaf in leaves if _place(leaf)[1] == last and _place(leaf)[0] != LOSS]
    return Blind(mistake, sum(leaf.verdict == FAIL for leaf in of_last), len(of_last))


def _doubles(name: str, runs_judged: Arrays, narrow: Arrays) -> Runs:
    """A run in float64, with a float32 one that is right: what is asked is what the float64 rule says."""
    return Runs(name, {FLOAT32: narrow, FLOAT64: runs_judged})


def _compare(runs_judged: Runs, expected: Runs, with_state: bool) -> list[Held]:
    leaves = _by_gate(
        runs_judged.name,
        {dtype: _trained_arrays(arrays) for dtype, arrays in runs_judged.by_dtype.items()},
        {dtype: _trained_arrays(arrays) for dtype, arrays in expected.by_dtype.items()},
    )
    if not with_state:
        return leaves
    ours, theirs = (_state(runs.by_dtype[FLOAT64]) for runs in (runs_judged, expected))
    state = _by_gate(
        runs_judged.name, dict.fromkeys((FLOAT32, FLOAT64), ours), dict.fromkeys((FLOAT32, FLOAT64), theirs)
    )
    return [*leaves, *(leaf for leaf in state if leaf.place.found_from == JAX)]


def _by_gate(name: str, runs_judged: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> list[Held]:
    # The gate has an original and a port: here the reference, and what is judged.
    trajectories = {
        (mode, dtype): arrays
        for mode, by_dtype in ((TF_REFERENCE, expected), (PORT, runs_judged))
        for dtype, arrays in by_dtype.items()
    }
    evidence = Evidence(name, outputs={}, doubles={}, trajectories=trajectories)
    return list(held_leaves(evidence)["training"])


def _trained_arrays(arrays: Arrays) -> dict[str, np.ndarray]:
    """Weights, and each step's loss on its own: the first that departs is wanted, not the one that departs the most."""
    losses = {str(KeptArray(number, LOSS)): loss for number, loss in enumerate(arrays.get(LOSS, ()), start=1)}
    weights = {
        name: array
        for name, array in arrays.items()
        if (kept_array := kept_as(name)) is not None and kept_array.kind == WEIGHTS
    }
    return {name: np.asarray(loss) for name, loss in losses.items()} | weights


def _state(arrays: Arrays) -> dict[str, np.ndarray]:
    """The optimizer's state under names that the gate knows.

    It is judged in float64 alone, where it tells a wrong gradient to the last digits: rounding of squares of small
    gradients in float32 is nobody's result. It is widened: counts of steps are whole numbers, and an optimizer's rate
    stays narrow in a run of float64.
    """
    return {
        str(KeptArray(kept_array.step, _STATE + kept_array.path)): array.astype(np.float64)
        for name, array in arrays.items()
        if (kept_array := kept_as(name)) is not None and kept_array.kind == STATE
    }


def _place(leaf: Held) -> tuple[str, int]:
    """The array, and the step after which it was kept."""
    kept_array = kept_as(leaf.place.leaf)
    assert kept_array is not None
    return kept_array.path, kept_array.step


def _order(leaf: Held) -> tuple[int, bool, bool, float]:
    """The first step first, float64 before float32, losses before what is updated after them, what departs the most."""
    path, step = _place(leaf)
    return step, leaf.dtype != FLOAT64, path != LOSS, -_share(leaf)


def _share(leaf: Held) -> float:
    return leaf.error / leaf.limit if leaf.limit else float("inf")
