"""A program as its departures are looked for: canonical, its results nodes of their own, its constants known."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo import graph as graphs
from compare.hlo.graph import Graph, Node

RESULT = "result"
"""Opcode of the node that stands for what a program returns under one name; no instruction has it."""

CARRIERS = graphs.CARRIERS | {RESULT}
"""Operations that hand a value on and compute none."""

SPREAD = frozenset({"broadcast", "reshape", "copy"})
"""Another shape of the same elements in order: what reads it is to blame where that shape is not the right one."""


@dataclass(frozen=True)
class Case:
    """One set of arguments, the same arrays for both programs, each in the order of its parameters.

    `smooth` is whether a small change of the arguments makes a small change of every value: not so where
    inputs tie or lie on an edge.
    """

    left: Sequence[np.ndarray]
    right: Sequence[np.ndarray]
    smooth: bool = True


@dataclass(frozen=True, eq=False)
class Computation:
    """A graph whose results are nodes, by name.

    Attributes:
      label: "tf" or "jax".
      slots: what fills each parameter.
      results: the node of each result by its name.
    """

    label: str
    graph: Graph
    slots: tuple[str, ...]
    results: dict[str, int]

    @property
    def users(self) -> Mapping[int, Sequence[int]]:
        """By value, the values that read it."""
        return self.graph.users

    @cached_property
    def constants(self) -> frozenset[int]:
        """Values that no parameter has a part in."""
        constants: set[int] = set()
        for node in self.graph:
            if node.opcode != "parameter" and all(operand in constants for operand in node.operands):
                constants.add(node.id)
        return frozenset(constants)

    def original_of(self, key: int) -> int:
        """The value that a value is nothing but a copy of, whatever its shape or type."""
        (key,) = self.node(key).operands if self.node(key).opcode == RESULT else (key,)
        return self.graph.original_of(key)

    def unspread(self, key: int) -> int:
        """The value whose elements a value has in their order, whatever its shape."""
        while self.node(key).opcode in SPREAD:
            (key,) = self.node(key).operands
        return key

    def comes_from(self, key: int, other: int) -> bool:
        """Whether a value is computed from another."""
        waiting, seen_keys = [key], set[int]()
        while waiting:
            operand = waiting.pop()
            if operand not in seen_keys:
                seen_keys.add(operand)
                waiting += self.node(operand).operands
        return other in seen_keys and key != other

    def readers(self, key: int) -> list[int]:
        """The computing readers of a value or of its copies."""
        waiting, readers = list(self.users[key]), list[int]()
        while waiting:
            user = waiting.pop(0)
            if self.node(user).opcode in CARRIERS and user not in self.results.values():
                waiting += self.users[user]
            elif user not in readers:
                readers.append(user)
        return readers

    def slot(self, key: int) -> str:
        """The name of the slot of a parameter, or of a copy of one; "" for any other value."""
        return dict(zip(self.graph.parameters, self.slots, strict=True)).get(self.original_of(key), "")

    def node(self, key: int) -> Node:
        """The node of a value."""
        return self.graph.nodes[key]


def program(label: str, graph: Graph, slots: Sequence[str], results: Sequence[str]) -> Computation:
    """The graph with a node for each result. Without names, parameters and results are known by position.

    Args:
      label: "tf" or "jax".
    """
    slots = tuple(slots) or tuple(f"parameter {position}" for position in range(len(graph.parameters)))
    names = tuple(results) or tuple(f"result {position}" for position in range(len(graph.results)))
    first = max(graph.nodes, default=0) + 1
    ends = {
        first + position: Node(first + position, name, RESULT, graph.nodes[key].shape, (key,))
        for position, (name, key) in enumerate(zip(names, graph.results, strict=True))
    }
    return Computation(
        label,
        dataclasses.replace(graph, nodes={**graph.nodes, **ends}, results=tuple(ends)),
        slots,
        dict(zip(names, ends, strict=True)),
    )


def runnable(graph: Graph) -> Graph:
    """The graph with results as an instruction that XLA knows."""
    return dataclasses.replace(
        graph,
        nodes={key: node.but(opcode="copy") if node.opcode == RESULT else node for key, node in graph.nodes.items()},
    )
