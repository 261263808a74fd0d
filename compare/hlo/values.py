"""Runs a graph and hands out its intermediates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compare.hlo import bindings, executing, steps
from compare.hlo.arrays.fingerprints import Fingerprint
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.executing import Held
from compare.hlo.graph import Graph
from compare.hlo.levels import Subject, read
from compare.hlo.promote import promote
from compare.hlo.write_module import write_graph
from workloads.protocol.compiling import UNFUSED, for_size


def prepare(graph: Graph, keys: Sequence[int]) -> PreparedGraph:
    """Compile a graph to run it and return the values of some nodes.

    Raises:
      UnreadableProgram: XLA cannot compile the graph, as with a call of another framework's library.
    """
    arrays = tuple(key for key in keys if graph.nodes[key].shape.is_array)
    bytecode = bindings.bytecode_of_hlo(write_graph(graph, arrays))
    options = for_size(UNFUSED, count_elements(graph, arrays))
    return PreparedGraph(arrays, executing.compile_bytecode(bytecode, options))


def prepare_in_steps(graph: Graph, keys: Sequence[int]) -> PreparedGraph:
    """Prepare values with each kind of operation compiled once, alone: for many values of a large graph.

    Raises:
      UnreadableProgram: XLA cannot compile an operation, as with a call of another framework's library.
    """
    arrays = tuple(key for key in keys if graph.nodes[key].shape.is_array)
    plan = steps.plan(graph, arrays)
    if plan is None:
        return prepare(graph, arrays)
    return PreparedGraph(arrays, executing.compile_steps(plan))


def prepare_in_double(graph: Graph, keys: Sequence[int]) -> PreparedGraph:
    """Prepare values in float64: the graph takes and returns such arrays.

    Raises:
      UnreadableProgram: XLA cannot compile an operation.
      PromotionError: the graph has no float64 self.
    """
    arrays = tuple(key for key in keys if graph.nodes[key].shape.is_array)
    artifact = promote(bindings.bytecode_of_hlo(write_graph(graph, arrays)))
    wide = read(Subject("float64", hlo_of_artifact(artifact)))
    return prepare_in_steps(wide, wide.results).under(arrays)


def count_elements(graph: Graph, results: Sequence[int]) -> int:
    """How many elements the arrays have that a program takes and returns.

    Args:
      results: ids of what it returns.
    """
    return sum(graph.nodes[key].shape.elements for key in (*graph.parameters, *results))


class PreparedGraph:
    """A compiled graph; what it returns are arrays, never tuples or tokens."""

    def __init__(self, keys: tuple[int, ...], executable: executing.Runnable) -> None:
        self._wanted, self._executable = keys, executable

    def under(self, keys: tuple[int, ...]) -> PreparedGraph:
        """The prepared graph with other ids for its values.

        Args:
          keys: of as many values, in their order.
        """
        return PreparedGraph(keys, self._executable)

    def __call__(self, arguments: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
        """The wanted values, by node.

        Args:
          arguments: arrays in the order of the graph's parameters, of their shapes and dtypes.

        Raises:
          UnreadableProgram: XLA refuses to run it.
        """
        return self.each([arguments])[0]

    def each(self, calls: Sequence[Sequence[np.ndarray]]) -> list[dict[int, np.ndarray]]:
        """The values in several calls, by one request."""
        return [dict(zip(self._wanted, arrays, strict=True)) for arrays in self._executable.each(calls)]

    def hold(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Held:
        """Compute the values and keep them in the executor, in the requested order."""
        return self._executable.hold(calls, tolerance)

    def fingerprints(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Sequence[Sequence[Fingerprint]]:
        """Their fingerprints alone, in the same order."""
        return self._executable.fingerprints(calls, tolerance)
