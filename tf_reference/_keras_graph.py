"""The graphs of a Keras model and of the models in it, each once, and why a call is not followed."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras

from tf_reference import (
    _call_graphs,
    _dropping_layers,
    _keras_masks,
    _keras_variables,
    _own_functions,
    _own_steps,
    _traced_calls,
    _training_branches,
)
from tf_reference._symbol_graphs import Reading, always_trained
from workloads.protocol.architecture import CONSTANT, Graph
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Plain


@dataclass(frozen=True)
class Read:
    """The graphs of a model.

    Attributes:
      graphs: of it, and of each model in it that is followed.
      operations: that stand in none of its layers, by path: a call of the user's own makes them as it goes.
      reasons: path of a layer of the user's own, or of a model in it -> why its call is not followed.
      masked: whether what the whole returns carries a mask.
      ended_early: the paths of layers whose activation, a function of the user's, stands behind every call of them.
      dropouts: path of a layer of the user's own that drops what it is given -> the attributes of that Dropout.
      has_call: whether the class of the whole has one.
    """

    graphs: tuple[Graph, ...]
    operations: Mapping[str, Any]
    reasons: Mapping[str, str]
    masked: bool = False
    ended_early: Set[str] = frozenset()
    dropouts: Mapping[str, Mapping[str, Plain]] = field(default_factory=dict)
    has_call: bool = True


def read(model: Any, paths: Mapping[int, str], beside: Sequence[Any] = ()) -> Read:
    """The graph of a model, and those of the models in it, each once.

    Args:
      paths: of its layers, by id.
      beside: layers of it that its training step uses, whether its call does or not.

    Raises:
      Unsupported: neither it nor a model in it has a graph.
    """
    walk, has_call = _Walk(dict(paths)), True
    try:
        walk.add(model, "")
    except Unsupported as error:
        if not _traced_calls.is_followed(model) and _keras_variables.is_keras(model):
            raise
        has_call = _traced_calls.is_followed(model)
        walk.reasons[""] = str(error) if has_call else f"{type(model).__name__} has no call of its own"
        walk.add_inside(model)
        if not walk.graphs:
            raise Unsupported(f"expected a model whose call can be followed: {error}") from error
    for layer in beside:
        walk.note_called(layer)
    return Read(
        tuple(walk.graphs),
        walk.operations,
        walk.reasons,
        walk.masked,
        walk.ended_early - walk.ended_whole,
        walk.dropouts,
        has_call,
    )


class _Walk:
    def __init__(self, paths: dict[int, str]) -> None:
        self.graphs: list[Graph] = []
        self.operations: dict[str, Any] = {}
        self.reasons: dict[str, str] = {}
        self.masked = False
        self.ended_early, self.ended_whole = set[str](), set[str]()
        self.dropouts: dict[str, Mapping[str, Plain]] = {}
        self._paths, self._seen, self._settled = paths, set[int](), set[int]()

    def add(self, model: Any, path: str) -> None:
        if id(model) in self._seen:
            return
        self._seen.add(id(model))
        if not path and not _traced_calls.takes_one(model):
            raise Unsupported(f"expected a model that is called with one argument, found {type(model).__name__}")
        graph, layers_called, has_masks = self._read(model, path)
        if has_masks and path and not _traced_calls.takes_masks(model):
            self.reasons[path] = "what it returns carries a mask that is made in it: make the mask where it is called"
            return
        self.masked = self.masked or has_masks
        self.graphs.append(graph)
        for layer in layers_called:
            self.note_called(layer)

    def _read(self, model: Any, path: str) -> tuple[Graph, Sequence[Any], bool]:
        """A graph, the layers that it calls, and whether a mask leaves it."""
        own = _traced_calls.is_followed(model)
        # Weights of a layer of the user's are no symbols that keras.ops take.
        if not (own and _keras_variables.has_own(model)):
            try:
                return self._of_symbols(model, path)
            except Unsupported:
                if not own:
                    return self._of_symbols(model, path, functions=False)
        graph, calls = _call_graphs.graph(model, path, self._path)
        self.ended_early |= {self._paths[id(call.layer)] for call in calls if call.ended_early}
        return graph, [call.layer for call in calls], False

    def _of_symbols(self, model: Any, path: str, *, functions: bool = True) -> tuple[Graph, Sequence[Any], bool]:
        """Like `_read`, for a call that takes Keras' symbols; `functions` of the user's are followed too."""
        with _nodes_kept(model):
            trace = _structure(model, path, functions)
            # A loss of Keras' own leaves out what the results of the whole have masks for.
            with_masks = not path and getattr(model, "compiled", False) and not _own_steps.is_own(model)
            reading = Reading(trace, path, self._path, self._settled, with_masks)
            reading.always = always_trained(model, reading) if trace.followed else frozenset()
            graph = reading.graph()
            if functions:
                _check_constants(model, graph)
            if trace.followed and "training" in inspect.signature(model.call).parameters:
                self._check_branches(model, trace)
            operations = [node.operation for node in reading.nodes]
        self.ended_early |= {self._paths[layer_id] for layer_id in trace.ended_early}
        self.ended_whole |= {self._paths[layer_id] for layer_id in trace.ended_whole}
        return graph, operations, trace.has_mask

    def _check_branches(self, model: Any, trace: _traced_calls.Trace) -> None:
        """Raise where Python decides by `training` what a call computes: only that in training was followed."""

        def name_operation(operation: Any, within: str) -> str:
            # A layer without weights that the call itself makes is a new one in each trace.
            is_kept = isinstance(operation, keras.Layer) and (id(operation) in in_both or operation.weights)
            path = self._paths.get(id(operation)) if is_kept else None
            return path or _training_branches.name_of(operation)

        still = _traced_calls.trace(model, training=False)
        training_reading, other = (Reading(mode, path_of=name_operation) for mode in (trace, still))
        in_both = {id(node.operation) for node in training_reading.nodes} & {id(node.operation) for node in other.nodes}
        graphs = training_reading.graph(), other.graph()
        if not _training_branches.differ(*graphs, frozenset()):
            return
        dropping = {
            name_operation(node.operation, "")
            for node in (*training_reading.nodes, *other.nodes)
            if isinstance(node.operation, keras.Layer) and _dropping_layers.is_identity(node.operation)
        }
        if _training_branches.differ(*graphs, dropping):
            raise Unsupported(
                f"the call of {type(model).__name__} computes something else in training: write it for both"
            )

    def note_called(self, inner: Any) -> None:
        """Add a model, or a layer of the user's own, that is called."""
        if _is_called(inner):
            self._inner(inner, self._paths[id(inner)])

    def _inner(self, layer: Any, path: str) -> None:
        if not _traced_calls.is_followed(layer):
            self.add(layer, path)
            return
        try:
            self.add(layer, path)
        except Unsupported as error:
            dropout = _dropping_layers.dropout(layer)
            if dropout is not None:
                self.dropouts[path] = dataclasses.asdict(dropout)
                return
            self.reasons[path] = str(error)
        if path in self.reasons:
            self.add_inside(layer)

    def add_inside(self, layer: Any) -> None:
        """Add the models in a layer whose call is not followed, as far as they can be: they may be written whole."""
        for _, child in _keras_variables.children(layer):
            if id(child) in self._seen or not _keras_variables.is_container(child):
                continue
            path = self._paths[id(child)]
            try:
                self._inner(child, path)
            except Unsupported as error:
                self.reasons[path] = str(error)
                self.add_inside(child)

    def _path(self, operation: Any, within: str) -> str:
        """The path of an operation: that of a layer, or a new one."""
        if id(operation) not in self._paths:
            paths_taken = {*self._paths.values()}
            base = f"{within}/{operation.name}" if within else operation.name
            path, number = base, 1
            while path in paths_taken:
                number += 1
                path = f"{base}_{number}"
            self._paths[id(operation)] = path
            self.operations[path] = operation
        return self._paths[id(operation)]


