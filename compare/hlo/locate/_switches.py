"""A program any of whose departing values can be given instead of computed: compiled once for every attempt."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo import values
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.locate._canonical import RESULT, SPREAD, Computation, runnable

VALUE, READING = "value", "reading"
_OFF, _ON = np.array(False), np.array(True)


@dataclass(frozen=True)
class Switch:
    """A replacement: of a differing value for all readers, or of an equal one for readers that differ."""

    kind: str
    key: int


Given = Mapping[Switch, Sequence[np.ndarray]]
"""By switch, the array for each case."""


class Switchboard:
    """Runs a program with values given in place of what it computes."""

    def __init__(self, program: Computation, departing_keys: Collection[int], read: Collection[int],
                 cases: Sequence[Sequence[np.ndarray]]) -> None:  # fmt: skip
        """`departing_keys` are the values that can be given, `read` those that can be given to readers among them."""
        builder = _Builder(runnable(program.graph), program, departing_keys, read)
        self._cases, self._shapes, self._graph = cases, builder.shapes, builder.graph()
        self._all = {key: builder.placed[key] for key in departing_keys if program.node(key).shape.is_array}
        self._results = {key: place for key, place in self._all.items() if program.node(key).opcode == RESULT}

    def can(self, switch: Switch) -> bool:
        """Whether there is such a switch."""
        return switch in self._shapes

    @property
    def ends(self) -> Collection[int]:
        """The results that depart."""
        return self._results.keys()

    @cached_property
    def _few(self) -> values.PreparedGraph:
        return values.prepare(self._graph, list(self._results.values()))

    @cached_property
    def _many(self) -> values.PreparedGraph:
        # Most searches end before this is wanted, and many results take long to compile.
        return values.prepare(self._graph, list(self._all.values()))

    def results(self, changes: Given, case: int) -> dict[int, np.ndarray]:
        """The results that depart, in one case."""
        return self.each([changes], case)[0]

    def each(self, change_sets: Sequence[Given], case: int) -> list[dict[int, np.ndarray]]:
        """The values after each of several sets of replacements."""
        results = self._few.each([self._arguments(change_set, case) for change_set in change_sets])
        return [{key: values[place] for key, place in self._results.items()} for values in results]

    def run(self, changes: Given, case: int) -> dict[int, np.ndarray]:
        """All departing values in one case."""
        values = self._many(self._arguments(changes, case))
        return {key: values[place] for key, place in self._all.items()}

    def _arguments(self, changes: Given, case: int) -> list[np.ndarray]:
        arguments = list(self._cases[case])
        for switch, shape in self._shapes.items():
            if switch not in changes:
                arguments += [_OFF, self._nothing[shape]]
                continue
            array = np.asarray(changes[switch][case]).reshape(shape.dimensions).astype(values_dtype(shape))
            arguments += [_ON, array]
        return arguments

    @cached_property
    def _nothing(self) -> dict[Shape, np.ndarray]:
        # One array of every shape: it travels once, however many switches are not used.
        return {shape: np.zeros(shape.dimensions, values_dtype(shape)) for shape in self._shapes.values()}


def values_dtype(shape: Shape) -> np.dtype:
    """NumPy's type for an HLO dtype."""
    names = {"pred": "bool", "f": "float", "bf": "bfloat", "s": "int", "u": "uint", "c": "complex"}
    letters = shape.dtype.rstrip("0123456789")
    return np.dtype(names.get(letters, letters) + shape.dtype[len(letters) :])


class _Builder:
    def __init__(
        self, graph: Graph, program: Computation, departing_keys: Collection[int], read: Collection[int]
    ) -> None:
        self._graph, self._nodes = graph, dict[int, Node]()
        self._last = max(graph.nodes)
        self._parameters = list(graph.parameters)
        self.shapes: dict[Switch, Shape] = {}
        self.placed: dict[int, int] = {}
        readings: dict[int, int] = {}
        for node in graph:
            replacements = readings if node.id in departing_keys else {}
            operands = tuple(replacements.get(key, self.placed[key]) for key in node.operands)
            self._nodes[node.id] = node.but(operands=operands)
            self.placed[node.id] = node.id
            if not node.shape.is_array or program.node(node.id).opcode == RESULT:
                continue
            if node.id in departing_keys and node.opcode not in SPREAD:
                self.placed[node.id] = self._add_switch(node, Switch(VALUE, node.id))
            elif node.id in read:
                readings[node.id] = self._add_switch(node, Switch(READING, node.id))

    def graph(self) -> Graph:
        """The program with its switches."""
        return dataclasses.replace(self._graph, nodes=self._nodes, parameters=tuple(self._parameters))

    def _add_switch(self, node: Node, switch: Switch) -> int:
        self.shapes[switch] = node.shape
        mask = Shape("pred", node.shape.dimensions)
        flag, argument = self._parameter(Shape("pred")), self._parameter(node.shape)
        test = self._add("broadcast", mask, (flag,))
        return self._add("select", node.shape, (test, argument, node.id))

    def _parameter(self, shape: Shape) -> int:
        key = self._add("parameter", shape, (), (("parameter_number", len(self._parameters)),))
        self._parameters.append(key)
        return key

    def _add(self, opcode: str, shape: Shape, operands: tuple[int, ...], attributes: tuple = ()) -> int:
        self._last += 1
        self._nodes[self._last] = Node(self._last, f"{opcode}.{self._last}", opcode, shape, operands, attributes)
        return self._last
