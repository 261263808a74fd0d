"""Enters loops and branches: their bodies are programs of their own, run on what they are given there."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compare.hlo import values
from compare.hlo.graph import Graph, Node
from compare.hlo.locate._canonical import Computation, program, runnable
from compare.hlo.locate._findings import Departure
from compare.hlo.locate._measured import distance, size
from compare.hlo.pair import Pair
from compare.hlo.region_programs import PreparedLoop, State, flatten, region_operands

_TURNS = 3
"""Turns of a loop whose states its body is run on."""
_MOST_TURNS = 64

GOES_ON = "goes on"
"""The name of a loop condition's result."""


@dataclass(frozen=True, eq=False)
class Region:
    """A body with one array parameter for each part of what it takes, and what it is run on, by case."""

    label: str
    graph: Graph
    states: list[State]


Judge = Callable[[Computation, Sequence[State], Computation, Sequence[State]], Sequence[Departure]]
"""Locates departures of the right computation, each run on its own states."""


@dataclass(frozen=True, eq=False)
class Entered:
    """A while or conditional of a program, and by case the arguments that the program is run on."""

    computation: Computation
    node: Node
    arguments: Sequence[State]


def enter(left: Entered, right: Entered, judge: Judge) -> list[Departure]:
    """The departures inside of two loops, or of two conditionals; none if they cannot be distinguished inside."""
    if left.node.opcode != right.node.opcode or left.node.opcode not in ("while", "conditional"):
        return []
    if left.node.opcode == "while":
        return _loops(_loop_runs(left), _loop_runs(right), judge)
    departures: list[Departure] = []
    for mine, theirs in zip(_branches(left), _branches(right), strict=False):
        if mine and theirs and mine.states and theirs.states:
            names = _pair_names(Pair(mine.states, theirs.states))
            results = Pair(mine, theirs).map(
                lambda region: [f"result {position}" for position in range(len(region.graph.results))]
            )
            departures += _judge(mine, theirs, names, results, judge, "branch of the conditional")
    return departures


def _judge(left: Region, right: Region, slots: Pair[list[str]], results: Pair[list[str]], judge: Judge,
            inside: str) -> list[Departure]:  # fmt: skip
    departures = judge(
        program(left.label, left.graph, slots.left, results.left), left.states,
        program(right.label, right.graph, slots.right, results.right), right.states,
    )  # fmt: skip
    return [dataclasses.replace(departure, inside=(inside, *departure.inside)) for departure in departures]


@dataclass(frozen=True, eq=False)
class _LoopRuns:
    """A loop, flattened, and by case the states that it goes through, turn by turn."""

    label: str
    body: Graph
    condition: Graph
    runs: list[list[State]]

    def body_on(self, runs: Sequence[Sequence[State]]) -> Region:
        """The body, to be run on these states."""
        return Region(self.label, self.body, [state for states in runs for state in states])

    def condition_on(self, runs: Sequence[Sequence[State]]) -> Region:
        """The condition, to be run on these states."""
        return Region(self.label, self.condition, [state for states in runs for state in states])


def _loop_runs(entry: Entered) -> _LoopRuns | None:
    """A loop with its states in the first turns; None where its state is no tuple of arrays."""
    body, condition = (flatten(region) for region in entry.node.regions)
    if body is None or condition is None:
        return None
    starts = _parts(entry, entry.node.operands)
    runs: list[list[State]] = [[] for _ in starts]
    for turn in itertools.islice(PreparedLoop(body, condition).turns(starts), _MOST_TURNS):
        for case, state in turn.reached.items():
            runs[case].append(state)
    return _LoopRuns(entry.computation.label, body, condition, runs)


