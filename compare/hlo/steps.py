"""A graph as one small program an operation: those of one kind and shape, as every layer has them, are one program.

What XLA takes to compile a program grows with its operations: each that hands out its value is a kernel of its own. A
model of many layers has few different ones.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import bindings
from compare.hlo.graph import Attributes, Graph, Node, Shape, find_needed
from compare.hlo.numbering import digests, region_digest
from compare.hlo.write_module import write_graph
from workloads.protocol.compiling import IN_ORDER, MANY_ELEMENTS_ALONE, QUICKLY, UNFUSED, for_size
from workloads.protocol.framework import CompilerOptions

_REMEMBERED = 4096
"""Programs, of a few KiB each: a model has some hundred."""

DRAWING = frozenset({"rng", "rng-get-and-update-state", "custom-call"})
"""Opcodes whose results may differ from call to call."""


_OF_SEVERAL_OPERATIONS = frozenset({"call", "conditional", "fusion", "while"})
"""Opcodes that contain operations which XLA could fuse."""

_ROUNDED = ("bf16", "f16", "f8")
"""How the types begin whose rounding is seen."""


@dataclass(frozen=True)
class StepProgram:
    """One operation as a program.

    Attributes:
      bytecode: of StableHLO.
      options: XLA's debug options that it is compiled with.
    """

    bytecode: bytes
    options: CompilerOptions


@dataclass(frozen=True)
class Step:
    """One operation: which program it is, the places of the arrays that it reads, and of those that it makes."""

    program: int
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    repeatable: bool = True


@dataclass(frozen=True, eq=False)
class Steps:
    """A graph to be run operation by operation; arrays have places, those of its parameters the first ones.

    Attributes:
      programs: each different from the others.
      parameters: how many arrays it takes.
      constants: by place, arrays that it holds.
      steps: in an order in which what a step reads is there.
      results: places of the arrays that it returns.
    """

    programs: tuple[StepProgram, ...]
    parameters: int
    constants: Mapping[int, np.ndarray]
    steps: tuple[Step, ...]
    results: tuple[int, ...]


def plan(graph: Graph, keys: Sequence[int]) -> Steps | None:
    """The steps that give some arrays of a graph.

    None where an operation reads or makes what is no array, such as a token, which no program can be given.

    Raises:
      UnreadableProgram: an operation has no StableHLO, such as a call of a library.
    """
    alive = find_needed(graph.nodes, (*graph.parameters, *keys))
    nodes = [node for node in graph if node.id in alive]
    if not are_of_arrays(nodes):
        return None
    planner = _Planner(graph)
    for node in nodes:
        planner.add(node)
    return planner.steps([place for key in keys for place in planner.places[key]])


def are_of_arrays(nodes: Iterable[Node]) -> bool:
    """Whether operations read and make arrays alone, so that each can be a program."""
    return all(_is_of_arrays(node.shape) for node in nodes)


def _is_of_arrays(shape: Shape) -> bool:
    return all(map(_is_of_arrays, shape.parts)) if shape.dtype == "tuple" else shape.is_array


class _Planner:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._numbers: dict[bytes, int] = {}
        self._options: list[CompilerOptions] = []
        self._regions: dict[Graph, bytes] = {}
        self._constants: dict[int, np.ndarray] = {}
        self._steps: list[Step] = []
        self.places: dict[int, tuple[int, ...]] = {}
        self._last = 0
        for key in graph.parameters:
            self.places[key] = self._new(_arrays(graph.nodes[key].shape))

    def steps(self, results: Sequence[int]) -> Steps:
        """The planned steps, and the positions of the results."""
        count = sum(_arrays(self._graph.nodes[key].shape) for key in self._graph.parameters)
        programs = map(StepProgram, self._numbers, self._options)
        return Steps(tuple(programs), count, self._constants, tuple(self._steps), tuple(results))

    def add(self, node: Node) -> None:
        """One operation, after those that it reads."""
        read = [place for key in node.operands for place in self.places[key]]
        if node.opcode == "tuple":
            self.places[node.id] = tuple(read)
        elif node.opcode == "get-tuple-element":
            self.places[node.id] = self._part(node)
        elif node.opcode != "parameter":
            self.places[node.id] = self._new(_arrays(node.shape))
            if _is_plain(node) and node.literal is not None:
                self._constants[self.places[node.id][0]] = node.literal
            else:
                places = self.places[node.id]
                self._steps.append(Step(self._number(node), tuple(read), places, node.opcode not in DRAWING))

    def _new(self, arrays: int) -> tuple[int, ...]:
        self._last += arrays
        return tuple(range(self._last - arrays, self._last))

    def _part(self, node: Node) -> tuple[int, ...]:
        (whole,) = node.operands
        index = node.attribute("tuple_index", 0)
        parts = self._graph.nodes[whole].shape.parts
        first = sum(map(_arrays, parts[:index]))
        return self.places[whole][first : first + _arrays(parts[index])]

    def _number(self, node: Node) -> int:
        """The number of an operation's program."""
        number = self._numbers.setdefault(self._program(node), len(self._numbers))
        if number == len(self._options):
            elements = sum(self._graph.nodes[key].shape.elements for key in (*node.operands, node.id))
            self._options.append(for_size(_choose_options(node), elements, MANY_ELEMENTS_ALONE))
        return number

    def _program(self, node: Node) -> bytes:
        operands = tuple(self._graph.nodes[key].shape for key in node.operands)
        regions = tuple(self._region(region) for region in node.regions)
        kind = node.opcode, node.shape, node.shape.layout, node.attributes, node.hints, _bytes_of(node.literal)
        return _bytecode(_Operation(node, (*kind, operands, regions), operands))

    def _region(self, region: Graph) -> bytes:
        if region not in self._regions:
            self._regions[region] = region_digest(region, digests(region))
        return self._regions[region]


