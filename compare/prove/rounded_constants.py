"""Measures how far a float64 result moves with those numbers of a program that are rounded to float32."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from compare.hlo.disturbing import disturb_array
from compare.hlo.open_constants import UNIT_ROUNDOFF, move_constants, open_constants
from compare.parity.bands import Band, Scales
from compare.parity.evidence import Evidence, trajectories_as_runs
from compare.parity.measure import wide
from compare.prove.oracle import CONSTANT, Doubles, Run
from workloads.core.spec import Arrays
from workloads.protocol.framework import STEP, Parameter, Program

PERTURBATIONS = 3
"""The most samples of moved constants."""

Allowance = dict[tuple[str, str, str, int], float]
"""By pass, case, leaf and group of magnitudes, a relative spread."""
_Side = tuple[str, str]
"""A side, and a pass of it."""


class ConstantSpreads:
    """How far float64 results move with numbers rounded to float32; each sample is a run of both sides.

    Args:
      evidence: tells what an error is relative to.
      constants: whether constants are moved beside the states that a step starts from (a learning rate); each pass
        costs one compilation a side.
    """

    def __init__(self, evidence: Evidence, constants: bool) -> None:
        self._evidence, self._constants = evidence, constants
        self._opened: dict[_Side, Program] = {}
        self._base: dict[_Side, dict[str, Arrays]] = {}
        self._spreads: dict[_Side, Allowance] = {}

    def measure(self, run: Run, doubles: Doubles, runs: Collection[tuple[str, str]], seed: int) -> Allowance:
        """The relative spread of each pass, case, leaf and group of magnitudes in all roundings so far, of both sides.

        Args:
          run: runs a float64 program of either side.
          doubles: the float64 programs, the same ones in each call.

        Raises:
          SideError: the JAX side cannot run the programs.
        """
        allowance: Allowance = {}
        for side, program in doubles.programs.items():
            cases = sorted(case for ran, case in runs if ran == side[1])
            if cases and self._moves(side, program):
                for place, spread in self._measure_side(run, side, cases, seed).items():
                    allowance[place] = allowance.get(place, 0.0) + spread
        return allowance

    def _moves(self, side: _Side, program: Program) -> bool:
        if side not in self._opened:
            self._opened[side] = _open(program) if self._constants else program
        open_program = self._opened[side]
        return bool(_constants(open_program)) or (side[1] == STEP and _has_rounded_states(open_program))

    def _measure_side(self, run: Run, side: _Side, cases: Sequence[str], seed: int) -> Allowance:
        pass_, program, base = side[1], self._opened[side], self._base.setdefault(side, {})
        missing = [case for case in cases if case not in base]
        if missing:
            base |= run(program, pass_, missing)
        relative_to = trajectories_as_runs(self._evidence) if pass_ == STEP else self._evidence
        scales = {case: relative_to.scales(pass_, case, base[case]) for case in cases}
        variant = dataclasses.replace(program, states=_move_states(program, seed))
        spreads = self._spreads.setdefault(side, {})
        for place, spread in largest_spreads(base, [run(variant, pass_, cases)], scales).items():
            spreads[pass_, *place] = max(spreads.get((pass_, *place), 0.0), spread)
        return spreads


def _open(program: Program) -> Program:
    """The program with its rounded constants as states: it need not be compiled again for other values."""
    open_program = open_constants(program.artifact)
    states = {f"{CONSTANT}{number}": value for number, value in enumerate(open_program.values)}
    parameters = [Parameter("state", name, value.shape, value.dtype.name) for name, value in states.items()]
    return dataclasses.replace(
        program,
        artifact=open_program.artifact,
        parameters=(*program.parameters, *parameters),
        states={**program.states, **states},
    )


def _constants(program: Program) -> Arrays:
    """The constants that `_open` made states of."""
    return {name: array for name, array in program.states.items() if name.startswith(CONSTANT)}


def _has_rounded_states(program: Program) -> bool:
    return any(array.dtype == np.float32 for array in program.states.values())


def _move_states(program: Program, seed: int) -> dict[str, np.ndarray]:
    """The states of a program, those that were rounded to float32 moved within that rounding."""
    constants, generator = _constants(program), np.random.default_rng(seed)
    new_constants = dict(zip(constants, move_constants(list(constants.values()), seed), strict=True))
    return {
        name: disturb_array(array, UNIT_ROUNDOFF, generator)
        if array.dtype == np.float32
        else new_constants.get(name, array)
        for name, array in program.states.items()
    }


def largest_spreads(
    base: Mapping[str, Arrays], runs: Iterable[Mapping[str, Arrays]], scales: Mapping[str, Scales]
) -> dict[tuple[str, str, int], float]:
    """By case, leaf and group of magnitudes, how far any of the runs of moved programs is from the base.

    Args:
      base: by case, the leaves of the program as it is.
      scales: by case, what errors are relative to.
    """
    spreads: dict[tuple[str, str, int], float] = {}
    for run in runs:
        for case, arrays in run.items():
            for leaf, array in arrays.items():
                # A gradient that TensorFlow does not have, such as that of a moving mean, is not judged.
                for rank, band in enumerate(scales[case].bands.get(leaf, ())):
                    spread = _relative_spread(array, base[case][leaf], band)
                    spreads[case, leaf, rank] = max(spreads.get((case, leaf, rank), 0.0), spread)
    return spreads


def _relative_spread(variant: np.ndarray, base: np.ndarray, band: Band) -> float:
    """How far the elements of one group of magnitudes were moved, relative to its largest."""
    mask = np.isfinite(variant) & np.isfinite(base)
    if band.others is not None:
        mask &= ~band.others
    gap = np.abs(np.where(mask, wide(variant), 0) - np.where(mask, wide(base), 0))
    return float(np.max(gap, initial=0)) / band.scale
