"""The inputs and outputs of each Keras layer in one call of a twin, run op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _keras_variables, _keras_weights
from tf_reference._host_arrays import on_host
from tf_reference._replaced_calls import replaced_attribute, replaced_calls
from workloads.core.tree import leaves
from workloads.protocol.layer_calls import NO_CALL, LayerCall, LayerCalls, number_paths, value_digest


@dataclass
class _Seen:
    """One call of a layer: tensors, each as the layer itself was given it and gave it."""

    layer: Any
    around: Any
    inputs: list[Any] = field(default_factory=list)
    received: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    activated: list[Any] = field(default_factory=list)
    reason: str = ""


def layer_calls(
    function: Callable[..., Any], tensors: Sequence[Any], with_gradients: bool
) -> tuple[LayerCalls, dict[str, np.ndarray]]:
    """The calls of layers in one call of a function, and their arrays.

    Args:
      function: inputs -> any nest of tensors.
      with_gradients: whether the gradients of its result, a scalar, are taken too.
    """
    recording = _Recording()
    with op_by_op():
        # A model that builds its layers at the first call makes calls that no other has.
        function(*tensors)
        if not with_gradients:
            with recording.note_calls():
                result = function(*tensors)
            return recording.to_data(leaves(result), {})
        with tf.GradientTape(persistent=True) as tape, recording.note_calls(tape):
            result = function(*tensors)
        return recording.to_data(leaves(result), _gradients(tape, result, recording.ended))


@contextmanager
def op_by_op() -> Iterator[None]:
    """Inside, what is staged by tf.function runs as Python: layers are then called with values."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


class _Recording:
    """Calls in the order in which they ended."""

    def __init__(self) -> None:
        self.ended: list[_Seen] = []
        self._open: list[_Seen] = []
        self._copied: dict[int, tuple[Any, Any]] = {}
        self._tape: tf.GradientTape | None = None

    @contextmanager
    def note_calls(self, tape: tf.GradientTape | None = None) -> Iterator[None]:
        """Note every call of a Keras layer inside; a tape watches the inputs and outputs of each."""
        self._tape = tape
        with replaced_calls(self._call):
            yield

    def _call(self, original: Callable[..., Any], layer: Any, positional: Any, keywords: Any) -> Any:
        around = self._open[-1].layer if self._open else None
        if around is layer:
            return original(layer, *positional, **keywords)
        seen_call = _Seen(layer, around)
        if not tf.executing_eagerly():
            seen_call.reason = "it is called inside of a graph"
        seen_call.received = _tensors((positional, keywords))
        # A new tensor for each call, so that the results of calls can be distinguished.
        positional, keywords = tf.nest.map_structure(self._own, (positional, keywords))
        seen_call.inputs = _tensors((positional, keywords))
        self._open.append(seen_call)
        try:
            with _activation(layer, seen_call.activated):
                result = original(layer, *positional, **keywords)
        finally:
            # A model may catch what its layer raises, and go on.
            self._open.pop()
        result = tf.nest.map_structure(self._own, result)
        seen_call.outputs = _tensors(result)
        self.ended.append(seen_call)
        return result

    def _own(self, value: Any) -> Any:
        if self._tape is None or not isinstance(value, tf.Tensor):
            return value
        copy = tf.identity(value)
        # Both stay: what is made later could have the id of one that is gone.
        self._copied[id(copy)] = copy, value
        if _is_float(copy):
            self._tape.watch(copy)
        return copy

    def to_data(
        self, results: Mapping[str, Any], gradients: Mapping[int, np.ndarray]
    ) -> tuple[LayerCalls, dict[str, np.ndarray]]:
        """The calls as data, and their arrays.

        Args:
          results: by leaf.
          gradients: by the id of the tensor that they are taken with respect to.
        """
        paths = _paths(self.ended)
        arrays: dict[str, np.ndarray] = {f"result/{leaf}": on_host(value) for leaf, value in results.items()}
        makers: dict[int, int] = {}

        def maker(tensor: Any) -> int:
            key = id(tensor)
            while key not in makers and key in self._copied:
                key = id(self._copied[key][1])
            return makers.get(key, NO_CALL)

        calls: list[LayerCall] = []
        for position, (seen_call, path, number) in enumerate(zip(self.ended, paths, number_paths(paths), strict=True)):
            calls.append(_call_data(seen_call, path, number, position, maker, gradients, arrays))
            for tensor in seen_call.outputs:
                makers.setdefault(id(tensor), position)
        layers = {path: seen_call.layer for seen_call, path in zip(self.ended, paths, strict=True)}
        return LayerCalls(
            tuple(calls),
            {leaf: maker(value) for leaf, value in results.items()},
            {path: _digests(layer) for path, layer in layers.items()},
        ), arrays


