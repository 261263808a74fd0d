"""Goes into loops and branches: their bodies are programs of their own, run on what they are given there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import values
from compare.hlo.graph import Graph, Node
from compare.hlo.locate._canonical import Computation, program, runnable
from compare.hlo.locate._departing import Side
from compare.hlo.locate._findings import Departure
from compare.hlo.locate._measured import distance, size
from compare.hlo.region_programs import flattened, given

_TURNS = 3
"""Turns of a loop whose states its body is run on."""
_MOST_TURNS = 64

State = list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Region:
    """A body with one array parameter for each part of what it takes, and what it is run on, by case."""

    label: str
    graph: Graph
    states: list[State]


Judge = Callable[[Computation, Sequence[State], Computation, Sequence[State]], Sequence[Departure]]
"""Locates departures of the right computation, each run on its own states."""


def enter(left: Side, mine: int, right: Side, theirs: int, inputs: tuple[list[State], list[State]],
          judge: Judge) -> list[Departure]:  # fmt: skip
    """The departures inside of two loops, or of two conditionals; none where they cannot be told apart inside.

    Args:
      inputs: the arguments of either program, by case.
    """
    nodes = left.program.node(mine), right.program.node(theirs)
    if nodes[0].opcode != nodes[1].opcode or nodes[0].opcode not in ("while", "conditional"):
        return []
    sides = (left, nodes[0], inputs[0]), (right, nodes[1], inputs[1])
    if nodes[0].opcode == "while":
        loops = [_Loop(side.program, node, arguments) for side, node, arguments in sides]
        return _loops(loops[0], loops[1], judge)
    found: list[Departure] = []
    for branches in zip(*(_branches(side.program, node, arguments) for side, node, arguments in sides), strict=False):
        mine_, theirs_ = branches
        if mine_ and theirs_ and mine_.states and theirs_.states:
            names = _paired(mine_.states, theirs_.states)
            results = [f"result {at}" for at in range(len(mine_.graph.results))]
            others = [f"result {at}" for at in range(len(theirs_.graph.results))]
            found += _judged(mine_, theirs_, names, (results, others), judge, "branch of the conditional")
    return found


def _judged(mine: Region, theirs: Region, slots: tuple[list[str], list[str]], results: tuple[list[str], list[str]],
            judge: Judge, inside: str) -> list[Departure]:  # fmt: skip
    found = judge(
        program(mine.label, mine.graph, slots[0], results[0]), mine.states,
        program(theirs.label, theirs.graph, slots[1], results[1]), theirs.states,
    )  # fmt: skip
    return [dataclasses.replace(each, inside=(inside, *each.inside)) for each in found]


class _Loop:
    """A loop and the states that it goes through, by case and turn."""

    def __init__(self, computation: Computation, node: Node, arguments: list[State]) -> None:
        self.label = computation.label
        self.body, self.condition = (flattened(region) for region in node.regions)
        self.runs = [self._run(start) for start in _parts(computation, node.operands, arguments)]

    def _run(self, start: State) -> list[State]:
        if self.body is None or self.condition is None:
            return [start]
        body = values.prepare(self.body, self.body.results)
        condition = values.prepare(self.condition, self.condition.results)
        states = [start]
        while len(states) < _MOST_TURNS and all(each.all() for each in condition(states[-1]).values()):
            found = body(states[-1])
            states.append([found[key] for key in self.body.results])
        return states


def _loops(mine: _Loop, theirs: _Loop, judge: Judge) -> list[Departure]:
    bodies, conditions = (mine.body, theirs.body), (mine.condition, theirs.condition)
    if bodies[0] is None or bodies[1] is None or conditions[0] is None or conditions[1] is None:
        return []
    names = _paired([run[0] for run in mine.runs], [run[0] for run in theirs.runs],
                    [run[-1] for run in mine.runs], [run[-1] for run in theirs.runs])  # fmt: skip
    turns = [_aligned(own, other, names, _TURNS) for own, other in zip(mine.runs, theirs.runs, strict=True)]
    left = Region(mine.label, bodies[0], [state for own, _ in turns for state in own])
    right = Region(theirs.label, bodies[1], [state for _, other in turns for state in other])
    found = _judged(left, right, names, names, judge, "body of the while")
    if found:
        return found
    turns = [_aligned(own, other, names, _MOST_TURNS) for own, other in zip(mine.runs, theirs.runs, strict=True)]
    left = Region(mine.label, conditions[0], [state for own, _ in turns for state in own])
    right = Region(theirs.label, conditions[1], [state for _, other in turns for state in other])
    return _judged(left, right, names, (["goes on"], ["goes on"]), judge, "condition of the while")


def _aligned(mine: list[State], theirs: list[State], names: tuple[list[str], list[str]],
             most: int) -> tuple[list[State], list[State]]:  # fmt: skip
    """States of both loops, turn by turn: what they share is as the left loop has it."""
    turns = min(len(mine), len(theirs), most)
    shared = {name: at for at, name in enumerate(names[0])}
    others = [
        [
            mine[turn][shared[name]].reshape(own.shape).astype(own.dtype) if name in shared else own
            for name, own in zip(names[1], theirs[turn], strict=True)
        ]
        for turn in range(turns)
    ]
    return mine[:turns], others


def _paired(mine: list[State], theirs: list[State], *ends: list[State]) -> tuple[list[str], list[str]]:
    """Names of the parts of two states: one name where they start alike, those first that end alike as well."""
    names: dict[int, str] = {}
    taken: dict[int, str] = {}
    both = [(mine, theirs), *([(ends[0], ends[1])] if ends else [])]
    for depth in range(len(both), 0, -1):
        for at in range(len(theirs[0])):
            free = [each for each in range(len(mine[0])) if each not in taken]
            alike = [each for each in free if all(_alike(own, each, other, at) for own, other in both[:depth])]
            if at not in names and alike:
                names[at] = taken[alike[0]] = f"state {alike[0]}"
    left = [f"state {at}" for at in range(len(mine[0]))]
    return left, [names.get(at, f"another state {at}") for at in range(len(theirs[0]))]


def _alike(mine: list[State], at: int, theirs: list[State], other: int) -> bool:
    return all(
        a[at].size == b[other].size
        and a[at].dtype.kind == b[other].dtype.kind
        and distance(a[at].ravel(), b[other].ravel()) <= 1e-6 * size(a[at])
        for a, b in zip(mine, theirs, strict=True)
    )


def _parts(computation: Computation, operands: Sequence[int], arguments: list[State]) -> list[State]:
    """By case, the arrays that a region is given, tuples taken apart."""
    keys = given(computation.graph, operands)
    prepared = values.prepare(runnable(computation.graph), keys)
    found = [prepared(each) for each in arguments]
    return [[each[key] for key in keys] for each in found]


def _branches(computation: Computation, node: Node, arguments: list[State]) -> list[Region | None]:
    """The branch for 0 or false first, each on the cases that take it."""
    chosen, *operands = node.operands
    regions = list(zip(node.regions, operands, strict=True))
    numbers = [np.ravel(state[0])[0] for state in _parts(computation, [chosen], arguments)]
    if computation.node(chosen).shape.dtype == "pred":
        regions.reverse()
    found: list[Region | None] = []
    for at, (region, operand) in enumerate(regions):
        body = flattened(region)
        states = _parts(computation, [operand], arguments)
        taken = [state for state, number in zip(states, numbers, strict=True) if int(number) == at]
        found.append(Region(computation.label, body, taken) if body else None)
    return found
