"""How far a float64 result moves with the numbers that a program holds rounded to float32."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from compare.hlo.open_constants import UNIT_ROUNDOFF, move_constants, open_constants
from compare.parity.bands import Band, Scales
from compare.parity.evidence import Evidence, trajectories_as_runs
from compare.parity.measure import wide
from compare.prove.oracle import CONSTANT, Doubles, Run
from workloads._framework import STEP, Parameter, Program
from workloads._spec import Arrays

PERTURBATIONS = 3
"""How often the rounded constants are moved to see what such rounding does to the outputs."""


def explain_by_constants(
    run: Run, doubles: Doubles, evidence: Evidence, runs: Collection[tuple[str, str]], constants: bool
) -> dict[tuple[str, str, str, int], float]:
    """The relative spread of float64 results that numbers rounded to float32 explain.

    Of each pass, case, leaf and group of magnitudes.
    Every float32 state that a step starts from (a learning rate), and where wanted every such constant, is moved
    within its rounding a few times; the spreads of both sides add up.

    Args:
      run: runs a float64 program of either side.
      doubles: the float64 programs.
      evidence: tells what an error is relative to.
      runs: pass and case of those to explain.
      constants: whether constants are moved too; each pass costs one compilation a side.

    Raises:
      SideError: the JAX side cannot run the programs.
    """
    allowance: dict[tuple[str, str, str, int], float] = {}
    for (_, pass_), program in doubles.programs.items():
        cases = sorted(case for ran, case in runs if ran == pass_)
        opened = _open(program) if cases and constants else program
        if cases and (_constants(opened) or (pass_ == STEP and _rounded_states(program))):
            for place, spread in _spread(run, opened, pass_, evidence, cases).items():
                allowance[pass_, *place] = allowance.get((pass_, *place), 0.0) + spread
    return allowance


def _open(program: Program) -> Program:
    """The program with its rounded constants as states: other values of them are no other program."""
    opened = open_constants(program.artifact)
    states = {f"{CONSTANT}{at}": value for at, value in enumerate(opened.values)}
    parameters = [Parameter("state", name, value.shape, value.dtype.name) for name, value in states.items()]
    return dataclasses.replace(
        program,
        artifact=opened.artifact,
        parameters=(*program.parameters, *parameters),
        states={**program.states, **states},
    )


def _constants(program: Program) -> Arrays:
    """The constants that `_open` made states of."""
    return {name: array for name, array in program.states.items() if name.startswith(CONSTANT)}


def _spread(
    run: Run, program: Program, pass_: str, evidence: Evidence, cases: Sequence[str]
) -> dict[tuple[str, str, int], float]:
    told = trajectories_as_runs(evidence) if pass_ == STEP else evidence
    base = run(program, pass_, cases)
    scales = {case: told.scales(pass_, case, arrays) for case, arrays in base.items()}
    perturbed = (dataclasses.replace(program, states=_move_states(program, seed)) for seed in range(PERTURBATIONS))
    return largest_spreads(base, (run(moved, pass_, cases) for moved in perturbed), scales)


def _rounded_states(program: Program) -> bool:
    return any(array.dtype == np.float32 for array in program.states.values())


def _move_states(program: Program, seed: int) -> dict[str, np.ndarray]:
    """The states of a program, those that were rounded to float32 moved within that rounding."""
    constants, generator = _constants(program), np.random.default_rng(seed)
    moved = dict(zip(constants, move_constants(list(constants.values()), seed), strict=True))
    return {
        name: array * (1 + UNIT_ROUNDOFF * generator.uniform(-1, 1, array.shape))
        if array.dtype == np.float32
        else moved.get(name, array)
        for name, array in program.states.items()
    }


def largest_spreads(
    base: Mapping[str, Arrays], runs: Iterable[Mapping[str, Arrays]], scales: Mapping[str, Scales]
) -> dict[tuple[str, str, int], float]:
    """By case, leaf and group of magnitudes, how far any of the runs of moved programs is from the base.

    Args:
      base: by case, the leaves of the program as it is.
      runs: those of programs whose constants were moved.
      scales: by case, what errors are relative to.
    """
    spreads: dict[tuple[str, str, int], float] = {}
    for run in runs:
        for case, arrays in run.items():
            for leaf, array in arrays.items():
                # A gradient that TensorFlow does not have, as of a moving mean, is judged nowhere: a zero here.
                for rank, band in enumerate(scales[case].bands.get(leaf, ())):
                    spread = _relative_spread(array, base[case][leaf], band)
                    spreads[case, leaf, rank] = max(spreads.get((case, leaf, rank), 0.0), spread)
    return spreads


def _relative_spread(moved: np.ndarray, base: np.ndarray, band: Band) -> float:
    """How far the elements of one group of magnitudes were moved, relative to its largest."""
    counted = np.isfinite(moved) & np.isfinite(base)
    if band.others is not None:
        counted &= ~band.others
    gap = np.abs(np.where(counted, wide(moved), 0) - np.where(counted, wide(base), 0))
    return float(np.max(gap, initial=0)) / band.scale
