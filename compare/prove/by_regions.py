"""Runs that come apart from TensorFlow's by what was amplified: judged region by region.

A relu that rounding turns, or a moment of Adam that is all rounding, takes a run far from another that is as right. A
region is given the values that TensorFlow's program has there, so that nothing was amplified before it. If each rounds
as TensorFlow's does, the run is as right as TensorFlow's. It may come no farther apart than roundings of what
TensorFlow's program is given move its own results: a compiler may break what no region shows.

A training step is judged in float64 too: its float64 run may hold a rate or another constant that was rounded to
float32 on one side alone. The programs that users run hold the same constants, and their regions agree in float64.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.narrowings import rounds_further
from compare.hlo.pair import Pair
from compare.hlo.promote import PromotionError
from compare.inputs.at_size import Prepared
from compare.parity import messages
from compare.parity.evidence import FLOAT32, TRAJECTORY, Amplified
from compare.parity.holding import Held, Leaves
from compare.parity.measure import UNIT_ROUNDOFF, largest, pattern, wide
from compare.progress import Reporter
from compare.prove.collect import Collected
from compare.prove.exact_regions import regions_hold_exactly
from compare.prove.moved_arguments import grow_spreads, measure_spreads
from compare.prove.open_regions import Arguments
from compare.prove.oracle import Doubles, promote_program
from compare.prove.region_calls import FINE, RegionCalls
from compare.prove.running import arguments, running
from compare.prove.shared_parameters import Slots, pair_slots, without_pairs
from compare.prove.split_programs import Split, SplitPrograms, split_on_cases
from compare.prove.step_states import GuidedRun
from compare.prove.subjects import subjects
from compare.record.vocabulary import FAIL, PASS_WORDS
from compare.sides._side import SIDES
from workloads.core.modes import JAX
from workloads.protocol.framework import STEP, Program, Twin
from workloads.protocol.trajectory import kept_as

Run = tuple[str, str]
"""A pass and a case."""

LAST_STATE = 3
"""The last failing step up to this one is judged besides the first one, whose states are zeros."""
AS_TELLING = 0.25
"""An earlier step with at least this share of the largest error is judged instead: a state costs the steps to it."""
SAME_START = 2 * UNIT_ROUNDOFF[FLOAT32]
"""Relative to the largest value: two roundings of a state that no step has changed yet."""
SAME_STATE = 1e-4
"""Relative to the largest value: states that are farther apart mean something else, as a velocity and a sum do."""


@dataclass(frozen=True)
class RegionJudge:
    """Judges the runs of one workload that fail in float32 alone.

    Attributes:
      instance: the workload, and the arrays that it is judged on.
      twin: the same with cases that neither side was given.
      deliveries: what each side delivered, by side.
      doubles: the float64 programs, and TensorFlow's weights where training was guided by them.
      dtype: the narrowest type that is computed in.
      reporter: shows the progress.
    """

    instance: Prepared
    twin: Twin
    deliveries: Mapping[str, Collected]
    doubles: Doubles
    dtype: str
    reporter: Reporter

    def explain(self, runs: Collection[tuple[str, str]], leaves: Leaves) -> dict[Run, Iterator[Amplified]]:
        """By pass and case, the runs whose regions hold, each with spreads that grow from sample to sample.

        Args:
          runs: each that fails in float32 alone.
        """
        explanations: dict[Run, Iterator[Amplified]] = {}
        for pass_ in sorted({pass_ for pass_, _ in runs}):
            self._show(pass_, "splitting both programs into regions")
            failing = sorted(case for ran, case in runs if ran == pass_)
            # A run that cannot be split into regions, or not be run here, stays a failure.
            with contextlib.suppress(PromotionError, UnreadableProgram):
                explanations |= {(pass_, case): one for case, one in self._explain(pass_, failing, leaves)}
        return explanations

    def _explain(self, pass_: str, failing: Sequence[str], leaves: Leaves) -> Iterator[tuple[str, Iterator[Amplified]]]:
        candidates = [self.deliveries[side].programs.get((pass_, FLOAT32)) for side in SIDES if side in self.deliveries]
        programs = [program for program in candidates if program is not None]
        if len(programs) < len(SIDES) or rounds_further(*(program.artifact for program in programs)):
            return
        if pass_ != STEP:
            yield from self._explain_cases(pass_, Pair(*programs), failing)
        elif failing == [TRAJECTORY] and self.doubles.guide:
            yield from self._explain_training(Pair(*programs), leaves)

    def _explain_cases(
        self, pass_: str, programs: Pair[Program], failing: Sequence[str]
    ) -> Iterator[tuple[str, Iterator[Amplified]]]:
        calls = [
            programs.map(lambda program, case=case: arguments(program, self.twin, self.twin.cases[case]))
            for case in failing
        ]
        judgement = self._judge(pass_, split_on_cases(self.instance, programs), calls)
        if judgement is None:
            return
        regions, fine = judgement
        original = running(programs.left, self.twin)
        says = messages.amplification(regions.regions, regions.count_open, len(calls))
        for case, call, is_fine in zip(failing, calls, fine, strict=True):
            if is_fine:
                yield case, _amplify(grow_spreads(original, call.left, self._unit), says)

    def _explain_training(self, programs: Pair[Program], leaves: Leaves) -> Iterator[tuple[str, Iterator[Amplified]]]:
        states = _choose_states(leaves)
        guided_run = GuidedRun(self.twin, self.doubles.guide)
        self._show(STEP, f"states of step {', '.join(map(str, states))}")
        # With the constants of the programs that are judged: those of a native float64 step have other roundings.
        records = programs.map(lambda program: guided_run.record(promote_program(program), states))
        exact = [records.map(lambda side, step=step: [*side[step].values()]) for step in states]
        calls = [
            Pair(*(_narrow(program, side) for program, side in zip(programs, call, strict=True))) for call in exact
        ]
        slots = _pair_states(programs, calls)
        split = Pair(*subjects(programs.left, programs.right, slots=slots))
        own = {name for side in slots for name in side.results if name.startswith("state ")}
        common = set(slots[0].results) & set(slots[1].results)
        # Matched in the last state alone: earlier ones hold more zeros, and refute what is equal by chance.
        judgement = self._judge(STEP, SplitPrograms(split, calls[-1:], own - common), calls)
        if judgement is None or not all(judgement[1]):
            return
        regions = judgement[0]
        if regions.opened is not None:
            weights = [position for position, one in enumerate(programs.left.parameters) if one.kind == "weight"]
            scales = [largest(call.left[position] for position in weights) for call in exact]
            self._show(STEP, "judging regions in float64")
            if not regions_hold_exactly(regions.opened, exact, scales):
                return
        run = running(programs.left, self.twin)
        spreads = measure_spreads(lambda seed: guided_run.train(run, seed, self._unit))
        yield TRAJECTORY, _amplify(spreads, messages.amplification(regions.regions, regions.count_open, len(calls)))

    def _judge(
        self, pass_: str, programs: SplitPrograms, calls: Sequence[Arguments]
    ) -> tuple[Split, Sequence[bool]] | None:
        """The regions, and in which calls all hold; None where the programs cannot be split."""
        self._show(pass_, "checking values that both programs have")
        regions = programs.find_regions(calls)
        if regions is None:
            return None
        if regions.opened is None:
            return regions, [True] * len(calls)
        judge = RegionCalls(pass_, regions.opened, calls[0], self.dtype, regions.opened.roundings)
        self._show(pass_, f"judging {regions.count_open} regions, {regions.count_kinds} distinct")
        at_once = regions.opened.at_once
        outcomes = [
            outcome
            for start in range(0, len(calls), at_once)
            for outcome in judge.judge_all(calls[start : start + at_once])
        ]
        return regions, [outcome.status in FINE for outcome in outcomes]

    def _show(self, pass_: str, doing: str) -> None:
        self.reporter.detail(f"{PASS_WORDS[pass_]}, float32: {doing}")

    @cached_property
    def _unit(self) -> float:
        return UNIT_ROUNDOFF[self.dtype]


def _amplify(spreads: Iterator[Mapping[str, float]], says: str) -> Iterator[Amplified]:
    """The amplification that each spread explains; ends if the program cannot run apart from its framework."""
    with contextlib.suppress(PromotionError, UnreadableProgram):
        for spread in spreads:
            yield Amplified(spread, says)


def _choose_states(leaves: Leaves) -> list[int]:
    """Numbers of the steps that are judged, from 1: the first that fail, and the worst in either width.

    A step that is much farther off than others is judged itself: a rate that is wrong from some step on is found there.
    """
    failing = [leaf for leaf in leaves["training"] if leaf.place.case == TRAJECTORY and leaf.verdict == FAIL]
    by_width = [
        [leaf for leaf in failing if (leaf.place.found_from == JAX) is is_double] for is_double in (True, False)
    ]
    steps = sorted(map(_find_step, failing))
    early = [step for step in steps if step <= LAST_STATE] or steps[:1]
    return sorted({early[0], early[-1], *(_find_worst_step(of_width) for of_width in by_width if of_width)})


def _find_worst_step(failing: Sequence[Held]) -> int:
    """The first step that is about as far beyond its bound as any."""
    excess = {leaf.place: leaf.error / leaf.limit for leaf in failing}
    return min(_find_step(leaf) for leaf in failing if excess[leaf.place] >= AS_TELLING * max(excess.values()))


def _find_step(leaf: Held) -> int:
    """The number of the step that a leaf is farthest off in."""
    checkpoint = kept_as(leaf.place.leaf)
    return leaf.far.index[0] + 1 if checkpoint is None else checkpoint.step


def _narrow(program: Program, exact: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The arguments of a program, cast from those in float64."""
    return [array.astype(parameter.dtype) for array, parameter in zip(exact, program.parameters, strict=True)]


def _pair_states(programs: Pair[Program], calls: Sequence[Arguments]) -> list[Slots]:
    """Names of what both take, those of states shared only where they hold the same values after some steps."""
    slots = pair_slots(list(programs))
    states = {name for name in slots[0].parameters if name.startswith("state ")} & set(slots[1].parameters)
    places = [(name, *(side.parameters.index(name) for side in slots)) for name in states]
    differing = {
        name
        for name, left, right in places
        if not _starts_alike(programs, left, right)
        or any(not _is_same(call.left[left], call.right[right], SAME_STATE) for call in calls)
    }
    return without_pairs(slots, differing)


def _starts_alike(programs: Pair[Program], left: int, right: int) -> bool:
    """Whether a state has one value before the first step: no rounding makes up for another one."""
    places = zip(programs, (left, right), strict=True)
    one, other = (program.states.get(program.parameters[place].name) for program, place in places)
    return one is None or other is None or _is_same(one, other, SAME_START)


def _is_same(one: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    if one.shape != other.shape or not np.array_equal(pattern(one), pattern(other)):
        return False
    return largest([wide(one) - wide(other)]) <= tolerance * largest([one, other])
