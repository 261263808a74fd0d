"""One side's training step as what decides in it: by its count of steps, by data, and the state that it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo import values
from compare.hlo.branchless import without_conditionals
from compare.hlo.clock_runs import ClockRun, Turns
from compare.hlo.clocks import COUNTED, Clock, Dependence, clock_of, cuts
from compare.hlo.conditions import Condition, Ways, decisions, ways_of
from compare.hlo.graph import Node, find_needed
from compare.prove.subjects import Readable
from workloads._framework import Program
from workloads._spec import Arrays
from workloads._trajectory import LOSS
from workloads._unroll import STATE

MOST_DECISIONS = 64
"""Over data, of a step: those of a model are judged by its forward pass and its gradients."""

MOST_BEFORE = 48
"""Steps that may be taken before a far run, until remainders are what they are there."""


@dataclass(frozen=True)
class Seen:
    """One call of a step: its loss, which ways its decisions over data went, and the cuts by node."""

    loss: float
    ways: list[Ways]
    cuts: Mapping[int, np.ndarray]


class StepSide:
    """The step of one side, in float64."""

    def __init__(self, side: str, program: Program) -> None:
        """Read it.

        Raises:
          UnreadableProgram: XLA does not take the program.
        """
        self.side, self.program = side, program
        self.graph = without_conditionals(Readable(side, program).graph)
        results = {result.name: at for at, result in enumerate(program.results)}
        states = {
            at: parameter.name
            for at, parameter in enumerate(program.parameters)
            if parameter.kind == "state" and self.graph.nodes[self.graph.parameters[at]].shape.dtype in COUNTED
        }
        self._states = {at: results[STATE + name] for at, name in states.items() if STATE + name in results}
        self._fixed = {at: program.states[name] for at, name in states.items() if at not in self._states}
        self._loss = self.graph.results[results[LOSS]]
        self.cuts = cuts(self.graph, self._states, self._fixed)

    @cached_property
    def decisions(self) -> tuple[Condition, ...]:
        """Decisions over data that are made after the loss, of one value or one a weight's element."""
        depends = Dependence(self.graph)
        known = sum(1 << at for at in {**depends.counting(self._states, self._fixed), **self._fixed})
        weights = {tuple(given.shape) for given in self.program.parameters if given.kind == "weight"}
        before_loss = find_needed(self.graph.nodes, [self._loss])
        # Whether the loss itself is finite, or above a limit, is asked by the step.
        of_model = before_loss - {self._loss}
        alive = find_needed(self.graph.nodes, self.graph.results)

        def is_of_step(node: Node, *keys: int) -> bool:
            shape = self.graph.nodes[keys[0]].shape
            return (
                node.id in alive - before_loss
                and (shape.elements == 1 or shape.dimensions in weights)
                and any(depends.of[key] & ~known and key not in of_model for key in keys)
            )

        of_step = [
            decision
            for decision in decisions(self.graph)
            if is_of_step(self.graph.nodes[decision.node], decision.left, decision.right)
        ]
        return tuple(of_step[:MOST_DECISIONS])

    @cached_property
    def _observer(self) -> values.PreparedGraph:
        keys = {
            self._loss,
            *self.cuts,
            *(key for decision in self.decisions for key in (decision.left, decision.right)),
        }
        return values.prepare(self.graph, sorted(keys))

    def seen(self, calls: Sequence[Sequence[np.ndarray]]) -> list[Seen]:
        """What is seen of each call.

        Args:
          calls: arguments of the step.

        Raises:
          UnreadableProgram: XLA cannot run the step with those values as results.
        """
        return [
            Seen(
                float(values_of[self._loss].reshape(-1)[0]),
                [ways_of(decision, values_of[decision.left], values_of[decision.right]) for decision in self.decisions],
                {key: values_of[key] for key in self.cuts},
            )
            for values_of in self._observer.each(calls)
        ]

    def clock(self, taken: Mapping[int, np.ndarray]) -> Clock:
        """The state that time alone changes.

        Args:
          taken: by node, what decisions over data came out as so far.
        """
        return clock_of(self.graph, self._states, self._fixed, taken)

    def uncounted(self, clock: Clock) -> list[str]:
        """Whole numbers that a step changes by more than time: after so many steps nobody knows them without training.

        Args:
          clock: of this step.
        """
        nodes, parameters, results = self.graph.nodes, self.graph.parameters, self.graph.results
        return [
            self.name_of(at)
            for at, to in self._states.items()
            if at not in clock.states and results[to] != parameters[at]
            and nodes[parameters[at]].shape.elements == 1 and nodes[parameters[at]].shape.dtype[0] in "su"
        ]  # fmt: skip

    def name_of(self, at: int) -> str:
        """The state that a parameter is filled with."""
        return self.program.parameters[at].name


@dataclass(frozen=True)
class Moment:
    """A clock as a step begins: the states that count, by name, and the remainders that the step computes of them."""

    states: Arrays
    remainders: tuple[np.ndarray, ...]


class SideClock:
    """A step's clock, ready to be read after any number of steps."""

    def __init__(self, of: StepSide, clock: Clock, ordinary: int) -> None:
        """Compile it.

        Raises:
          UnreadableProgram: XLA does not take it apart from the step.
        """
        self._of, self._clock = of, clock
        self._run = ClockRun(clock, ordinary)
        self._start = {at: of.program.states[of.name_of(at)] for at in clock.states}

    def turns(self, steps: int) -> tuple[Turns, ...]:
        """When each decision turns within so many steps."""
        return self._run.after([steps], self._start)[0].turns

    def moments(self, steps: Sequence[int]) -> list[Moment]:
        """The clock after each of some numbers of steps."""
        # What a step computes is known once it was run.
        readings = self._run.after([*steps, *(step + 1 for step in steps)], self._start)
        return [
            Moment({self._of.name_of(at): array for at, array in now.states.items()}, then.phases)
            for now, then in zip(readings[: len(steps)], readings[len(steps) :], strict=True)
        ]

    @cached_property
    def early(self) -> list[Moment]:
        """The clock after each of the first steps."""
        return self.moments(range(MOST_BEFORE))

    @cached_property
    def _starting_again(self) -> list[str]:
        """States that a later step may make smaller, as a counter of what was accumulated."""
        pairs = list(zip(self.early, self.early[1:], strict=False))
        return [
            name
            for name, array in self.early[0].states.items()
            if array.dtype.kind in "iu" and any((then.states[name] < now.states[name]).any() for now, then in pairs)
        ]

    def is_like(self, before: int, moment: Moment) -> bool:
        """Whether remainders, and counters that start again, are after some first steps as in a moment."""
        now = self.early[before]
        return all(map(np.array_equal, now.remainders, moment.remainders)) and all(
            np.array_equal(now.states[name], moment.states[name]) for name in self._starting_again
        )

    def boundary_of(self, turns: Turns) -> str:
        """The line of a comparison with a number that no step came to, as far as they were run; else empty."""
        node = self._of.graph.nodes[turns.node]
        if turns.all or node.opcode != "compare":
            return ""
        numbers = [literal for key in node.operands if (literal := self._of.graph.constant(key)) is not None]
        return (node.source or "a line unknown") if any(np.abs(literal).max() > 1 for literal in numbers) else ""
