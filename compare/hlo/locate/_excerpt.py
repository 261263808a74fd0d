"""A part of a program, from values that both programs have to one that departs, and what it would be if changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo import values
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Attributes, Graph, Node, Shape
from compare.hlo.locate._canonical import CARRIERS, SPREAD, runnable
from compare.hlo.locate._departing import MeasuredProgram
from compare.hlo.locate._switches import values_dtype

Arrays = Sequence[np.ndarray]
"""A value in every case."""


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The computation of a value: `nodes` in the order of the program, from `leaves`, which agree."""

    side: MeasuredProgram
    target: int
    nodes: tuple[int, ...]
    leaves: tuple[int, ...]

    def arrays(self, key: int) -> Arrays:
        """A value in every case."""
        return self.side.measured.arrays[key]

    @cached_property
    def computing(self) -> tuple[int, ...]:
        """Its nodes that are neither constants nor copies."""
        program = self.side.program
        return tuple(
            key for key in self.nodes if program.node(key).opcode not in CARRIERS and key not in program.constants
        )

    def draft(self) -> Draft:
        """A copy to be changed."""
        return Draft(self)


def excerpt(side: MeasuredProgram, target: int, departing_keys: Collection[int], cut: Collection[int] = ()) -> Excerpt:
    """The computation of a value, back to values that agree or are in `cut`; it includes constants.

    Args:
      departing_keys: values that the other program does not have.
    """
    program = side.program
    inner, leaves, waiting = set[int](), dict[int, None](), [target]
    while waiting:
        key = waiting.pop()
        # A tuple cannot be given: its parts can.
        node = program.node(key)
        inside = key in departing_keys or key in program.constants or not node.shape.is_array
        # What is spread or shaped anew is looked at as it was before.
        inside = inside or (node.opcode in SPREAD and node.operands[0] not in departing_keys)
        if key in cut or not inside:
            leaves[key] = None
        elif key not in inner:
            inner.add(key)
            waiting += node.operands
    order = tuple(key for key in program.graph.nodes if key in inner)
    return Excerpt(side, target, order, tuple(sorted(leaves)))


class Draft:
    """An excerpt that is being changed."""

    def __init__(self, part: Excerpt) -> None:
        graph = runnable(part.side.program.graph)
        self._part, self._last = part, max(graph.nodes)
        self._leaves: dict[int, Arrays] = {key: part.arrays(key) for key in part.leaves}
        self.target = part.target
        self.nodes: dict[int, Node] = {key: graph.nodes[key] for key in part.nodes}
        for key in part.leaves:
            self.nodes[key] = Node(key, f"leaf.{key}", "parameter", graph.nodes[key].shape)

    def add(self, opcode: str, shape: Shape, operands: Sequence[int] = (), attributes: Attributes = (),
            literal: np.ndarray | None = None) -> int:  # fmt: skip
        """One more value.

        Args:
          operands: ids of values in the draft.
          literal: what a constant holds, of that shape.
        """
        self._last += 1
        self.nodes[self._last] = Node(
            self._last, f"{opcode}.{self._last}", opcode, shape, tuple(operands), attributes, literal
        )
        return self._last

    def leaf(self, shape: Shape, arrays: Arrays) -> int:
        """One more value that is given."""
        key = self.add("parameter", shape)
        self._leaves[key] = arrays
        return key

    def change(self, key: int, **fields: object) -> None:
        """Other fields of a node."""
        self.nodes[key] = self.nodes[key].but(**fields)  # type: ignore[arg-type]

    def redirect(self, key: int, to: int) -> None:
        """Let everything that reads a value read another, but that one itself."""
        for user, node in list(self.nodes.items()):
            if key in node.operands and user != to:
                self.change(user, operands=tuple(to if one == key else one for one in node.operands))
        self.target = to if self.target == key else self.target

    def full(self, value: float, shape: Shape) -> int:
        """One number throughout."""
        literal = np.asarray(value).astype(values_dtype(shape))
        return self.add("broadcast", shape, (self.add("constant", Shape(shape.dtype), literal=literal),))

    def run(self) -> list[np.ndarray] | None:
        """The value of the target in every case; None if XLA refuses the program."""
        return next(iter(self.runs([{}])), None)

    def runs(self, change_sets: Sequence[Mapping[int, Arrays]]) -> list[list[np.ndarray]]:
        """The target's values with other arrays for some leaves, compiled once; empty if XLA refuses it."""
        graph = Graph("draft", self._sort_nodes(), tuple(self._leaves), (self.target,))
        try:
            prepared_graph = values.prepare(graph, (self.target,))
        except UnreadableProgram:
            # A change that makes no program proves nothing.
            return []
        cases = range(len(next(iter(self._part.side.measured.arrays.values()))))
        return [
            [
                prepared_graph([changes.get(key, arrays)[case] for key, arrays in self._leaves.items()])[self.target]
                for case in cases
            ]
            for changes in change_sets
        ]

    def _sort_nodes(self) -> dict[int, Node]:
        """All leaves, and what the target needs, operands first."""
        order = {
            key: self.nodes[key].but(attributes=(("parameter_number", position),))
            for position, key in enumerate(self._leaves)
        }
        waiting = [self.target]
        while waiting:
            missing = [key for key in self.nodes[waiting[-1]].operands if key not in order]
            if missing:
                waiting += missing
            else:
                key = waiting.pop()
                order[key] = self.nodes[key]
        return order
