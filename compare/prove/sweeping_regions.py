"""A pass swept region by region: what rules prove needs no call, and the others run from TensorFlow's values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from compare.hlo import bindings, disturbing, executing, promote, values
from compare.hlo.align import align
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import STRUCTURE
from compare.hlo.pair import Pair
from compare.hlo.write_module import written
from compare.inputs.at_size import Prepared
from compare.parity import messages
from compare.parity.breaks import Extent, Outcome, Reached
from compare.parity.measure import UNIT_ROUNDOFF, is_float, largest
from compare.parity.stability import BETTER, HOLDS, UNJUDGED, Rounding
from compare.prove.running import arguments
from compare.prove.subjects import cases, first_inputs, subjects, twin_of
from compare.prove.swept_calls import MOST_ELEMENTS, CallResults, judge_calls, plan_calls
from compare.record.parity_part import Call
from compare.record.vocabulary import PASS
from compare.regions.checking import find_faults
from compare.regions.feeding import find_more_matches
from compare.regions.open_programs import OpenPrograms, count_roundings, merge_regions
from compare.regions.parts import Regions
from compare.regions.proving import OPEN, Proofs, prove
from compare.regions.sampling import widen
from compare.regions.splitting import split
from workloads import _sweeps
from workloads._framework import GRADIENTS, Program
from workloads._spec import Arrays
from workloads._sweeps import Probe

MOST_OPERATIONS = 1 << 14
"""Of the open regions together: where no values were matched, regions repeat one another."""
_FINE = (HOLDS, BETTER, UNJUDGED)


@dataclass(frozen=True)
class SweptRegions:
    """A pass that holds wherever TensorFlow does.

    Attributes:
      reached: by swept input, how far.
      says: how it was judged, in a line.
    """

    reached: tuple[Reached, ...]
    says: str


def sweep_regions(pass_: str, prepared: Prepared, programs: Pair[Program], dtype: str) -> SweptRegions | None:
    """The sweep of a pass by its regions; None where one does not hold or cannot be judged alone.

    Then nothing is known of the pass, and both programs are swept as they are.

    Args:
      pass_: forward or gradients.
      prepared: the workload, and the arrays that it is judged on.
      programs: TensorFlow's and the port's.
      dtype: the narrowest type that is computed in.

    Raises:
      ProgramLost: a program ended the process that ran it, or did not end.
    """
    try:
        proofs = _prove(programs, prepared)
        if proofs is None:
            return None
        probes = plan_calls(prepared.inputs, twin_of(prepared))
        opened = sum(judged.level == OPEN for judged in proofs.judged)
        if not opened:
            return SweptRegions(_reached(pass_, dict.fromkeys(probes, Outcome(HOLDS)), calls=False),
                                messages.pass_proved(pass_, len(proofs.judged)))  # fmt: skip
        if sum(math.prod(spec.shape) for spec in prepared.inputs.values()) > MOST_ELEMENTS:
            return None
        outcomes = _Sweep(pass_, prepared, programs, proofs, dtype).judge(probes)
    except executing.ProgramLost:
        raise
    except (UnreadableProgram, promote.PromotionError):
        # What cannot be cut is swept whole.
        return None
    if outcomes is None:
        return None
    says = messages.regions_hold(pass_, len(proofs.judged), opened, len(probes))
    return SweptRegions(_reached(pass_, outcomes, calls=True), says)


def _prove(programs: Pair[Program], prepared: Prepared) -> Proofs | None:
    """What rules prove of the regions of both programs; None where they do not cover both."""
    left, right = subjects(programs.left, programs.right)
    drawn = cases(programs.left, programs.right, prepared)
    alignment = align(left, right, STRUCTURE, drawn)
    if not alignment.is_equal:
        alignment = find_more_matches(alignment, drawn)
    regions = split(alignment)
    if regions.uncovered or find_faults(regions, alignment):
        return None
    proofs = prove(regions)
    return None if any(judged.reason for judged in proofs.judged) else proofs


def _reached(pass_: str, outcomes: Mapping[Probe, Outcome], *, calls: bool) -> tuple[Reached, ...]:
    """How far each input may go: nothing breaks, and what was judged is what is said."""
    return tuple(
        Reached(
            moved,
            pass_,
            PASS,
            tuple(
                _extent({probe: outcomes[probe] for probe in outcomes if (probe.moved, probe.pattern) == key}, calls)
                for key in dict.fromkeys((probe.moved, probe.pattern) for probe in outcomes if probe.moved == moved)
            ),
        )
        for moved in dict.fromkeys(probe.moved for probe in outcomes)
    )


def _extent(outcomes: Mapping[Probe, Outcome], calls: bool) -> Extent:
    ordered = sorted(outcomes, key=lambda probe: probe.magnitude)
    judged = [probe.magnitude for probe in ordered if outcomes[probe].status != UNJUDGED] or [None]
    made = tuple(Call(probe.magnitude, outcomes[probe].status) for probe in ordered) if calls else ()
    return Extent(ordered[0].pattern, judged[0], judged[-1], made)


class _Sweep:
    """The open regions of one pass, compiled."""

    def __init__(self, pass_: str, prepared: Prepared, programs: Pair[Program], proofs: Proofs, dtype: str) -> None:
        self._regions, self._programs, self._specs = proofs.regions, programs, prepared.inputs
        self._twin = twin_of(prepared)
        self._base = first_inputs(self._twin, self._specs)
        opened = [judged.region for judged in proofs.judged if judged.level == OPEN]
        self._open = merge_regions(opened, self._regions)
        if max(map(len, self._open.graphs)) > MOST_OPERATIONS:
            raise UnreadableProgram(f"expected at most {MOST_OPERATIONS:,} operations in open regions")
        self._cut_values = _CutValues(self._regions, self._open.read)
        # Weights are the same in both programs; what is computed, and what a caller hands over, is rounded.
        weights = {at for at, parameter in enumerate(programs.left.parameters) if parameter.kind != "input"}
        self._moves = [at not in weights for at in self._cut_values.positions]
        artifacts = self._open.graphs.map(lambda graph: bindings.bytecode_of_hlo(written(graph)))
        exact = promote.promote(artifacts.left)
        self._original, self._port = artifacts.map(executing.compile_bytecode)
        self._exact = executing.compile_bytecode(exact)
        self._disturbed = disturbing.disturbed(exact, UNIT_ROUNDOFF[dtype])
        self._rounding = self._measure(pass_, dtype)

    def judge(self, probes: Sequence[Probe]) -> dict[Probe, Outcome] | None:
        """What each call says; None as soon as one does not hold."""
        outcomes: dict[Probe, Outcome] = {}
        for probe in probes:
            taken = self._taken(_sweeps.drawn(probe, self._specs, self._base))
            ((_, outcome),) = judge_calls(
                [self._results(taken)], self._rounding, lambda _, seed, taken=taken: [self._sample(taken, seed)]
            )
            if outcome.status not in _FINE:
                return None
            outcomes[probe] = outcome
        return outcomes

    def _measure(self, pass_: str, dtype: str) -> Rounding:
        info, unit = ml_dtypes.finfo(np.dtype(dtype)), UNIT_ROUNDOFF[dtype]
        times = max(count_roundings(region, self._regions.graphs.left) for region in self._open.regions)
        # As of a whole program: what is lost in the rounding of an ordinary gradient is lost anyway.
        ordinary = self._results(self._taken(self._base)).exact if pass_ == GRADIENTS else {}
        rounded = min(times * unit, math.sqrt(unit))
        floors = {leaf: rounded * largest([array]) for leaf, array in ordinary.items() if is_float(array)}
        return Rounding(unit, float(info.smallest_normal), float(info.max), times, floors, digits=1.0)

    def _taken(self, inputs: Arrays) -> _Taken:
        """What both sides' regions are given in a call."""
        left, right = (arguments(program, self._twin, inputs) for program in self._programs)
        own = [
            [side[graph.parameters.index(key)] for key in alone]
            for side, graph, alone in zip((left, right), self._regions.graphs, self._open.alone, strict=True)
        ]
        return _Taken(self._cut_values(left), Pair(*own))

    def _results(self, taken: _Taken) -> CallResults:
        original = self._original([*taken.shared, *taken.own.left])
        port = self._port([*taken.shared, *taken.own.right])
        exact = self._exact([widen(array) for array in (*taken.shared, *taken.own.left)])
        return CallResults(*_by_leaf(self._open, original, port, exact))

    def _sample(self, taken: _Taken, seed: int) -> Arrays:
        """The exact values with every value moved by a rounding, those that the regions are given too."""
        generator, unit = np.random.default_rng(seed), self._rounding.unit
        moved = [
            widen(array) * (1 + unit * generator.uniform(-1, 1, array.shape)) if moves and is_float(array)
            else widen(array)
            for array, moves in zip(taken.shared, self._moves, strict=True)
        ]  # fmt: skip
        run = executing.compile_bytecode(self._disturbed)([*moved, *map(widen, taken.own.left)])
        return _by_leaf(self._open, run, run, run)[2]