def _loops(left: _LoopRuns | None, right: _LoopRuns | None, judge: Judge) -> list[Departure]:
    if left is None or right is None:
        return []
    first = Pair([states[0] for states in left.runs], [states[0] for states in right.runs])
    last = Pair([states[-1] for states in left.runs], [states[-1] for states in right.runs])
    names = _pair_names(first, last)
    mine, theirs = _align_states(left.runs, right.runs, names, _TURNS)
    departures = _judge(left.body_on(mine), right.body_on(theirs), names, names, judge, "body of the while")
    if departures:
        return departures
    mine, theirs = _align_states(left.runs, right.runs, names, _MOST_TURNS)
    conditions = left.condition_on(mine), right.condition_on(theirs)
    return _judge(*conditions, names, Pair([GOES_ON], [GOES_ON]), judge, "condition of the while")


def _align_states(
    left: Sequence[Sequence[State]], right: Sequence[Sequence[State]], names: Pair[list[str]], most: int
) -> Pair[list[list[State]]]:
    """States of both loops, by case and turn: what they share is as the left loop has it."""
    left_positions = {name: position for position, name in enumerate(names.left)}
    both: Pair[list[list[State]]] = Pair([], [])
    for mine, theirs in zip(left, right, strict=True):
        turns = list(zip(mine, theirs, strict=False))[:most]
        both.left.append([state for state, _ in turns])
        both.right.append([_share_state(state, other, left_positions, names.right) for state, other in turns])
    return both


def _share_state(state: State, other: State, left_positions: Mapping[str, int], names: Sequence[str]) -> State:
    """The right loop's state, with the left loop's parts where they have one name."""
    return [
        state[left_positions[name]].reshape(own.shape).astype(own.dtype) if name in left_positions else own
        for name, own in zip(names, other, strict=True)
    ]


def _pair_names(*states: Pair[list[State]]) -> Pair[list[str]]:
    """Names of the parts of two regions' states: one name where all of the states are alike, or else the first ones.

    Args:
      states: those that the regions start from, by case, and those that they end with where there are any.
    """
    first = states[0].map(lambda cases: len(cases[0]))
    names: dict[int, str] = {}
    paired_parts: set[int] = set()
    for depth in range(len(states), 0, -1):
        for position in range(first.right):
            free = [part for part in range(first.left) if part not in paired_parts]
            alike = (part for part in free if all(_alike(pair, part, position) for pair in states[:depth]))
            part = next(alike, None) if position not in names else None
            if part is not None:
                names[position] = f"state {part}"
                paired_parts.add(part)
    return Pair(
        [f"state {part}" for part in range(first.left)],
        [names.get(position, f"another state {position}") for position in range(first.right)],
    )


def _alike(states: Pair[list[State]], part: int, other: int) -> bool:
    """Whether a part of the left states is a part of the right ones, in every case."""
    return all(
        mine[part].size == theirs[other].size
        and mine[part].dtype.kind == theirs[other].dtype.kind
        and distance(mine[part].ravel(), theirs[other].ravel()) <= 1e-6 * size(mine[part])
        for mine, theirs in zip(states.left, states.right, strict=True)
    )


def _parts(entry: Entered, operands: Sequence[int]) -> list[State]:
    """By case, the arrays that a region is given, tuples taken apart."""
    graph = entry.computation.graph
    keys = region_operands(graph, operands)
    prepared_graph = values.prepare(runnable(graph), keys)
    by_case = [prepared_graph(arguments) for arguments in entry.arguments]
    return [[arrays[key] for key in keys] for arrays in by_case]


def _branches(entry: Entered) -> list[Region | None]:
    """The branch for 0 or false first, each on the cases that take it."""
    computation = entry.computation
    selector, *operands = entry.node.operands
    regions = list(zip(entry.node.regions, operands, strict=True))
    numbers = [int(state[0].flat[0]) for state in _parts(entry, [selector])]
    if computation.node(selector).shape.dtype == "pred":
        regions.reverse()
    branches: list[Region | None] = []
    for index, (region, operand) in enumerate(regions):
        body = flatten(region)
        states = _parts(entry, [operand])
        own_states = [state for state, number in zip(states, numbers, strict=True) if number == index]
        branches.append(Region(computation.label, body, own_states) if body else None)
    return branches
