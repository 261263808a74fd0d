"""Records the outcomes of a program's decisions, in its loops and branches too."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import values
from compare.hlo.conditions import MOST_NODES, Condition, Ways, conditions, ways_of
from compare.hlo.graph import Graph, Node, find_needed
from compare.hlo.region_programs import PreparedLoop, State, flatten, region_operands

MOST_TURNS = 8
"""The most iterations of a loop that are watched: later ones decide like these, or like its condition."""

Find = Callable[[Graph], list[Condition]]
"""Finds the decisions of a graph, not those inside of its loops and branches."""

_NEITHER = Ways(False, False)


class Watched:
    """A program that is ready to tell which way it decides, in its loops and branches too."""

    def __init__(self, graph: Graph, find: Find = conditions) -> None:
        """Compile what the decisions rest on.

        Raises:
          UnreadableProgram: XLA cannot run it with those values as results.
        """
        self._own = tuple(find(graph))
        self._inside = [region for node in graph if (region := _inside(graph, node, find)) is not None]
        self.conditions = (*self._own, *(condition for region in self._inside for condition in region.conditions))
        keys = {key for condition in self._own for key in (condition.left, condition.right)}
        keys.update(key for region in self._inside if region.conditions for key in region.given)
        self._running = _prepare(graph, sorted(keys)) if keys else None

    def observe(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[Ways]]:
        """By call and condition, which ways it went."""
        if self._running is None:
            return [[] for _ in calls]
        by_call = self._running.each(calls)
        ways_by_call = [self._decide(arrays) for arrays in by_call]
        for region in self._inside:
            if not region.conditions:
                continue
            states = [[arrays[key] for key in region.given] for arrays in by_call]
            ways_by_call = [[*own, *more] for own, more in zip(ways_by_call, region.observe(states), strict=True)]
        return ways_by_call

    def _decide(self, arrays: Mapping[int, np.ndarray]) -> list[Ways]:
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

    def observe(self, states: Sequence[State]) -> list[list[Ways]]:
        """By call, which ways the body went in its first turns."""
        ways_by_call = [[_NEITHER] * len(self.conditions) for _ in states]
        for turn in itertools.islice(self.loop.turns(states), MOST_TURNS):
            if turn.entered:
                for call, ways in zip(turn.entered, self.body.observe(list(turn.entered.values())), strict=True):
                    ways_by_call[call] = either(ways_by_call[call], ways)
        return ways_by_call


@dataclass(frozen=True)
class _WatchedBranches:
    """A conditional: each branch watched where it is taken. The first given value chooses."""

    given: Sequence[int]
    branches: Sequence[tuple[Watched, slice]]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(condition for branch, _ in self.branches for condition in branch.conditions)

    def observe(self, states: Sequence[State]) -> list[list[Ways]]:
        """By call, which ways the branch went that it took."""
        ways_by_call: list[list[Ways]] = [[] for _ in states]
        for number, (branch, part) in enumerate(self.branches):
            calls = [call for call, state in enumerate(states) if int(np.ravel(state[0])[0]) == number]
            ways = (
                dict(zip(calls, branch.observe([states[call][part] for call in calls]), strict=True)) if calls else {}
            )
            for call, of_call in enumerate(ways_by_call):
                of_call += ways.get(call, [_NEITHER] * len(branch.conditions))
        return ways_by_call


def _inside(graph: Graph, node: Node, find: Find) -> _WatchedLoop | _WatchedBranches | None:
    """The decisions inside a loop or conditional; None for another operation, or if it cannot be entered."""
    if node.opcode not in ("while", "conditional"):
        return None
    regions = [region for region in map(flatten, node.regions) if region is not None]
    if len(regions) < len(node.regions):
        return None
    if node.opcode == "while":
        return _watched_loop(graph, node, Watched(regions[0], find), *regions)
    return _watched_branches(graph, node, [Watched(region, find) for region in regions])


def _watched_loop(graph: Graph, node: Node, inner: Watched, body: Graph, condition: Graph) -> _WatchedLoop | None:
    if not inner.conditions:
        return None
    return _WatchedLoop(region_operands(graph, node.operands), inner, PreparedLoop(body, condition))


def _watched_branches(graph: Graph, node: Node, inner: Sequence[Watched]) -> _WatchedBranches:
    selector, *operands = node.operands
    keys, branches = [selector], []
    for branch, operand in zip(inner, operands, strict=True):
        operand_keys = region_operands(graph, [operand])
        branches.append((branch, slice(len(keys), len(keys) + len(operand_keys))))
        keys += operand_keys
    if graph.nodes[selector].shape.dtype == "pred":
        branches.reverse()
    return _WatchedBranches(keys, branches)


def either(some: Sequence[Ways], others: Sequence[Ways]) -> list[Ways]:
    """The results of conditions in either of two runs."""
    pairs = zip(some, others, strict=True)
    return [Ways(one.held or other.held, one.failed or other.failed) for one, other in pairs]


def _only(graph: Graph, keys: Iterable[int]) -> Graph:
    """The part of a program that some of its values are computed by, and all parameters."""
    needed_keys = find_needed(graph.nodes, keys) | set(graph.parameters)
    nodes = {key: node for key, node in graph.nodes.items() if key in needed_keys}
    return Graph(graph.name, nodes, graph.parameters, graph.parameters[:1])


def _prepare(graph: Graph, keys: Sequence[int]) -> values.PreparedGraph:
    part = _only(graph, keys)
    # Compiled whole, a part of a model takes minutes.
    return (values.prepare if len(part) <= MOST_NODES else values.prepare_in_steps)(part, keys)
