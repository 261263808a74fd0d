"""Programs without conditionals: both branches are computed, and each value is selected by what chose the branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compare.hlo.graph import Graph, Node, Shape

_PRED = Shape("pred")


def without_conditionals(graph: Graph) -> Graph:
    """The program with every conditional outside of loops as selects; it may compute more than before.

    A conditional that returns a token or a tuple within a tuple stays. What takes a part out of a tuple that the
    program puts together reads that part itself.
    """
    writer = _Writer()
    parameters = {key: writer.add(graph.nodes[key], ()) for key in graph.parameters}
    new_keys = writer.copy(graph, parameters)
    return Graph(graph.name, writer.nodes, tuple(parameters.values()), tuple(new_keys[key] for key in graph.results))


class _Writer:
    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}

    def add(self, node: Node, operands: Sequence[int]) -> int:
        key = len(self.nodes)
        self.nodes[key] = node.but(id=key, operands=tuple(operands))
        return key

    def copy(self, graph: Graph, parameter_keys: Mapping[int, int]) -> dict[int, int]:
        """Append the nodes of a graph; the new key of each old one.

        Args:
          parameter_keys: new keys of its parameters.
        """
        new_keys = dict(parameter_keys)
        for node in graph:
            if node.id not in new_keys:
                new_keys[node.id] = self._copy_node(node, [new_keys[key] for key in node.operands])
        return new_keys

    def _copy_node(self, node: Node, operands: Sequence[int]) -> int:
        if node.opcode == "get-tuple-element" and self.nodes[operands[0]].opcode == "tuple":
            return self.nodes[operands[0]].operands[node.attribute("tuple_index", 0)]
        if node.opcode == "conditional" and all(part.is_array for part in node.shape.parts or (node.shape,)):
            return self._select_results(node, *operands)
        return self.add(node, operands)

    def _select_results(self, node: Node, index: int, *arguments: int) -> int:
        """The results of a conditional, computed in every branch."""
        branches = [self._results(region, argument) for region, argument in zip(node.regions, arguments, strict=True)]
        # The last branch is taken where no other one is named; that of a predicate is the false one.
        chosen_values = list(branches[-1])
        for number, values in reversed(list(enumerate(branches[:-1]))):
            test = index if self.nodes[index].shape.dtype == "pred" else self._is_equal(node, index, number)
            chosen_values = [self._select(node, test, *pair) for pair in zip(values, chosen_values, strict=True)]
        if node.shape.dtype != "tuple":
            return chosen_values[0]
        return self.add(Node(0, node.name, "tuple", node.shape), chosen_values)

    def _results(self, region: Graph, argument: int) -> list[int]:
        new_keys = self.copy(region, {region.parameters[0]: argument})
        return [new_keys[key] for key in region.results]

    def _is_equal(self, node: Node, index: int, number: int) -> int:
        shape = self.nodes[index].shape
        literal = np.asarray(number, np.int32)
        against = self.add(Node(0, node.name, "constant", shape, literal=literal), ())
        equal = (("comparison_direction", "EQ"),)
        comparison = Node(0, node.name, "compare", _PRED, attributes=equal, source=node.source)
        return self.add(comparison, (index, against))

    def _select(self, node: Node, test: int, if_true: int, if_false: int) -> int:
        shape = self.nodes[if_true].shape
        if if_true == if_false:
            return if_true
        if shape.dimensions:
            spread = Node(0, node.name, "broadcast", Shape("pred", shape.dimensions))
            test = self.add(spread, (test,))
        return self.add(Node(0, node.name, "select", shape, source=node.source), (test, if_true, if_false))
