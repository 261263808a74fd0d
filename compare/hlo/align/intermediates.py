"""Runs a graph for several cases: its intermediates stay with the executor, some of them at a time."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from compare.hlo import values
from compare.hlo.arrays.fingerprints import Fingerprint
from compare.hlo.arrays.room import MOST
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import Held
from compare.hlo.graph import Graph, Node, Shape, find_needed
from compare.hlo.steps import are_of_arrays
from compare.hlo.values import PreparedGraph

_BITS = re.compile(r"\d+")


class Intermediates:
    """The values of some nodes of one graph for each case.

    They are computed in groups that fit into the budget, each compiled once. The last group is kept: of a graph
    that fits as a whole, nothing is computed twice. Of one that does not, fingerprints of all are taken first, for
    which no value is kept.

    Attributes:
      notes: which of the wanted values that are asked for cannot be computed here.
      group_of: the number of each value's group.
      place_of: where a value stands in its group.
    """

    def __init__(
        self,
        graph: Graph,
        cases: Sequence[Sequence[np.ndarray]],
        keys: Sequence[int],
        open_keys: Collection[int],
        budget: int,
        tolerance: float,
    ) -> None:
        self._graph, self._cases, self._asked, self._tolerance = graph, cases, open_keys, tolerance
        self._budget = budget // max(1, len(cases))
        self.notes: list[str] = []
        self._runs: dict[tuple[int, ...], PreparedGraph] = {}
        self._regroup(self._runnable(list(keys)))

    def _regroup(self, keys: list[int]) -> None:
        self._groups = _group_by_size(self._graph, keys, self._budget)
        self.group_of = {key: number for number, group in enumerate(self._groups) for key in group}
        self.place_of = {key: place for group in self._groups for place, key in enumerate(group)}
        self._kept_group: int | None = None
        self._kept: Held | None = None

    def narrow(self, keys: Collection[int]) -> None:
        """Forget all values but these: they fit into fewer groups."""
        if len(self._groups) > 1:
            self._regroup([key for group in self._groups for key in group if key in keys])

    def fingerprints(self) -> dict[int, Sequence[Fingerprint]]:
        """By node, the fingerprint of its value in each case."""
        if len(self._groups) > 1 and are_of_arrays(self._graph):
            return self._fingerprint_in_runs()
        return {
            key: fingerprint
            for number, group in enumerate(self._groups)
            for key, fingerprint in zip(group, self.group(number).fingerprints, strict=True)
        }

    def _fingerprint_in_runs(self) -> dict[int, Sequence[Fingerprint]]:
        """The fingerprints without kept arrays: in few runs, as each request has a time limit."""
        keys = [key for group in self._groups for key in group]
        fingerprints: dict[int, Sequence[Fingerprint]] = {}
        for part in _group_by_size(self._graph, keys, MOST // max(1, len(self._cases))):
            prepared_graph = _prepare(self._graph, part)
            fingerprints |= zip(part, prepared_graph.fingerprints(self._cases, self._tolerance), strict=True)
        return fingerprints

    def group(self, number: int) -> Held:
        """The values of one group in each case, each at its `place_of`."""
        if self._kept is None or self._kept_group != number:
            # What was kept is let go first.
            self._kept = None
            group = tuple(self._groups[number])
            if group not in self._runs:
                self._runs[group] = _prepare(self._graph, group)
            self._kept_group, self._kept = number, self._runs[group].hold(self._cases, self._tolerance)
        return self._kept

    def _runnable(self, keys: list[int]) -> list[int]:
        """The wanted values that this process can compute."""
        unknown = depending_on(self._graph, _is_unknown)
        keys = self._without(keys, unknown, "they depend on a constant that is not known")
        calls = depending_on(self._graph, lambda node: node.opcode == "custom-call")
        if calls.isdisjoint(keys):
            return keys
        try:
            _prepare(self._graph, [key for key in keys if key in calls])
        except UnreadableProgram as error:
            return self._without(keys, calls, str(error))
        return keys

    def _without(self, keys: list[int], foreign: set[int], reason: str) -> list[int]:
        rest = [key for key in keys if key not in foreign]
        missing = foreign.intersection(keys, self._asked)
        if missing:
            self.notes.append(f"{len(missing)} values were not compared by running them: {reason}")
        return rest


def _is_unknown(node: Node) -> bool:
    return node.opcode == "constant" and node.literal is None


def depending_on(graph: Graph, cause: Callable[[Node], bool]) -> set[int]:
    """The values that depend on some, these among them, be it by a node of their regions."""
    depending: set[int] = set()
    for node in graph:
        inner = (instruction for region in node.regions for instruction in region.walk())
        if any(operand in depending for operand in node.operands) or cause(node) or any(map(cause, inner)):
            depending.add(node.id)
    return depending


def _trim(graph: Graph, keys: Iterable[int]) -> Graph:
    """The graph without what the wanted values do not need; its parameters stay."""
    alive = find_needed(graph.nodes, (*graph.parameters, *keys))
    return dataclasses.replace(graph, nodes={key: node for key, node in graph.nodes.items() if key in alive})


def _prepare(graph: Graph, keys: Sequence[int]) -> PreparedGraph:
    return values.prepare_in_steps(_trim(graph, keys), keys)


def _group_by_size(graph: Graph, keys: Sequence[int], budget: int) -> list[list[int]]:
    """Wanted arrays in order, in groups of at most so many bytes; a larger one is alone."""
    groups: list[list[int]] = []
    group_bytes = 0
    for key in keys:
        size = bytes_of(graph.nodes[key].shape)
        if not groups or group_bytes + size > budget:
            groups.append([])
            group_bytes = 0
        groups[-1].append(key)
        group_bytes += size
    return groups


def bytes_of(shape: Shape) -> int:
    """The bytes of an array in memory."""
    bits = _BITS.search(shape.dtype)
    return shape.elements * (max(8, int(bits[0])) // 8 if bits else 1)
