"""The calls of the layers of a Keras model, as plain data, branch after branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _call_graphs, _keras_variables, _plain_calls, _traced_calls
from workloads._architecture import CONSTANT, UNKNOWN, Call, Graph
from workloads._framework import Unsupported
from workloads._inspection import Plain

_MOST_VALUES = 4096
"""Of a constant that is written down; more are no text."""


@dataclass(frozen=True)
class Read:
    """The graphs of a model.

    Attributes:
      graphs: of it, and of each model in it that is followed.
      operations: that stand in none of its layers, by path: a call of the user's own makes them as it goes.
      reasons: path of a layer of the user's own -> why its call is not followed.
    """

    graphs: tuple[Graph, ...]
    operations: Mapping[str, Any]
    reasons: Mapping[str, str]


def read(model: Any, paths: Mapping[int, str]) -> Read:
    """The graph of a model, and those of the models in it, each once.

    Args:
      model: of Keras.
      paths: of its layers, by id.

    Raises:
      Unsupported: it has no graph.
    """
    walk = _Walk(dict(paths))
    walk.add(model, "")
    return Read(tuple(walk.graphs), walk.operations, walk.reasons)


class _Walk:
    def __init__(self, paths: dict[int, str]) -> None:
        self.graphs: list[Graph] = []
        self.operations: dict[str, Any] = {}
        self.reasons: dict[str, str] = {}
        self._paths, self._seen = paths, set[int]()

    def add(self, model: Any, path: str) -> None:
        if id(model) in self._seen:
            return
        self._seen.add(id(model))
        graph, called = self._read(model, path)
        self.graphs.append(graph)
        for layer, given in called:
            self._called(layer, given)

    def _read(self, model: Any, path: str) -> tuple[Graph, Sequence[tuple[Any, Sequence[Any]]]]:
        """A graph, and the layers that it calls with what they are given."""
        own = _traced_calls.is_followed(model)
        # Weights of a layer of the user's are no symbols that keras.ops take.
        if not (own and _keras_variables.has_own(model)):
            try:
                reading = _Reading(_structure(model, path), path, self._path)
                graph = reading.graph()
                _check_constants(model, graph)
                return graph, [(each.operation, each.arguments.args) for each in reading.nodes]
            except Unsupported:
                if not own:
                    raise
        graph, calls = _call_graphs.graph(model, path, self._path)
        return graph, [(each.layer, each.given) for each in calls]

    def _called(self, inner: Any, given: Sequence[Any]) -> None:
        if _is_called(inner):
            if _traced_calls.is_followed(inner) and len(given) == 1:
                _traced_calls.remember(inner, given[0])
            self._inner(inner, self._paths[id(inner)])

    def _inner(self, layer: Any, path: str) -> None:
        if not _traced_calls.is_followed(layer):
            self.add(layer, path)
            return
        try:
            self.add(layer, path)
        except Unsupported as error:
            self.reasons[path] = str(error)

    def _path(self, operation: Any, within: str) -> str:
        """The path of an operation: that of a layer, or a new one."""
        if id(operation) not in self._paths:
            taken = {*self._paths.values()}
            wanted = f"{within}/{operation.name}" if within else operation.name
            path, number = wanted, 1
            while path in taken:
                number += 1
                path = f"{wanted}_{number}"
            self._paths[id(operation)] = path
            self.operations[path] = operation
        return self._paths[id(operation)]


def _is_called(layer: Any) -> bool:
    return isinstance(layer, keras.Model) or (isinstance(layer, keras.Layer) and _traced_calls.is_followed(layer))


def _structure(model: Any, path: str) -> _traced_calls.Trace:
    """The inputs and outputs of a functional model, of that which Keras makes of a Sequential, or of a call."""
    if _traced_calls.is_followed(model):
        return _traced_calls.traced(model)
    graph = getattr(model, "_functional", None) or model
    if not hasattr(graph, "_nodes_by_depth"):
        raise Unsupported(
            f"expected a model that knows its inputs, found {type(model).__name__}"
            f"{f' at {path}' if path else ''}: give it an Input, or call it on an example"
        )
    return _traced_calls.Trace(
        {each.name: each for each in graph.inputs},
        getattr(graph, "_inputs_struct", graph.inputs),
        getattr(graph, "_outputs_struct", graph.outputs),
    )


class _Reading:
    """One graph on its way: tensors are numbered as they are met."""

    def __init__(self, trace: _traced_calls.Trace, path: str, path_of: Callable[[Any, str], str]) -> None:
        self._trace, self._path, self._path_of = trace, path, path_of
        self._numbering = _plain_calls.Numbering(lambda value: isinstance(value, keras.KerasTensor), self._constant)
        self._plain = self._numbering.plain
        self.nodes = _in_order(tf.nest.flatten(trace.outputs), list(trace.inputs.values()))

    def graph(self) -> Graph:
        inputs = {name: self._numbering.number(each) for name, each in self._trace.inputs.items()}
        calls = tuple(self._call(node) for node in self.nodes)
        nest, outputs = self._plain(self._trace.nest), self._plain(self._trace.outputs)
        return Graph(self._path, inputs, nest, calls, outputs, tuple(self._numbering.tensors))

    def _call(self, node: Any) -> Call:
        given = node.arguments
        keywords = {str(key): self._plain(each) for key, each in given.kwargs.items() if each is not None}
        if self._trace.followed and keywords.get("training") is False:
            # Followed as in training: this one is told that it never is.
            keywords["training=False"] = True
        return Call(
            layer=self._path_of(node.operation, self._path),
            arguments=tuple(self._plain(each) for each in given.args),
            keywords=keywords,
            outputs=tuple(self._numbering.number(each) for each in node.outputs),
        )

    def _constant(self, value: Any) -> Plain:
        """An array that is there, or that a symbol stands for, as data; None of anything else."""
        if id(value) in self._trace.constants:
            return _constant(self._trace.constants[id(value)])
        return _constant(value) if _traced_calls.is_array(value) else None


def _check_constants(model: Any, graph: Graph) -> None:
    """Arrays that a call computes are no constants where they come of its weights, or are drawn: others then.

    Raises:
      Unsupported: one does.
    """
    constants = _constants_in(graph)
    if not constants:
        return
    with _traced_calls.other_weights(model):
        again = _Reading(_traced_calls.traced(model), "", lambda operation, within: "").graph()
    if _constants_in(again) != constants:
        raise Unsupported(
            f"the call of {type(model).__name__} is not followed: it computes with weights outside of its layers, or "
            "with numbers that it draws"
        )


def _constants_in(graph: Graph) -> list[Plain]:
    found: list[Plain] = []
    waiting: list[Any] = [each for call in graph.calls for each in (call.arguments, call.keywords)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            found += [value[CONSTANT]] if CONSTANT in value else []
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return found


def _constant(value: Any) -> Plain:
    array = np.asarray(value)
    if array.size > _MOST_VALUES or array.dtype.kind not in "biuf":
        return {UNKNOWN: f"{type(value).__name__}, a constant {array.dtype}{list(array.shape)}"}
    return {CONSTANT: {"shape": list(array.shape), "values": array.ravel().tolist()}}


def _in_order(outputs: list[Any], inputs: list[Any]) -> list[Any]:
    """The calls that the outputs need, each behind those that it needs: one branch after the other."""
    given = {id(each) for each in inputs}
    done: set[int] = set()
    ordered: list[Any] = []
    waiting = [(node, False) for node in _makers(reversed(outputs), given)]
    while waiting:
        node, met = waiting.pop()
        if id(node) in done or node.is_input:
            continue
        if met:
            done.add(id(node))
            ordered.append(node)
            continue
        waiting.append((node, True))
        waiting.extend((each, False) for each in _makers(reversed(node.input_tensors), given))
    return ordered


def _makers(tensors: Iterable[Any], given: Set[int]) -> Iterator[Any]:
    """The calls that tensors come from, those that are given left out."""
    for each in tensors:
        history = getattr(each, "_keras_history", None)
        if id(each) not in given and history is not None and history.operation is not None:
            yield history.operation._inbound_nodes[history.node_index]
