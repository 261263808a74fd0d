"""Training runs that start where a decision of the step turns, and the decisions that no run turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.hlo.clock_runs import Turns
from compare.hlo.conditions import Ways
from compare.hlo.watching import either
from compare.parity import unjudged
from compare.parity.measure import distance, scale_of
from compare.prove.placed_training import Placement, train_placed
from compare.prove.step_sides import MOST_BEFORE, SideClock, StepSide
from compare.prove.turning_data import runs_that_turn
from compare.sides._side import SIDES
from workloads.core.spec import Arrays
from workloads.protocol.framework import STEP, Program, Twin
from workloads.protocol.trajectory import LOSS

FARTHEST = 1_000_000
"""Steps within which decisions by a counter are looked for."""
FAR = (1000, 10_000)
"""Steps that are judged wherever anything depends on a counter: a curve may differ without any decision."""
WINDOW = 5
"""Steps of a run around a turn: two before it, and the two that follow."""
MOST_PLACED = 12
"""Runs around turns."""
ORDINARY = 4
"""Ordinary steps whose decisions over data are looked at; as many are taken before a far run where that may be."""
SELDOM = 3
"""Turns of a decision within the ordinary run that are too few to judge it by."""
SEVERAL = 16
"""Turns of a decision in all, of which the last is judged too; one that turns more often turns again and again."""
ALIKE = 1e-9
"""Relative to the largest value: two runs that are closer start from states that mean the same."""
MOST_OPERATIONS = 20_000
"""The most operations of a step: a larger one takes minutes to compile."""
SMALL = 2000
"""Operations of a step that is compiled for far steps alone: a larger one takes a minute."""


@dataclass(frozen=True)
class LateSteps:
    """Placed runs, their float64 arrays by side, pass and case, and remarks on decisions that none of them turns."""

    placements: Mapping[str, Placement] = field(default_factory=dict)
    arrays: Mapping[tuple[str, str, str], Arrays] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def late_steps(twin: Twin, programs: Mapping[str, Program], ordinary: int) -> LateSteps:
    """Runs around every step at which either side's training step decides otherwise than in the ordinary run.

    Counters are what they are after so many steps; all else is what some ordinary steps leave. Where a decision depends
    on data, batches and weights are multiplied until it turns.

    Args:
      programs: the float64 step of each side.
      ordinary: how many steps are judged anyway, each from TensorFlow's weights.

    Raises:
      UnreadableProgram: XLA does not run a step apart from its framework.
    """
    lacking = [side for side in SIDES if side not in programs or not _has_loss(programs[side])]
    if lacking:
        reason = f"there is no program of {lacking[0]}'s training step that returns the loss"
        return LateSteps(remarks=(unjudged.no_late_steps(reason),))
    sides = [StepSide(side, programs[side]) for side in SIDES]
    placing = _Placing(twin, sides, ordinary)
    if placing.operations > MOST_OPERATIONS:
        return LateSteps(remarks=(unjudged.no_late_steps(f"the training step has {placing.operations} operations"),))
    return placing.place()


@dataclass(frozen=True)
class _Placing:
    """Both sides of one workload, and how many steps are judged anyway."""

    twin: Twin
    sides: Sequence[StepSide]
    ordinary: int

    @property
    def operations(self) -> int:
        """The operations of the larger step."""
        return max(len(side.graph) for side in self.sides)

    def place(self) -> LateSteps:
        """All placed runs, and remarks on what none reaches."""
        observations = {side.side: self._watch(side) for side in self.sides if side.decisions or side.cuts}
        clocks, clock_remarks = self._clocks({name: cuts for name, (_, cuts) in observations.items()})
        turn_runs, remarks = self._around_turns(clocks)
        data_runs, more = runs_that_turn(
            self.twin, self.sides, {name: ways for name, (ways, _) in observations.items()}
        )
        runs = [self._run(variants) for variants in (*turn_runs, *([placement] for placement in data_runs))]
        return LateSteps(
            {placement.case: placement for placement, _ in runs},
            {(side, STEP, placement.case): arrays for placement, of in runs for side, arrays in of.items()},
            tuple(dict.fromkeys((*clock_remarks, *remarks, *more))),
        )

    def _watch(self, side: StepSide) -> tuple[list[Ways], dict[int, np.ndarray]]:
        """The results of decisions over data in ordinary steps, and the cut points with one value in all of them."""
        calls: list[list[np.ndarray]] = []
        train_placed(side.program, self.twin, Placement("", 0, ORDINARY), side.side, calls.append)
        first, *others = side.observe(calls)
        ways = first.ways
        for call in others:
            ways = either(ways, call.ways)
        cuts = {
            key: value
            for key, value in first.cuts.items()
            if all(np.array_equal(value, call.cuts[key]) for call in others)
        }
        return ways, cuts

    def _clocks(self, cuts: Mapping[str, Mapping[int, np.ndarray]]) -> tuple[dict[str, SideClock], list[str]]:
        """By side, its clock, and why there are none; neither where nothing that a step leaves depends on any."""
        every = [(side, side.clock(cuts.get(side.side, {}))) for side in self.sides]
        if not any(clock.is_read for _, clock in every):
            return {}, []
        names = [f"{side.side}'s {name}" for side, clock in every for name in side.find_uncounted(clock)]
        if names:
            return {}, [unjudged.no_late_steps(f"{names[0]} counts by more than the steps that were taken")]
        return {side.side: SideClock(side, clock, self.ordinary) for side, clock in every if clock.states}, []

    def _around_turns(self, clocks: Mapping[str, SideClock]) -> tuple[list[list[Placement]], list[str]]:
        """Runs around turns and at far steps, each in variants; and remarks on what is left out."""
        turns = {name: clock.turns(FARTHEST) for name, clock in clocks.items()}
        steps = sorted({step for of in turns.values() for turn in of for step in _turning(turn, self.ordinary)})
        remarks = [
            unjudged.never_decided(name, line, FARTHEST)
            for name, of in turns.items()
            for turn in of
            if (line := clocks[name].boundary_of(turn))
        ]
        starts = list(_starts(steps))
        if len(starts) > MOST_PLACED:
            remarks.append(unjudged.turns_left_out(len(starts) - MOST_PLACED, starts[MOST_PLACED] + 2))
            starts = starts[:MOST_PLACED]
        far = [step for step in FAR if clocks and not any(abs(step - start) < WINDOW for start in starts)]
        if far and not starts and self.operations > SMALL:
            return [], [*remarks, unjudged.no_far_steps(self.operations)]
        return [self._variants(clocks, start) for start in sorted({*starts, *far})], remarks

    def _variants(self, clocks: Mapping[str, SideClock], start: int) -> list[Placement]:
        """A run from a step, after as many ordinary steps as leave the same remainders; two where none do.

        Sums of what was accumulated mean the same on both sides only where remainders are alike, or where there are
        none yet; averages do after any step but the first.
        """
        then = {name: clock.moments([start])[0] for name, clock in clocks.items()}
        counters = {name: moment.states for name, moment in then.items()}
        fitting = [
            before
            for before in (*range(ORDINARY, MOST_BEFORE), *range(1, ORDINARY))
            if all(clock.is_like(before, then[name]) for name, clock in clocks.items())
        ]
        return [
            Placement(f"trajectory from step {start}", start, WINDOW, before, counters)
            for before in fitting[:1] or (ORDINARY, 0)
        ]

    def _run(self, variants: Sequence[Placement]) -> tuple[Placement, dict[str, Arrays]]:
        """A placed run of both sides: the first variant in which they agree, or else the first."""
        runs: list[tuple[Placement, dict[str, Arrays]]] = []
        for placement in variants:
            arrays: dict[str, Arrays] = {
                side.side: train_placed(side.program, self.twin, placement, side.side) for side in self.sides
            }
            runs.append((placement, arrays))
            if _agree(*arrays.values()):
                return runs[-1]
        return runs[0]


def _has_loss(program: Program) -> bool:
    return any(result.name == LOSS for result in program.results)


def _turning(turn: Turns, ordinary: int) -> Iterator[int]:
    """Steps around which a decision is judged: it turns there as it seldom or never does in the ordinary run."""
    if turn.first is not None and turn.early < SELDOM:
        yield turn.first
    if turn.last is not None and turn.last >= ordinary and turn.all <= SEVERAL:
        yield turn.last


def _starts(steps: Iterable[int]) -> Iterator[int]:
    """Where runs start that have each of some steps, in order, and the one before it."""
    start = None
    for step in steps:
        if start is None or step > start + WINDOW - 1:
            start = max(step - 2, 0)
            yield start


def _agree(some: Arrays, others: Arrays) -> bool:
    return some.keys() == others.keys() and all(
        array.shape == others[leaf].shape and distance(others[leaf], array, scale_of(array, 0.0)).error < ALIKE
        for leaf, array in some.items()
    )
