"""What a program decides, element by element, and whether it was seen to decide both ways."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from compare.hlo import values
from compare.hlo.graph import Graph, Node
from compare.hlo.region_programs import PreparedLoop, State, flattened, given

MOST_NODES = 500
"""A larger program is a model's: it decides by its weights, and each look at it costs seconds."""
MOST_TURNS = 8
"""Of a loop that are looked at: one decides in later turns as it does in these, or as its condition says."""


@dataclass(frozen=True)
class Condition:
    """One decision: a comparison, or a value beyond the end that it is clamped to.

    Attributes:
      left, right: the values that are held against each other.
      direction: how, as HLO has it ("GT").
      number: the constant among them; None where both are computed.
      line: the user's, "" where nothing tells it.
      node: the operation that decides.
    """

    left: int
    right: int
    direction: str
    number: float | None
    line: str
    node: int = -1

    def __str__(self) -> str:
        against = "" if self.number is None else f" {self.number:g}"
        return f"{_SAID[self.direction]}{against}"


_SAID = {"GT": "above", "GE": "at least", "LT": "below", "LE": "at most", "EQ": "equal to", "NE": "unlike"}

_HOLDS = {
    "GT": np.greater, "GE": np.greater_equal, "LT": np.less, "LE": np.less_equal, "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip


def conditions(graph: Graph) -> list[Condition]:
    """Decisions over floats that depend on what the program is given, not those inside of its loops and branches.

    Guards against infinities are left out.
    """
    given = _given(graph)
    decided = [condition for node in graph for condition in _of(graph, node)]
    depending = [condition for condition in decided if {condition.left, condition.right} & given]
    return [condition for condition in depending if condition.left != condition.right and _is_finite(graph, condition)]


class Ways(NamedTuple):
    """Whether a condition held for some element, and whether it failed for some."""

    held: bool
    failed: bool


_NEITHER = Ways(False, False)


def ways_of(condition: Condition, left: np.ndarray, right: np.ndarray) -> Ways:
    """Which ways a condition went for the elements of two arrays; what is NaN decides nothing that a port is held to.

    Args:
      condition: the decision.
      left: f[...], what stands on its left.
      right: f[...], of the same shape.
    """
    held = _HOLDS[condition.direction](left, right)
    failed = ~held & ~np.isnan(left) & ~np.isnan(right)
    return Ways(bool(held.any()), bool(failed.any()))


class Watched:
    """A program that is ready to tell which way it decides, in its loops and branches too.

    Raises:
      UnreadableProgram: XLA cannot run it with those values as results.
    """

    def __init__(self, graph: Graph) -> None:
        self._own = tuple(conditions(graph)) if len(graph) <= MOST_NODES else ()
        self._inside = [region for node in graph if (region := _inside(graph, node)) is not None]
        self.conditions = (*self._own, *(condition for region in self._inside for condition in region.conditions))
        keys = {key for condition in self._own for key in (condition.left, condition.right)}
        keys.update(key for region in self._inside for key in region.given)
        self._running = values.prepare(graph, sorted(keys)) if keys else None

    def seen(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[Ways]]:
        """By call and condition, which ways it went."""
        if self._running is None:
            return [[] for _ in calls]
        by_call = self._running.each(calls)
        told = [self._decided(arrays) for arrays in by_call]
        for region in self._inside:
            states = [[arrays[key] for key in region.given] for arrays in by_call]
            told = [[*own, *more] for own, more in zip(told, region.seen(states), strict=True)]
        return told

    def _decided(self, arrays: Mapping[int, np.ndarray]) -> list[Ways]:
        return [ways_of(condition, arrays[condition.left], arrays[condition.right]) for condition in self._own]


@dataclass(frozen=True)
class _WatchedLoop:
    """A loop: `body` watches what its body decides."""

    given: Sequence[int]
    body: Watched
    loop: PreparedLoop

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.body.conditions

    def seen(self, states: Sequence[State]) -> list[list[Ways]]:
        """By call, which ways the body went in its first turns."""
        told = [[_NEITHER] * len(self.conditions) for _ in states]
        for turn in itertools.islice(self.loop.turns(states), MOST_TURNS):
            if turn.entered:
                for call, ways in zip(turn.entered, self.body.seen(list(turn.entered.values())), strict=True):
                    told[call] = either(told[call], ways)
        return told


@dataclass(frozen=True)
class _WatchedBranches:
    """A conditional: each branch watched where it is taken. The first given value chooses."""

    given: Sequence[int]
    branches: Sequence[tuple[Watched, slice]]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(condition for branch, _ in self.branches for condition in branch.conditions)

    def seen(self, states: Sequence[State]) -> list[list[Ways]]:
        """By call, which ways the branch went that it took."""
        told: list[list[Ways]] = [[] for _ in states]
        for number, (branch, taken) in enumerate(self.branches):
            calls = [call for call, state in enumerate(states) if int(np.ravel(state[0])[0]) == number]
            ways = dict(zip(calls, branch.seen([states[call][taken] for call in calls]), strict=True)) if calls else {}
            for call, of_call in enumerate(told):
                of_call += ways.get(call, [_NEITHER] * len(branch.conditions))
        return told


def _inside(graph: Graph, node: Node) -> _WatchedLoop | _WatchedBranches | None:
    """What a loop or conditional decides inside; None of another operation, or where it cannot be entered."""
    if node.opcode not in ("while", "conditional"):
        return None
    regions = [region for region in map(flattened, node.regions) if region is not None]
    if len(regions) < len(node.regions):
        return None
    return _watched_loop(graph, node, *regions) if node.opcode == "while" else _watched_branches(graph, node, regions)


def _watched_loop(graph: Graph, node: Node, body: Graph, condition: Graph) -> _WatchedLoop | None:
    watched = Watched(body)
    if not watched.conditions:
        return None
    return _WatchedLoop(given(graph, node.operands), watched, PreparedLoop(body, condition))


def _watched_branches(graph: Graph, node: Node, regions: Sequence[Graph]) -> _WatchedBranches:
    chosen, *operands = node.operands
    keys, branches = [chosen], []
    for region, operand in zip(regions, operands, strict=True):
        taken = given(graph, [operand])
        branches.append((Watched(region), slice(len(keys), len(keys) + len(taken))))
        keys += taken
    if graph.nodes[chosen].shape.dtype == "pred":
        branches.reverse()
    return _WatchedBranches(keys, branches)


def either(some: Sequence[Ways], others: Sequence[Ways]) -> list[Ways]:
    """Which ways conditions went in one of two runs."""
    pairs = zip(some, others, strict=True)
    return [Ways(one.held or other.held, one.failed or other.failed) for one, other in pairs]


def _of(graph: Graph, node: Node) -> list[Condition]:
    match node.opcode:
        case "compare":
            pairs = [(node.operands[0], node.operands[1], str(node.attribute("comparison_direction", "")))]
        case "clamp":
            low, value, high = node.operands
            pairs = [(value, low, "LT"), (value, high, "GT")]
        case "maximum" | "minimum" if any(_number(graph, operand) is not None for operand in node.operands):
            value, end = sorted(node.operands, key=lambda operand: _number(graph, operand) is not None)
            pairs = [(value, end, "LT" if node.opcode == "maximum" else "GT")]
        case _:
            return []
    return [
        Condition(left, right, how, _first(_number(graph, right), _number(graph, left)), node.source, node.id)
        for left, right, how in pairs
        if how in _HOLDS and graph.nodes[left].shape.dtype.startswith("f")
        and graph.nodes[left].shape.dimensions == graph.nodes[right].shape.dimensions
    ]  # fmt: skip


def _first(*numbers: float | None) -> float | None:
    return next((number for number in numbers if number is not None), None)


def _given(graph: Graph) -> set[int]:
    """Values that a parameter has a part in."""
    known = set(graph.parameters)
    for node in graph:
        if any(operand in known for operand in node.operands):
            known.add(node.id)
    return known


def _number(graph: Graph, key: int) -> float | None:
    literal = graph.constant(key)
    return None if literal is None or literal.size != 1 else float(literal.reshape(()))


def _is_finite(graph: Graph, condition: Condition) -> bool:
    numbers = (_number(graph, key) for key in (condition.left, condition.right))
    return all(number is None or np.isfinite(number) for number in numbers)