def _call_data(
    seen_call: _Seen,
    path: str,
    number: int,
    position: int,
    maker: Callable[[Any], int],
    gradients: Mapping[int, np.ndarray],
    arrays: dict[str, np.ndarray],
) -> LayerCall:
    """One call, its arrays added to the others."""
    if seen_call.reason:
        return LayerCall(path, number, type(seen_call.layer).__name__, reason=seen_call.reason)

    def keep(kind: str, index: int, array: np.ndarray | None) -> str:
        if array is None:
            return ""
        arrays[f"{position}/{kind}/{index}"] = array
        return f"{position}/{kind}/{index}"

    inputs = tuple(keep("in", index, on_host(tensor)) for index, tensor in enumerate(seen_call.inputs))
    outputs = tuple(keep("out", index, on_host(tensor)) for index, tensor in enumerate(seen_call.outputs))
    before = keep("before", 0, on_host(seen_call.activated[0])) if len(seen_call.activated) == 1 else ""
    makers = tuple(maker(tensor) for tensor in seen_call.received)
    cotangents = tuple(
        keep("grad_out", index, gradients.get(id(tensor))) for index, tensor in enumerate(seen_call.outputs)
    )
    back = tuple(keep("grad_in", index, gradients.get(id(tensor))) for index, tensor in enumerate(seen_call.inputs))
    class_name = type(seen_call.layer).__name__
    return LayerCall(path, number, class_name, inputs, outputs, before, makers, cotangents, back)


def _is_float(tensor: Any) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def _tensors(structure: Any) -> list[Any]:
    return [value for value in tf.nest.flatten(structure) if tf.is_tensor(value)]


@contextmanager
def _activation(layer: Any, inputs: list[Any]) -> Iterator[None]:
    """Inside, what the layer's own activation is given is noted."""
    activation = vars(layer).get("activation")
    if not callable(activation) or isinstance(activation, keras.Layer):
        yield
        return

    def note(value: Any, *others: Any, **keywords: Any) -> Any:
        inputs.append(value)
        return activation(value, *others, **keywords)

    with replaced_attribute(layer, "activation", note):
        yield


def _paths(calls: Sequence[_Seen]) -> list[str]:
    """By call, names from the outside in: those that the keys of weights begin with, where it is one model."""
    roots = list({id(call.layer): call.layer for call in calls if call.around is None}.values())
    alone = len(roots) == 1
    path_of: dict[int, str] = {}
    for root in roots:
        is_model = isinstance(root, keras.Model)
        prefix = "" if alone and is_model else root.name
        path_of[id(root)] = prefix
        for path, layer in _keras_weights.layers_by_path(root).items():
            path_of.setdefault(id(layer), "/".join(filter(None, (prefix, path))))
    paths: list[str] = []
    # Layers that a class of Keras creates have no path there: they get the names of their callers.
    for call in reversed(calls):
        if id(call.layer) not in path_of:
            path_of[id(call.layer)] = "/".join(filter(None, (path_of[id(call.around)], call.layer.name)))
        paths.append(path_of[id(call.layer)])
    return paths[::-1]


def _digests(layer: Any) -> tuple[str, ...]:
    """The digests of the layer's own weights, without those of inner layers."""
    inner = list(_keras_variables.children(layer))
    digests = (value_digest(np.asarray(variable)) for _, variable in _keras_variables.leaves(layer, inner))
    return tuple(sorted(filter(None, digests)))


def _gradients(tape: tf.GradientTape, result: Any, calls: Sequence[_Seen]) -> dict[int, np.ndarray]:
    """By the id of a tensor that a call was given or gave, the gradient of the result with respect to it."""
    tensors = [
        tensor
        for seen_call in calls
        if not seen_call.reason
        for tensor in (*seen_call.inputs, *seen_call.outputs)
        if _is_float(tensor)
    ]
    gradients = tape.gradient(result, tensors, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return {
        id(tensor): on_host(tf.convert_to_tensor(gradient)) for tensor, gradient in zip(tensors, gradients, strict=True)
    }
