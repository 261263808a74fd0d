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
from workloads.core.spec import Arrays
from workloads.protocol.framework import Program
from workloads.protocol.trajectory import LOSS
from workloads.protocol.unroll import STATE

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
        results = {result.name: position for position, result in enumerate(program.results)}
        states = {
            position: parameter.name
            for position, parameter in enumerate(program.parameters)
            if parameter.kind == "state" and self.graph.nodes[self.graph.parameters[position]].shape.dtype in COUNTED
        }
        self._states = {position: results[STATE + name] for position, name in states.items() if STATE + name in results}
        self._fixed = {
            position: program.states[name] for position, name in states.items() if position not in self._states
        }
        self._loss = self.graph.results[results[LOSS]]
        self.cuts = cuts(self.graph, self._states, self._fixed)

    @cached_property
    def decisions(self) -> tuple[Condition, ...]:
        """Decisions over data that are made after the loss, of one value or one a weight's element."""
        depends = Dependence(self.graph)
        mask = sum(1 << position for position in {**depends.counting(self._states, self._fixed), **self._fixed})
        weights = {tuple(parameter.shape) for parameter in self.program.parameters if parameter.kind == "weight"}
        before_loss = find_needed(self.graph.nodes, [self._loss])
        # The step may test whether the loss itself is finite, or above a limit.
        of_model = before_loss - {self._loss}
        alive = find_needed(self.graph.nodes, self.graph.results)

        def is_of_step(node: Node, *keys: int) -> bool:
            shape = self.graph.nodes[keys[0]].shape
            return (
                node.id in alive - before_loss
                and (shape.elements == 1 or shape.dimensions in weights)
                and any(depends.of[key] & ~mask and key not in of_model for key in keys)
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

    def observe(self, calls: Sequence[Sequence[np.ndarray]]) -> list[Seen]:
        """Run the step, and note the loss, the decisions and the cuts of each call.

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

    def clock(self, outcomes: Mapping[int, np.ndarray]) -> Clock:
        """The state that time alone changes.

        Args:
          outcomes: by node, the outcomes so far of decisions over data.
        """
        return clock_of(self.graph, self._states, self._fixed, outcomes)

    def find_uncounted(self, clock: Clock) -> list[str]:
        """Names of whole numbers that depend on more than the count of steps: only training tells their values."""
        nodes, parameters, results = self.graph.nodes, self.graph.parameters, self.graph.results
        return [
            self.name_of(position)
            for position, to in self._states.items()
            if position not in clock.states and results[to] != parameters[position]
            and nodes[parameters[position]].shape.elements == 1 and nodes[parameters[position]].shape.dtype[0] in "su"
        ]  # fmt: skip

    def name_of(self, position: int) -> str:
        """The state that a parameter is filled with."""
        return self.program.parameters[position].name


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
        self._start = {position: of.program.states[of.name_of(position)] for position in clock.states}

    def turns(self, steps: int) -> tuple[Turns, ...]:
        """When each decision turns within so many steps."""
        return self._run.after([steps], self._start)[0].turns

    def moments(self, steps: Sequence[int]) -> list[Moment]:
        """The clock after each of some numbers of steps."""
        # What a step computes is known once it was run.
        readings = self._run.after([*steps, *(step + 1 for step in steps)], self._start)
        return [
            Moment({self._of.name_of(position): array for position, array in now.states.items()}, then.phases)
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
