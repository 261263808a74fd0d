"""What rounding makes of a training run, element by element: optimizers make whole steps of noisy gradients."""

from __future__ import annotations

import dataclasses

import numpy as np

from compare.hlo import disturbing
from compare.parity.evidence import TRAJECTORY, Evidence, trajectories_as_runs
from compare.parity.holding import Held, Leaves
from compare.parity.measure import UNIT_ROUNDOFF, wide
from compare.prove.oracle import Doubles, Run
from compare.prove.own_formula import LARGEST, ROUNDINGS, is_wide
from compare.record.vocabulary import FAIL
from workloads._framework import STEP
from workloads._modes import JAX, TF

SAMPLES = 4
"""Disturbed steps that are compiled at most: one moves nearly all that rounding moves, and each costs a compilation."""


def moved_by_rounding(run: Run, doubles: Doubles, evidence: Evidence, leaves: Leaves) -> dict[str, np.ndarray]:
    """How far roundings in every value of the original's step move each element of a training run.

    By leaf, float64 in its shape; empty where float32 is right, or wrong in a way that no rounding explains: so is what
    fails in float64 too.

    Args:
      run: runs a float64 program of the original, disturbed or not.
      doubles: the float64 programs, and their results.
      evidence: tells what an error is relative to.
      leaves: what was held against its bound.

    Raises:
      UnreadableProgram: the original's step is no StableHLO.
      SideError: the JAX side cannot run it.
    """
    told = trajectories_as_runs(evidence)
    failed = [held for held in leaves["training"] if held.verdict == FAIL]
    program = doubles.programs.get((TF, STEP))
    if program is None or not failed or not all(_may_be_rounding(told, held) for held in failed):
        return {}
    off: dict[str, np.ndarray] = {}
    for held in failed:
        off[held.place.leaf] = np.maximum(_off(told, held), off.get(held.place.leaf, 0.0))
    base = run(program, STEP, [TRAJECTORY])[TRAJECTORY]
    moved = {leaf: np.zeros(array.shape) for leaf, array in base.items() if leaf in off}
    unit = UNIT_ROUNDOFF[evidence.computes_in or "float32"]
    for seed in range(SAMPLES):
        artifact = disturbing.disturbed(program.artifact, ROUNDINGS * unit, seed)
        disturbed = run(dataclasses.replace(program, artifact=artifact), STEP, [TRAJECTORY])[TRAJECTORY]
        for leaf, far in moved.items():
            np.maximum(far, np.abs(wide(disturbed[leaf]) - wide(base[leaf])), out=far)
        if all((far >= off[leaf]).all() for leaf, far in moved.items()):
            break
    return moved


def _may_be_rounding(told: Evidence, held: Held) -> bool:
    return (
        held.place.found_from != JAX
        and bool(np.isfinite(held.error))
        and held.error <= LARGEST["float32"]
        and not is_wide(told, held.place)
    )


def _off(told: Evidence, held: Held) -> np.ndarray:
    """The errors that are beyond the bound, and 0 elsewhere; float64 in the shape of the leaf."""
    leaf, expected = held.place.leaf, told.doubles[TF, STEP, TRAJECTORY]
    smallest = min(band.scale for band in told.scales(STEP, TRAJECTORY, expected).bands[leaf])
    errors = np.abs(wide(told.outputs[held.place.found_from, STEP, TRAJECTORY][leaf]) - wide(expected[leaf]))
    return np.where(errors > held.limit * smallest, errors, 0.0)