def _choose_options(node: Node) -> CompilerOptions:
    """The compiler options of an operation: XLA's legacy emitters if nothing in it can be fused.

    A single sum adds up in the same order by either emitters, and an elementwise operation compiles in a quarter of the
    time: 10 ms in place of 50 ms on a quiet core, jaxlib 0.10.2. The loops of a program whose rounding is not seen
    compile three times as fast fused.
    """
    if node.opcode not in _OF_SEVERAL_OPERATIONS:
        return QUICKLY
    inner = (one for region in node.regions for one in region.walk())
    return UNFUSED if any(one.shape.dtype.startswith(_ROUNDED) for one in inner) else IN_ORDER


def _arrays(shape: Shape) -> int:
    """How many arrays a value is."""
    return sum(map(_arrays, shape.parts)) if shape.dtype == "tuple" else 1


def _is_plain(node: Node) -> bool:
    """Whether a constant is an array that can be handed to XLA as it is: four bits are read as bytes."""
    return node.opcode == "constant" and node.shape.dtype not in ("s4", "u4")


def _bytes_of(literal: np.ndarray | None) -> bytes | None:
    return None if literal is None else literal.tobytes()


@dataclass(frozen=True, eq=False)
class _Operation:
    """A node, known by what its program depends on."""

    node: Node
    key: tuple[object, ...]
    operands: tuple[Shape, ...]

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Operation) and self.key == other.key


@functools.lru_cache(maxsize=_REMEMBERED)
def _bytecode(operation: _Operation) -> bytes:
    """A program of one operation; it takes and returns arrays, tuples one by one."""
    maker = _Maker()
    read = [maker.add_value(shape) for shape in operation.operands]
    result = maker.add(operation.node, read)
    results = list(maker.taken_apart(result))
    graph = Graph("step", maker.nodes, tuple(maker.parameters), tuple(results))
    return bindings.bytecode_of_hlo(write_graph(graph, results))


class _Maker:
    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.parameters: list[int] = []

    def add_value(self, shape: Shape) -> int:
        """A value of this shape, put together of parameters."""
        if shape.dtype == "tuple":
            return self._add_node("tuple", shape, [self.add_value(part) for part in shape.parts])
        key = self._add_node("parameter", shape, (), (("parameter_number", len(self.parameters)),))
        self.parameters.append(key)
        return key

    def add(self, node: Node, operands: Sequence[int]) -> int:
        """The operation."""
        key = len(self.nodes)
        self.nodes[key] = node.but(id=key, operands=tuple(operands))
        return key

    def taken_apart(self, key: int) -> Iterator[int]:
        """The arrays of a value."""
        shape = self.nodes[key].shape
        if shape.dtype != "tuple":
            yield key
        for index, part in enumerate(shape.parts):
            yield from self.taken_apart(self._add_node("get-tuple-element", part, (key,), (("tuple_index", index),)))

    def _add_node(self, opcode: str, shape: Shape, operands: Sequence[int], attributes: Attributes = ()) -> int:
        return self.add(Node(0, opcode, opcode, shape, attributes=attributes), operands)
