"""What a program decides, element by element, and whether it was seen to decide both ways."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import ml_dtypes
import numpy as np

from compare.hlo import values
from compare.hlo.graph import CARRIERS, Graph, Node, needed
from compare.hlo.region_programs import PreparedLoop, State, flattened, given

MOST_NODES = 500
"""A larger program is a model's: it decides by its weights, and each look at it costs seconds."""
MOST_TURNS = 8
"""Of a loop that are looked at: one decides in later turns as it does in these, or as its condition says."""


@dataclass(frozen=True)
class Condition:
    """One decision: a comparison, or a value beyond the end that it is clamped to.

    Attributes:
      left, right: the values that are held against each other; one value, if the decision is about special values.
      direction: how, as HLO has it ("GT"), or one of SPECIAL.
      number: the constant among them; None where both are computed.
      line: the user's, "" where nothing tells it.
      node: the operation that decides.
    """

    left: int
    right: int
    direction: str
    number: float | None
    line: str
    node: int

    @property
    def is_special(self) -> bool:
        """Whether it is about NaN, infinities or the ends of the range of a float type."""
        if self.direction in SPECIAL:
            return True
        return self.number is not None and (np.isinf(self.number) or _is_limit(abs(self.number)))

    def is_special_in(self, ways: Ways) -> bool:
        """Whether some value was NaN or an infinity where that is what is decided about."""
        if self.direction == FINITE:
            return ways.failed
        return ways.held and (self.direction == NAN or (self.number is not None and np.isinf(self.number)))

    def __str__(self) -> str:
        against = "" if self.number is None else f" {self.number:g}"
        return f"{_SAID[self.direction]}{against}"


NAN, FINITE = "NAN", "FINITE"
SPECIAL = (NAN, FINITE)
"""Directions of decisions about one value: it is NaN, as `x != x` asks; it is neither NaN nor an infinity."""

_ROUNDED = 1e-6
_LIMITS = [
    limit
    for info in map(ml_dtypes.finfo, ("float16", "bfloat16", "float32", "float64"))
    for limit in (float(info.max), float(info.smallest_normal))
]
_FLOATS = ("f", "bf")
_SAID = {
    NAN: "NaN",
    FINITE: "finite",
    "GT": "above",
    "GE": "at least",
    "LT": "below",
    "LE": "at most",
    "EQ": "equal to",
    "NE": "unlike",
}