def _is_called(layer: Any) -> bool:
    return isinstance(layer, keras.Model) or (isinstance(layer, keras.Layer) and _traced_calls.is_followed(layer))


@contextmanager
def _nodes_kept(model: Any) -> Iterator[None]:
    """Inside, calls of a model's layers leave nothing behind: Keras takes the input of a layer from them, and draws."""
    operations = {
        id(operation): operation for operation in (*model._flatten_layers(), *getattr(model, "operations", ()))
    }
    before = {key: len(operation._inbound_nodes) for key, operation in operations.items()}
    try:
        with _keras_variables.seeds_kept(model):
            yield
    finally:
        for key, operation in operations.items():
            del operation._inbound_nodes[before[key] :]


def _structure(model: Any, path: str, functions: bool = True) -> _traced_calls.Trace:
    """The inputs and outputs of a functional model, of that which Keras makes of a Sequential, or of a call.

    Args:
      functions: whether those of the user's that its layers call are followed.
    """
    if _traced_calls.is_followed(model):
        return _traced_calls.trace(model)
    graph = getattr(model, "_functional", None) or model
    if not hasattr(graph, "_nodes_by_depth"):
        raise Unsupported(
            f"expected a model that knows its inputs, found {type(model).__name__}"
            f"{f' at {path}' if path else ''}: give it an Input, or call it on an example"
        )
    if _keras_masks.in_graph(graph) or (functions and _has_functions(graph)):
        return _traced_calls.again(graph, [symbol.name for symbol in graph.inputs], functions)
    return _traced_calls.Trace(
        {symbol.name: symbol for symbol in graph.inputs},
        getattr(graph, "_inputs_struct", graph.inputs),
        _traced_calls.as_called(getattr(graph, "_outputs_struct", graph.outputs)),
    )


def _has_functions(graph: Any) -> bool:
    return any(map(_own_functions.has, graph.operations))


def _check_constants(model: Any, graph: Graph) -> None:
    """Arrays that a call computes are no constants where they come of its weights, or are drawn: others then.

    Raises:
      Unsupported: one does.
    """
    constants = _constants_in(graph)
    inner = getattr(model, "_functional", None) or model
    # Those of a graph that Keras has were there before it was made, if no function of the user's computes in it.
    if not constants or not (_traced_calls.is_followed(model) or _has_functions(inner)):
        return
    with _traced_calls.other_weights(model):
        again = Reading(_structure(model, "")).graph()
    if _constants_in(again) != constants:
        raise Unsupported(
            f"the call of {type(model).__name__}, which computes with weights outside of its layers, or with numbers "
            "that it draws"
        )


def _constants_in(graph: Graph) -> list[Plain]:
    constants: list[Plain] = []
    waiting: list[Any] = [value for call in graph.calls for value in (call.arguments, call.keywords)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            constants += [value[CONSTANT]] if CONSTANT in value else []
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return constants