@dataclass(frozen=True)
class _Taken:
    """Arrays that the regions are given in a call: at cut points, and to parameters of one program alone."""

    shared: Sequence[np.ndarray]
    own: Pair[Sequence[np.ndarray]]


class _CutValues:
    """What TensorFlow's program has at cut points.

    Attributes:
      positions: of those that are parameters, the position; None of what is computed.
    """

    def __init__(self, regions: Regions, read: Sequence[int]) -> None:
        graph = regions.graphs.left
        self._keys = [regions.cut_points[at].nodes.left[0] for at in read]
        known = {key: at for at, key in enumerate(graph.parameters)}
        self.positions = [known.get(key) for key in self._keys]
        computed = [key for key in self._keys if key not in known]
        self._prepared = values.prepare(graph, computed) if computed else None

    def __call__(self, given: Sequence[np.ndarray]) -> list[np.ndarray]:
        computed = self._prepared.each([given])[0] if self._prepared else {}
        return [computed[key] if at is None else given[at] for key, at in zip(self._keys, self.positions, strict=True)]


def _by_leaf(
    opened: OpenPrograms, original: Sequence[np.ndarray], port: Sequence[np.ndarray], exact: Sequence[np.ndarray]
) -> tuple[Arrays, Arrays, Arrays]:
    """The port's, TensorFlow's and the exact values of every region: each of its outputs beside TensorFlow's first."""
    first = {at: place for place, (at, output) in enumerate(opened.results(0)) if output == 0}
    found = {f"{at}.{output}": (at, array) for (at, output), array in zip(opened.results(1), port, strict=True)}
    # TensorFlow may compute a cut point several times: all of these are claimed to be one value.
    again = zip(opened.results(0), original, strict=True)
    found |= {f"{at}.tf{output}": (at, array) for (at, output), array in again if output}
    return (
        {leaf: array for leaf, (_, array) in found.items()},
        {leaf: original[first[at]] for leaf, (at, _) in found.items()},
        {leaf: exact[first[at]] for leaf, (at, _) in found.items()},
    )
