"""Runs the clock of a training step alone: what its counters are after any number of steps, and when decisions turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import bindings, executing
from compare.hlo.clocks import Clock
from compare.hlo.graph import Attributes, Graph, Node, Shape, find_needed
from compare.hlo.rules._state_tuples import put_together
from compare.hlo.write_module import write_graph

_S32 = Shape("s32")
_NEVER = -1


@dataclass(frozen=True)
class Turns:
    """When an element of a decision came out otherwise than one step before; steps count from 0.

    Attributes:
      node: the decision.
      early: how often within the ordinary steps.
      all: how often in all.
      first: the first such step after the ordinary ones, None where there is none.
      last: the last such step; None where there is none.
    """

    node: int
    early: int
    all: int
    first: int | None
    last: int | None


@dataclass(frozen=True)
class Reading:
    """A clock after some steps.

    Attributes:
      states: by position of the parameter, the state then.
      phases: what the step before the last one that was run had as remainders.
      turns: of each decision, element by element.
    """

    states: Mapping[int, np.ndarray]
    phases: tuple[np.ndarray, ...]
    turns: tuple[Turns, ...]


class ClockRun:
    """A clock as a compiled loop."""

    def __init__(self, clock: Clock, ordinary: int) -> None:
        """Compile it.

        Args:
          clock: with at least one state.
          ordinary: how many steps are judged anyway.

        Raises:
          UnreadableProgram: XLA does not take it apart from the step.
        """
        self._clock = clock
        loop = _Loop(clock, ordinary)
        bytecode = bindings.bytecode_of_hlo(write_graph(loop.program()))
        self._decisions, self._phases = loop.decisions, loop.phases
        self._executable = executing.compile_bytecode(bytecode)

    def after(self, steps: Sequence[int], start: Mapping[int, np.ndarray]) -> list[Reading]:
        """The clock after each of some numbers of steps.

        Args:
          steps: how many steps, each from the start.
          start: by position of the parameter, what the states start from.
        """
        types = [
            self._clock.graph.nodes[self._clock.graph.parameters[position]].shape for position in self._clock.states
        ]
        states = [
            np.asarray(start[position]).astype(dtype_of(shape))
            for position, shape in zip(self._clock.states, types, strict=True)
        ]
        calls = [[np.asarray(count, np.int32), *states] for count in steps]
        return [self._reading(list(results)) for results in self._executable.each(calls)]

    def _reading(self, results: Sequence[np.ndarray]) -> Reading:
        state_count = len(self._clock.states)
        states = dict(zip(self._clock.states, results[2 : 2 + state_count], strict=True))
        ways = len(self._decisions) + len(self._phases)
        values, first, last, early, everything = (results[2 + state_count + part * ways :][:ways] for part in range(5))
        turns = [
            Turns(node, int(early[index].flat[element]), int(everything[index].flat[element]),
                  _step(first[index].flat[element]), _step(last[index].flat[element]))
            for index, node in enumerate(self._decisions)
            for element in range(first[index].size)
        ]  # fmt: skip
        return Reading(states, tuple(values[len(self._decisions) :]), tuple(turns))


def _step(value: int) -> int | None:
    return None if value == _NEVER else int(value)


class _Loop:
    """The loop, and the state that it carries.

    That is the number of the step, how many to take, and the states that count; and of each way that a decision can
    come out, what it was one step before, when it first and last turned, and how often early and in all.
    """

    def __init__(self, clock: Clock, ordinary: int) -> None:
        self._clock, self._ordinary = clock, ordinary
        self._nodes: dict[int, Node] = {}
        self._next = max(clock.graph.nodes) + 1
        self.decisions: list[int] = []
        self.phases: list[int] = []
        self._step, self._steps = self._parameter(_S32, 0), self._parameter(_S32, 1)
        self._places = [self._step, self._steps]
        for position in clock.states:
            self._placed_state(clock.graph.parameters[position])
        self._slice()

    def program(self) -> Graph:
        """The loop as a program of the number of steps and the states that it starts from."""
        ways = [way for key in self._clock.decisions for way in self._ways(key)]
        self.phases = [key for key in self._clock.decisions if self._clock.graph.nodes[key].opcode == "remainder"]
        keys = [*ways, *self.phases]
        shapes = [self._nodes[key].shape for key in keys]
        counts = [Shape("s32", shape.dimensions) for shape in shapes]
        before, first, last, early, everything = (
            [self._place(shape) for shape in of] for of in (shapes, counts, counts, counts, counts)
        )
        is_early = self._compare(self._step, self._constant(self._ordinary), "LT")
        turns = [
            self._and(self._compare(now, then, "NE"), self._spread(self._is_later(), self._nodes[now].shape))
            for now, then in zip(keys, before, strict=True)
        ]
        results = [
            self._add("add", _S32, (self._step, self._constant(1))),
            self._steps,
            *(self._clock.graph.results[to] for to in self._clock.states.values()),
            *keys,
            *map(self._first, turns, first, [is_early] * len(turns)),
            *map(self._last, turns, last),
            *map(self._count, turns, early, [is_early] * len(turns)),
            *map(self._count, turns, everything, [None] * len(turns)),
        ]
        return self._entry(results)

    def _first(self, turn: int, first: int, is_early: int) -> int:
        shape = self._nodes[first].shape
        unset = self._compare(first, self._spread(self._constant(0), shape), "LT")
        late = self._add("not", Shape("pred"), (is_early,))
        now = self._and(self._and(turn, unset), self._spread(late, shape))
        return self._add("select", shape, (now, self._spread(self._step, shape), first))

    def _last(self, turn: int, last: int) -> int:
        shape = self._nodes[last].shape
        return self._add("select", shape, (turn, self._spread(self._step, shape), last))

    def _count(self, turn: int, count: int, where: int | None) -> int:
        shape = self._nodes[count].shape
        addend = turn if where is None else self._and(turn, self._spread(where, shape))
        return self._add("add", shape, (count, self._add("convert", shape, (addend,))))

    def _is_later(self) -> int:
        return self._compare(self._step, self._constant(0), "GT")

    def _ways(self, key: int) -> Iterator[int]:
        """Values that change where a decision comes out otherwise."""
        node = self._nodes[key]
        for way in self._ways_of(node):
            self.decisions += [key]
            yield way

    def _ways_of(self, node: Node) -> list[int]:
        match node.opcode:
            case "maximum" | "minimum":
                left, right = node.operands
                return [self._compare(left, right, "GT")]
            case "clamp":
                low, value, high = node.operands
                return [self._compare(value, low, "LT"), self._compare(value, high, "GT")]
            case "remainder":
                whole = self._add("divide", node.shape, node.operands)
                return [whole if node.shape.dtype[0] in "su" else self._add("floor", node.shape, (whole,))]
            case _:
                return [node.id]

    def _slice(self) -> None:
        """The part of the step that moves the states and decides by them."""
        graph, fixed_values = self._clock.graph, self._clock.fixed
        ends = [*(graph.results[to] for to in self._clock.states.values()), *self._clock.decisions]
        cut_nodes = {key: node.but(operands=()) if key in fixed_values else node for key, node in graph.nodes.items()}
        alive = find_needed(cut_nodes, ends)
        for node in graph:
            if node.id in alive and node.id not in self._nodes:
                if node.id in fixed_values:
                    literal = np.asarray(fixed_values[node.id]).astype(dtype_of(node.shape))
                    node = Node(node.id, node.name, "constant", node.shape, literal=literal)
                self._nodes[node.id] = node

    def _entry(self, results: Sequence[int]) -> Graph:
        """The loop with everything but the number of steps and the states at 0, or at no step."""
        places = {position: position for position in range(len(self._places))}
        body = Graph("body", self._nodes, tuple(self._places), tuple(results))
        shapes = tuple(self._nodes[key].shape for key in self._places)
        ways = (len(shapes) - 2 - len(self._clock.states)) // 5
        unset = range(2 + len(self._clock.states) + ways, 2 + len(self._clock.states) + 3 * ways)
        goes_on = self._compare(self._step, self._steps, "LT")
        parameters = {key: self._nodes[key] for key in self._places}
        test = Graph("test", {**parameters, goes_on: self._nodes[goes_on]}, body.parameters, (goes_on,))
        entry = _Entry()
        starts = [
            entry.add_parameter(shape) if 1 <= position < 2 + len(self._clock.states)
            else entry.add_constant(shape, _NEVER if position in unset else 0)
            for position, shape in enumerate(shapes)
        ]  # fmt: skip
        return entry.add_loop(starts, shapes, put_together(body, places), put_together(test, places))

    def _placed_state(self, key: int) -> None:
        node = self._clock.graph.nodes[key]
        self._nodes[key] = node.but(attributes=(("parameter_number", len(self._places)),))
        self._places.append(key)

    def _place(self, shape: Shape) -> int:
        key = self._parameter(shape, len(self._places))
        self._places.append(key)
        return key

    def _parameter(self, shape: Shape, number: int) -> int:
        return self._add("parameter", shape, (), (("parameter_number", number),))

    def _compare(self, left: int, right: int, how: str) -> int:
        shape = Shape("pred", self._nodes[left].shape.dimensions)
        return self._add("compare", shape, (left, right), (("comparison_direction", how),))

    def _and(self, left: int, right: int) -> int:
        return self._add("and", self._nodes[left].shape, (left, right))

    def _spread(self, scalar: int, like: Shape) -> int:
        if not like.dimensions:
            return scalar
        return self._add("broadcast", Shape(self._nodes[scalar].shape.dtype, like.dimensions), (scalar,))

    def _constant(self, value: int) -> int:
        return self._add("constant", _S32, (), literal=np.array(value, np.int32))

    def _add(
        self, opcode: str, shape: Shape, operands: Sequence[int], attributes: Attributes = (),
        literal: np.ndarray | None = None,
    ) -> int:  # fmt: skip
        key, self._next = self._next, self._next + 1
        self._nodes[key] = Node(key, opcode, opcode, shape, tuple(operands), attributes, literal)
        return key


class _Entry:
    """The program around the loop."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._parameters: list[int] = []

    def add_parameter(self, shape: Shape) -> int:
        """A parameter."""
        key = self._add("parameter", shape, (), attributes=(("parameter_number", len(self._parameters)),))
        self._parameters.append(key)
        return key

    def add_constant(self, shape: Shape, value: int) -> int:
        """A constant."""
        return self._add("constant", shape, (), literal=np.full(shape.dimensions, value, dtype_of(shape)))

    def add_loop(self, starts: Sequence[int], shapes: tuple[Shape, ...], body: Graph, test: Graph) -> Graph:
        """The program that runs a loop and returns its whole state."""
        state = Shape("tuple", parts=shapes)
        start = self._add("tuple", state, starts)
        end = self._add("while", state, (start,), regions=(body, test))
        parts = [
            self._add("get-tuple-element", shape, (end,), attributes=(("tuple_index", position),))
            for position, shape in enumerate(shapes)
        ]
        return Graph("clock", self._nodes, tuple(self._parameters), tuple(parts))

    def _add(
        self, opcode: str, shape: Shape, operands: Sequence[int], *, attributes: Attributes = (),
        literal: np.ndarray | None = None, regions: tuple[Graph, ...] = (),
    ) -> int:  # fmt: skip
        key = len(self._nodes)
        self._nodes[key] = Node(key, opcode, opcode, shape, tuple(operands), attributes, literal, regions)
        return key


def dtype_of(shape: Shape) -> np.dtype:
    """NumPy's type of an array of integers, truth values or ordinary floats."""
    kinds = {"s": "int", "u": "uint", "f": "float"}
    return np.dtype(bool if shape.dtype == "pred" else f"{kinds[shape.dtype[0]]}{shape.dtype[1:]}")
