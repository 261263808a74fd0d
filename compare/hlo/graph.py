"""A program as a graph of values, which all comparisons of programs read, whatever made the program."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

Attributes = tuple[tuple[str, Any], ...]
"""Names and hashable values, by name."""

UNDECLARED = "field "
"""The prefix of an attribute's name for an unknown field of HLO; the field's number follows."""


@dataclass(frozen=True)
class Shape:
    """The shape of an array: a dtype as in HLO text ("f32") and dimensions; or of a tuple: dtype "tuple" and its parts.

    `layout` lists dimensions from the one that varies fastest; empty where none was chosen. Equal
    shapes may have different layouts.
    """

    dtype: str
    dimensions: tuple[int, ...] = ()
    parts: tuple[Shape, ...] = ()
    layout: tuple[int, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self._text

    @functools.cached_property
    def _text(self) -> str:
        if self.dtype == "tuple":
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.dtype}[{','.join(map(str, self.dimensions))}]"

    @property
    def elements(self) -> int:
        """How many elements an array has."""
        return math.prod(self.dimensions)

    @property
    def is_array(self) -> bool:
        """Whether it has elements: neither a tuple nor a token."""
        return self.dtype not in ("tuple", "token", "opaque", "buffer")


class Node(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One value: a struct, since a program may have a hundred thousand; the garbage collector passes them by.

    `attributes` are what its meaning depends on beside operands, regions and literal; `hints` are what
    it does not depend on (precision, fusion kind, sorted indices). `source` is "file:line" of the
    user's code, "" where nothing tells it, `frames` the whole call stack, innermost first.
    `place` names the calls and fusions that the value stood in before they were inlined.
    """

    id: int
    name: str
    opcode: str
    shape: Shape
    operands: tuple[int, ...] = ()
    attributes: Attributes = ()
    literal: np.ndarray | None = None
    regions: tuple[Graph, ...] = ()
    hints: Attributes = ()
    op_name: str = ""
    source: str = ""
    frames: tuple[str, ...] = ()
    place: tuple[str, ...] = ()

    def but(self, **changes: Any) -> Node:
        """The node with other values of some fields."""
        return msgspec.structs.replace(self, **changes)

    def attribute(self, name: str, default: Any = None) -> Any:
        """One attribute or hint by its name."""
        for attributes in (self.hints, self.attributes):
            for key, value in attributes:
                if key == name:
                    return value
        return default

    def __str__(self) -> str:
        return f"{self.opcode} -> {self.shape}"


CARRIERS = frozenset({"broadcast", "reshape", "transpose", "copy", "convert", "bitcast"})
"""Operations that hand a value on and compute none."""


@dataclass(frozen=True, eq=False)
class Graph:
    """One computation, equal only to itself. `nodes` is in an order in which operands stand before their users.

    `results` are the values of the root: the operands of its tuple, or the root itself.
    """

    name: str
    nodes: Mapping[int, Node]
    parameters: tuple[int, ...]
    results: tuple[int, ...]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __len__(self) -> int:
        return len(self.nodes)

    @functools.cached_property
    def users(self) -> Mapping[int, Sequence[int]]:
        """By value, the values that read it, each once per reading."""
        users: dict[int, list[int]] = {key: [] for key in self.nodes}
        for node in self:
            for operand in node.operands:
                users[operand].append(node.id)
        return users

    @functools.cached_property
    def positions(self) -> Mapping[int, int]:
        """By value, its place in the order of the graph."""
        return {key: position for position, key in enumerate(self.nodes)}

    def original_of(self, key: int) -> int:
        """The value that a value is nothing but a copy of, whatever its shape or type."""
        while self.nodes[key].opcode in CARRIERS and len(self.nodes[key].operands) == 1:
            (key,) = self.nodes[key].operands
        return key

    def constant(self, key: int) -> np.ndarray | None:
        """The constant that a value is or copies; None if there is none."""
        node = self.nodes[self.original_of(key)]
        return node.literal if node.opcode == "constant" else None

    def walk(self) -> Iterator[Node]:
        """Every node, those of regions after the node that they belong to; a shared region as often as it is used."""
        for node in self:
            yield node
            for region in node.regions:
                yield from region.walk()


def find_needed(nodes: Mapping[int, Node], targets: Iterable[int]) -> set[int]:
    """The values that some values are computed from, themselves among them."""
    keys: set[int] = set()
    waiting = list(targets)
    while waiting:
        key = waiting.pop()
        if key not in keys:
            keys.add(key)
            waiting.extend(nodes[key].operands)
    return keys
