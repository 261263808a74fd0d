"""The calls of a functional or sequential Keras model, as plain data, branch after branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import keras

from tf_reference import _keras_variables
from workloads._architecture import ELLIPSIS, SLICE, TENSOR, TUPLE, UNKNOWN, Call, Graph, Tensor
from workloads._framework import Unsupported
from workloads._inspection import Plain


def graphs(model: Any) -> Iterator[Graph]:
    """The graph of a model, and those of the models in it, each once.

    Raises:
      Unsupported: one of them has no graph.
    """
    yield from _graphs(model, "", set())


def _graphs(model: Any, path: str, seen: set[int]) -> Iterator[Graph]:
    if id(model) in seen:
        return
    seen.add(id(model))
    yield _Reading(_function(model, path), path).graph()
    for name, child in _keras_variables.children(model):
        if _is_model(child):
            yield from _graphs(child, f"{path}/{name}" if path else name, seen)


def _is_model(layer: Any) -> bool:
    return isinstance(layer, keras.Model)


def _function(model: Any, path: str) -> Any:
    """The functional model that a model is, or that Keras makes of a Sequential."""
    graph = getattr(model, "_functional", None) or model
    if not _keras_variables.is_keras(model) or not hasattr(graph, "_nodes_by_depth"):
        raise Unsupported(
            f"expected a functional or sequential model that knows its inputs, found {type(model).__name__}"
            f"{f' at {path}' if path else ''}: give it an Input, or make it of its layers' calls"
        )
    return graph


class _Reading:
    """One graph on its way: tensors are numbered as they are met."""

    def __init__(self, model: Any, path: str) -> None:
        self._model, self._path = model, path
        self._numbers: dict[int, int] = {}
        self._tensors: list[Tensor] = []

    def graph(self) -> Graph:
        inputs = {each.name: self._number(each) for each in self._model.inputs}
        calls = tuple(self._call(node) for node in _in_order(self._model))
        nest = self._plain(getattr(self._model, "_inputs_struct", self._model.inputs))
        outputs = self._plain(getattr(self._model, "_outputs_struct", self._model.outputs))
        return Graph(self._path, inputs, nest, calls, outputs, tuple(self._tensors))

    def _number(self, tensor: Any) -> int:
        if id(tensor) not in self._numbers:
            self._numbers[id(tensor)] = len(self._tensors)
            shape = tuple(None if size is None else int(size) for size in tensor.shape)
            self._tensors.append(Tensor(shape, str(tensor.dtype)))
        return self._numbers[id(tensor)]

    def _call(self, node: Any) -> Call:
        name = node.operation.name
        given = node.arguments
        return Call(
            layer=f"{self._path}/{name}" if self._path else name,
            arguments=tuple(self._plain(each) for each in given.args),
            keywords={str(key): self._plain(each) for key, each in given.kwargs.items() if each is not None},
            outputs=tuple(self._number(each) for each in node.outputs),
        )

    def _plain(self, value: Any) -> Plain:
        if isinstance(value, keras.KerasTensor):
            return {TENSOR: self._number(value)}
        if isinstance(value, tuple):
            return {TUPLE: [self._plain(each) for each in value]}
        if isinstance(value, list):
            return [self._plain(each) for each in value]
        if isinstance(value, Mapping):
            return {"dict": [[str(key), self._plain(each)] for key, each in value.items()]}
        if isinstance(value, slice):
            return {SLICE: [self._plain(each) for each in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return {ELLIPSIS: True}
        return (
            value if value is None or isinstance(value, bool | int | float | str) else {UNKNOWN: type(value).__name__}
        )


def _in_order(model: Any) -> list[Any]:
    """The calls that the outputs need, each behind those that it needs: one branch after the other."""
    used = {id(node) for nodes in model._nodes_by_depth.values() for node in nodes}
    makers = {id(each): node for nodes in model._nodes_by_depth.values() for node in nodes for each in node.outputs}
    done: set[int] = set()
    ordered: list[Any] = []
    waiting = [(makers[id(each)], False) for each in reversed(model.outputs) if id(each) in makers]
    while waiting:
        node, met = waiting.pop()
        if id(node) in done or node.is_input or id(node) not in used:
            continue
        if met:
            done.add(id(node))
            ordered.append(node)
            continue
        waiting.append((node, True))
        needed = [makers[id(each)] for each in node.input_tensors if id(each) in makers]
        waiting.extend((each, False) for each in reversed(needed))
    return ordered