_HOLDS = {
    NAN: lambda left, _: np.isnan(left), FINITE: lambda left, _: np.isfinite(left),
    "GT": np.greater, "GE": np.greater_equal, "LT": np.less, "LE": np.less_equal, "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip


def _is_limit(number: float) -> bool:
    """Whether a number is the largest or the least normal one of a float type, as a constant of any type has it."""
    return any(math.isclose(number, limit, rel_tol=_ROUNDED) for limit in _LIMITS)


def conditions(graph: Graph) -> list[Condition]:
    """Decisions over floats that depend on what the program is given, not those inside of its loops and branches.

    Those about special values are left out.
    """
    return [] if len(graph) > MOST_NODES else [each for each in decisions(graph) if not each.is_special]


def special_conditions(graph: Graph) -> list[Condition]:
    """Decisions about special values that depend on what the program is given, not those inside of loops and branches.

    What was an integer is never special.
    """
    decided = (condition for condition in decisions(graph) if condition.is_special)
    return [condition for condition in decided if not _was_integer(graph, condition.left)]


def _was_integer(graph: Graph, key: int) -> bool:
    while graph.nodes[key].shape.dtype.startswith(_FLOATS):
        if graph.nodes[key].opcode not in CARRIERS:
            return False
        (key,) = graph.nodes[key].operands
    return True


def decisions(graph: Graph) -> list[Condition]:
    """All decisions over floats that depend on the program's arguments, not those inside of its loops and branches."""
    given = _given(graph)
    conditions = [condition for node in graph for condition in _of(graph, node)]
    return [condition for condition in conditions if {condition.left, condition.right} & given]


Find = Callable[[Graph], list[Condition]]
"""Finds the decisions of a graph, not those inside of its loops and branches."""


class Ways(NamedTuple):
    """Whether a condition held for some element, and whether it failed for some."""

    held: bool
    failed: bool


_NEITHER = Ways(False, False)


def ways_of(condition: Condition, left: np.ndarray, right: np.ndarray) -> Ways:
    """Which ways a condition went for the elements of two arrays.

    What is NaN fails no comparison of numbers: its order is no user's decision.

    Args:
      condition: the decision.
      left: f[...], what stands on its left.
      right: f[...], of the same shape.
    """
    held = _HOLDS[condition.direction](left, right)
    ordered = condition.direction in SPECIAL or ~np.isnan(left) & ~np.isnan(right)
    failed = ~held & ordered
    return Ways(bool(held.any()), bool(failed.any()))


class Watched:
    """A program that is ready to tell which way it decides, in its loops and branches too."""

    def __init__(self, graph: Graph, find: Find = conditions) -> None:
        """Compile what the decisions rest on.

        Args:
          graph: the program.
          find: finds the decisions that are watched.

        Raises:
          UnreadableProgram: XLA cannot run it with those values as results.
        """
        self._own = tuple(find(graph))
        self._inside = [region for node in graph if (region := _inside(graph, node, find)) is not None]
        self.conditions = (*self._own, *(condition for region in self._inside for condition in region.conditions))
        keys = {key for condition in self._own for key in (condition.left, condition.right)}
        keys.update(key for region in self._inside if region.conditions for key in region.given)
        self._running = values.prepare(_only(graph, keys), sorted(keys)) if keys else None

    def seen(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[Ways]]:
        """By call and condition, which ways it went."""
        if self._running is None:
            return [[] for _ in calls]
        by_call = self._running.each(calls)
        told = [self._decided(arrays) for arrays in by_call]
        for region in self._inside:
            if not region.conditions:
                continue
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


def _inside(graph: Graph, node: Node, find: Find) -> _WatchedLoop | _WatchedBranches | None:
    """What a loop or conditional decides inside; None of another operation, or where it cannot be entered."""
    if node.opcode not in ("while", "conditional"):
        return None
    regions = [region for region in map(flattened, node.regions) if region is not None]
    if len(regions) < len(node.regions):
        return None
    if node.opcode == "while":
        return _watched_loop(graph, node, Watched(regions[0], find), *regions)
    return _watched_branches(graph, node, [Watched(region, find) for region in regions])


def _watched_loop(graph: Graph, node: Node, watched: Watched, body: Graph, condition: Graph) -> _WatchedLoop | None:
    if not watched.conditions:
        return None
    return _WatchedLoop(given(graph, node.operands), watched, PreparedLoop(body, condition))


def _watched_branches(graph: Graph, node: Node, watched: Sequence[Watched]) -> _WatchedBranches:
    chosen, *operands = node.operands
    keys, branches = [chosen], []
    for branch, operand in zip(watched, operands, strict=True):
        taken = given(graph, [operand])
        branches.append((branch, slice(len(keys), len(keys) + len(taken))))
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
        case "is-finite":
            return [Condition(node.operands[0], node.operands[0], FINITE, None, node.source, node.id)]
        case "compare" if _is_same(graph, *node.operands):
            (value, _), dtype = node.operands, graph.nodes[node.operands[0]].shape.dtype
            is_asked = node.attribute("comparison_direction") in ("EQ", "NE") and dtype.startswith(_FLOATS)
            return [Condition(value, value, NAN, None, node.source, node.id)] if is_asked else []
        case "compare":
            pairs = [(node.operands[0], node.operands[1], str(node.attribute("comparison_direction", "")))]
        case "clamp":
            low, value, high = node.operands
            pairs = [(value, end, how) for end, how in ((low, "LT"), (high, "GT")) if not _is_open(graph, end)]
        case "maximum" | "minimum" if any(_number(graph, operand) is not None for operand in node.operands):
            value, end = sorted(node.operands, key=lambda operand: _number(graph, operand) is not None)
            pairs = [] if _is_open(graph, end) else [(value, end, "LT" if node.opcode == "maximum" else "GT")]
        case _:
            return []
    return [
        Condition(left, right, how, _first(_number(graph, right), _number(graph, left)), node.source, node.id)
        for left, right, how in pairs
        if how in _HOLDS and graph.nodes[left].shape.dtype.startswith(_FLOATS)
        and graph.nodes[left].shape.dimensions == graph.nodes[right].shape.dimensions
    ]  # fmt: skip


def _is_open(graph: Graph, end: int) -> bool:
    """Whether an end that values are clamped to is an infinity, so that it decides nothing."""
    number = _number(graph, end)
    return number is not None and np.isinf(number)


def _only(graph: Graph, keys: Iterable[int]) -> Graph:
    """The part of a program that some of its values are computed by, and all parameters."""
    kept = needed(graph.nodes, keys) | set(graph.parameters)
    nodes = {key: node for key, node in graph.nodes.items() if key in kept}
    return Graph(graph.name, nodes, graph.parameters, graph.parameters[:1])


def _is_same(graph: Graph, left: int, right: int, deep: int = 8) -> bool:
    """Whether two values are one, or computed alike from the same: frontends write what `x[0] != x[0]` reads twice."""
    one, other = graph.nodes[left], graph.nodes[right]
    if left == right:
        return True
    alike = (one.opcode, one.shape, one.attributes) == (other.opcode, other.shape, other.attributes)
    if not deep or not alike or not one.operands or one.regions or len(one.operands) != len(other.operands):
        return False
    return all(_is_same(graph, *pair, deep - 1) for pair in zip(one.operands, other.operands, strict=True))


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
