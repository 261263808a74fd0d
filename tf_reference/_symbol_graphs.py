"""One graph of Keras' symbolic tensors as plain data: its calls of layers, branch after branch."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _keras_masks, _noted_calls, _plain_calls, _traced_calls
from workloads.protocol.architecture import CONSTANT, UNKNOWN, Call, Graph
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Plain

_MOST_VALUES = 1 << 16
"""The most values of a constant that is handed over."""


class Reading:
    """One graph on its way: tensors are numbered as they are met.

    Args:
      path_of: the path of an operation that is called within a path.
      settled_ids: as of `canonical`; those of this graph alone without.
      with_masks: whether the masks of its outputs are read too.
    """

    def __init__(
        self,
        trace: _traced_calls.Trace,
        path: str = "",
        path_of: Callable[[Any, str], str] = lambda operation, within: "",
        settled_ids: set[int] | None = None,
        with_masks: bool = False,
    ) -> None:
        self._trace, self._path, self._path_of = trace, path, path_of
        self._settled = set[int]() if settled_ids is None else settled_ids
        self._numbering = _plain_calls.Numbering(_is_symbol, self._constant)
        self._plain = self._numbering.plain
        outputs = tf.nest.flatten(trace.outputs)
        carriers = {id(symbol): symbol for symbol in outputs if with_masks and _is_symbol(_keras_masks.of(symbol))}
        self._masks_of = [(symbol, _keras_masks.of(symbol)) for symbol in carriers.values()]
        results = [*outputs, *(mask for _, mask in self._masks_of)]
        self.nodes = calls_in_order(results, list(trace.inputs.values()), self._tensors_needed)
        self.always: Set[int] = frozenset()

    def graph(self) -> Graph:
        """The graph of the symbols that were read."""
        inputs = {name: self._numbering.number(tensor) for name, tensor in self._trace.inputs.items()}
        calls = tuple(self._call(node) for node in self.nodes)
        nest, outputs = self._plain(self._trace.nest), self._plain(self._trace.outputs)
        number = self._numbering.number
        masks = tuple((number(symbol), number(mask)) for symbol, mask in self._masks_of)
        return Graph(self._path, inputs, nest, calls, outputs, tuple(self._numbering.tensors), masks=masks)

    def _masks(self, node: Any) -> Mapping[str, Any]:
        """The masks that its layer is given beside its arguments."""
        return self._trace.masks.get(id(node), {})

    def _tensors_needed(self, node: Any) -> list[Any]:
        """The tensors that a call needs."""
        masks = [mask for mask in tf.nest.flatten(list(self._masks(node).values())) if _is_symbol(mask)]
        return [*node.input_tensors, *masks]

    def _call(self, node: Any) -> Call:
        masks = self._masks(node)
        positional, by_name = node.arguments.args, {**node.arguments.kwargs, **masks}
        if isinstance(node.operation, keras.Layer) and _traced_calls.is_followed(node.operation):
            positional, by_name = _traced_calls.canonical(
                node.operation, positional, by_name, self._settled, "mask" in masks
            )
        # A mask may be a dict of nothing.
        by_name = {key: value for key, value in by_name.items() if _holds_something(value)}
        keywords = {str(key): self._plain(value) for key, value in by_name.items()}
        training = keywords.get("training")
        if self._trace.followed or training == _default_training(node.operation):
            # As the model is, or what Keras fills in where nothing is said.
            keywords.pop("training", None)
        if self._trace.followed and training is False:
            # The model was followed in training, and this call has training=False in each mode.
            keywords["training=False"] = True
        elif id(node) in self.always:
            keywords["training=True"] = True
        return Call(
            layer=self._path_of(node.operation, self._path),
            arguments=tuple(self._plain(value) for value in positional),
            keywords=keywords,
            outputs=tuple(self._numbering.number(tensor) for tensor in node.outputs),
        )

    def _constant(self, value: Any) -> Plain:
        """An array that is there, or that a symbol stands for, as data; None of anything else."""
        if id(value) in self._trace.constants:
            return _constant(self._trace.constants[id(value)])
        return _constant(value) if _noted_calls.is_array(value) else None


def always_trained(model: Any, reading: Reading) -> Set[int]:
    """The ids of the calls that have training=True although the model runs in inference."""
    counts = dict(_calls_in_training(reading))
    if not counts:
        return frozenset()
    try:
        still = Reading(_traced_calls.trace(model, training=False))
    except Unsupported:
        return frozenset()
    return {counts[place] for place, _ in _calls_in_training(still) if place in counts}


def _calls_in_training(reading: Reading) -> Iterator[tuple[tuple[int, int], int]]:
    """The layer and the number of each call with training=True, and the id of the call."""
    counts = Counter[int]()
    for node in reading.nodes:
        counts[id(node.operation)] += 1
        if node.arguments.kwargs.get("training") is True:
            yield (id(node.operation), counts[id(node.operation)]), id(node)


def _default_training(operation: Any) -> Any:
    """Whether the call of a layer is in training where nothing is said."""
    parameter = inspect.signature(operation.call).parameters.get("training")
    return None if parameter is None else parameter.default


def _holds_something(nest: Any) -> bool:
    return nest is not None and (not keras.tree.is_nested(nest) or any(map(_holds_something, keras.tree.flatten(nest))))


def _constant(value: Any) -> Plain:
    array = np.asarray(value)
    if array.size > _MOST_VALUES or array.dtype.kind not in "biuf":
        return {UNKNOWN: f"{type(value).__name__}, a constant {array.dtype}{list(array.shape)}"}
    return {CONSTANT: {"shape": list(array.shape), "values": array.ravel().tolist()}}


def _is_symbol(value: Any) -> bool:
    return isinstance(value, keras.KerasTensor)


def calls_in_order(
    outputs: list[Any], inputs: list[Any], needed_tensors: Callable[[Any], list[Any]] = lambda call: call.input_tensors
) -> list[Any]:
    """The calls that the outputs need, each behind those that it needs: one branch after the other.

    Args:
      inputs: symbols at which the calls end.
      needed_tensors: the symbols that a call needs.
    """
    input_ids = {id(tensor) for tensor in inputs}
    seen_ids: set[int] = set()
    result: list[Any] = []
    waiting = [(node, False) for node in _makers(reversed(outputs), input_ids)]
    while waiting:
        node, is_met = waiting.pop()
        if id(node) in seen_ids or node.is_input:
            continue
        if is_met:
            seen_ids.add(id(node))
            result.append(node)
            continue
        waiting.append((node, True))
        waiting.extend((maker, False) for maker in _makers(reversed(needed_tensors(node)), input_ids))
    return result


def _makers(tensors: Iterable[Any], input_ids: Set[int]) -> Iterator[Any]:
    """The calls that tensors come from, those that are given left out."""
    for tensor in tensors:
        history = getattr(tensor, "_keras_history", None)
        if id(tensor) not in input_ids and history is not None and history.operation is not None:
            yield history.operation._inbound_nodes[history.node_index]
