"""A call of the user's own, traced by TensorFlow with each call of a layer in it kept as one operation.

This is for code that calls functions of TensorFlow itself, which takes no symbols of Keras.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import (
    _drawn_numbers,
    _keras_masks,
    _keras_variables,
    _noted_calls,
    _own_functions,
    _plain_calls,
    _trace_differences,
    _traced_calls,
)
from tf_reference._function_graph import Reading
from tf_reference._replaced_calls import replaced_calls
from workloads.protocol.architecture import LAYER_CALL, Constant, Graph, Tensor, Traced
from workloads.protocol.framework import Unsupported
from workloads.protocol.function_graph import FunctionGraph, Node

_MOST = 1 << 16
"""Elements of a constant that is handed over."""

_WIDER = {"float32": "float64"}


@dataclass(frozen=True)
class Called:
    """One call of a layer.

    Attributes:
      layer: itself.
      given: its arguments by position.
      named: by name.
      results: the tensors that it returns.
      ended_early: whether its activation, a function of the user's, is traced behind it.
    """

    layer: Any
    given: tuple[Any, ...]
    named: Mapping[str, Any]
    results: Sequence[Any] = ()
    ended_early: bool = False


@dataclass
class Trace:
    """One trace of a call: in training or not, in float32 or float64."""

    concrete: Any = None
    inputs: list[Any] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    operations: list[Any] = field(default_factory=list)
    returned: Any = None
    adds: bool = False


def graph(layer: Any, path: str, path_of: Callable[[Any, str], str]) -> tuple[Graph, Sequence[Called]]:
    """The graph of a call of a layer or model, and the layers that it calls.

    Args:
      path_of: the path of a layer in it.

    Raises:
      Unsupported: it cannot be traced, or does what no port would do in its place.
    """
    first = _traced_calls.first(layer)
    _check(layer)
    takes_training = "training" in inspect.signature(layer.call).parameters
    symbols = tf.nest.flatten(first)
    training_trace = _trace_once(layer, first, True if takes_training else None)
    still = _trace_once(layer, first, False) if takes_training else training_trace
    try:
        other, why = _trace_once(layer, first, True if takes_training else None, wider=True), ""
    except Unsupported as error:
        other, why = None, str(error)
    names = [name for name, _ in _weights(layer)]
    inputs = [*_traced_calls.input_names(layer), *names]
    function, constants = _read(training_trace, other, inputs, why)
    layers = [[call.layer for call in trace.calls] for trace in (training_trace, still)]
    if layers[0] != layers[1] or (
        takes_training and _trace_differences.differ((function, constants), _read(still, None, inputs, ""))
    ):
        raise Unsupported(f"the call of {type(layer).__name__} computes something else in training: write it for both")
    numbering = _plain_calls.Numbering(tf.is_tensor)
    for symbol, tensor in zip(symbols, training_trace.inputs, strict=False):
        numbering.add(tensor, Tensor(tuple(symbol.shape), str(symbol.dtype)))
    positions = dict(zip(_traced_calls.input_names(layer), range(len(symbols)), strict=True))
    calls = tuple(
        _plain_calls.call(path_of(call.layer, path), call, other_mode, numbering)
        for call, other_mode in zip(training_trace.calls, still.calls, strict=True)
    )
    nest = numbering.plain(tf.nest.pack_sequence_as(first, training_trace.inputs[: len(symbols)]))
    outputs = numbering.plain(training_trace.returned)
    arrays = {key: constant(array) for key, array in constants.items()}
    traced = Traced(function, tuple(names), arrays, training_trace.adds)
    return Graph(path, positions, nest, calls, outputs, tuple(numbering.tensors), traced), training_trace.calls


def _check(layer: Any) -> None:
    """Raise where more than the call decides what is computed."""
    name = type(layer).__name__
    if layer.compute_dtype != "float32" or layer.variable_dtype != "float32":
        raise Unsupported(f"the call of {name} calls TensorFlow in {layer.dtype_policy.name}, not in float32")
    for inner in layer._flatten_layers(include_self=False):
        if _traced_calls.takes_masks(layer) and _keras_masks.takes(inner):
            raise Unsupported(f"the call of {name} calls TensorFlow, and {inner.name} in it takes a mask beside")
        if _keras_masks.makes(inner):
            raise Unsupported(f"the call of {name} calls TensorFlow, and {inner.name} in it makes a mask beside")


def _weights(layer: Any) -> list[tuple[str, Any]]:
    """The layer's own weights by the names of its leaves."""
    return list(_keras_variables.leaves(layer, list(_keras_variables.children(layer))))


def _trace_once(layer: Any, first: Any, training: bool | None, wider: bool = False) -> Trace:
    """One trace.

    Args:
      training: the argument of its call; None if it takes none.
      wider: whether in float64.

    Raises:
      Unsupported: it cannot be traced.
    """
    trace, weights, symbols = Trace(), _weights(layer), tf.nest.flatten(first)
    dtypes = _WIDER if wider else {}
    specs = [tf.TensorSpec(symbol.shape, dtypes.get(symbol.dtype, symbol.dtype)) for symbol in symbols]
    specs += [tf.TensorSpec(weight.shape, dtypes.get(weight.dtype, weight.dtype)) for _, weight in weights]

    def function(*arguments: Any) -> Any:
        trace.inputs, trace.calls, trace.operations = list(arguments), [], []
        nest = tf.nest.pack_sequence_as(first, arguments[: len(symbols)])
        with (
            _with_weights(layer, weights, arguments[len(symbols) :]) as losses,
            _drawn_numbers.drawn_as_operations(dtypes),
            layers_kept(trace, dtypes),
        ):
            keywords = {} if training is None else {"training": training}
            trace.returned = _traced_calls.call(layer, nest, **keywords)
        flat = _plain_calls.tensors_in(trace.returned, tf.is_tensor)
        if not flat or len(flat) != sum(leaf is not None for leaf in tf.nest.flatten(trace.returned)):
            raise Unsupported(f"expected tensors of the call of {type(layer).__name__}, found something else")
        trace.adds = bool(losses)
        return [*flat, *_sum_losses(losses)]

    try:
        with floats(layer, wider):
            trace.concrete = tf.function(function, autograph=False).get_concrete_function(*specs)
    except _traced_calls.NOT_FOLLOWED as error:
        raise Unsupported(_traced_calls.explain(layer, error)) from error
    _drawn_numbers.check_draws(trace.concrete.graph)
    return trace


@contextmanager
def floats(layer: Any, wider: bool) -> Iterator[None]:
    """Make a layer's compute dtype float64 in the block, if `wider`."""
    policy, floats = layer.dtype_policy, keras.config.floatx()
    if wider:
        layer.dtype_policy = keras.dtype_policies.DTypePolicy("float64")
        keras.config.set_floatx("float64")
    try:
        yield
    finally:
        layer.dtype_policy = policy
        keras.config.set_floatx(floats)


@contextmanager
def _with_weights(layer: Any, weights: Sequence[tuple[str, Any]], values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Replace the weights of a layer in the block; yields the losses that its call adds, and refuses other effects."""
    name = type(layer).__name__
    with keras.StatelessScope(collect_losses=True) as scope:
        by_variable = {id(variable): value for (_, variable), value in zip(weights, values, strict=True)}
        # Not by its constructor, which converts to the type that the variable has.
        scope.state_mapping.update(by_variable)
        yield scope.losses
        if any(by_variable.get(key) is not value for key, value in scope.state_mapping.items()):
            raise Unsupported(f"the call of {name} assigns to variables")


def _sum_losses(losses: Sequence[Any]) -> list[Any]:
    """The losses of a call as Keras adds them: the sums, or nothing."""
    sums = [loss if loss.shape.rank == 0 else tf.reduce_sum(loss) for loss in map(tf.convert_to_tensor, losses)]
    return [sum(sums[1:], start=sums[0])] if sums else []


@contextmanager
def layers_kept(trace: Trace, dtypes: Mapping[str, str]) -> Iterator[None]:
    """Trace each call of a layer in the block as one operation, with Keras' shape and dtype."""
    inside, settled_ids = [False], set[int]()

    def keep(original: Callable[..., Any], layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        if inside[0]:
            return original(layer, *positional, **keywords)
        if layer.supports_masking and tf.is_tensor(keywords.get("mask")):
            raise Unsupported(f"{layer.name} in it is given a mask, which Keras hands on beside")
        unknown = {"training"} - {*inspect.signature(layer.call).parameters}
        function = _own_functions.whole(layer, (), {})
        if function is not None:
            # Not by Keras' own call, which casts to the type that the layer was made for.
            return function(*positional, **{name: value for name, value in keywords.items() if name not in unknown})
        activation = _own_functions.at_the_end(layer)
        if activation is not None:
            with _own_functions.without_activation(layer):
                return activation(result_of(layer, positional, keywords, unknown, ended_early=True))
        return result_of(layer, positional, keywords, unknown)

    def result_of(layer: Any, positional: Any, keywords: Any, unknown: Set[str], *, ended_early: bool = False) -> Any:
        inside[0] = True
        positional, keywords = tf.nest.map_structure(_in_graph, (positional, keywords))
        try:
            symbols = tf.nest.map_structure(lambda value: _symbol(value, dtypes), (positional, keywords))
            is_followed = _traced_calls.is_followed(layer)
            if is_followed:
                _traced_calls.remember(layer, *symbols)
            # Keras itself leaves out `training` for a layer that takes none.
            known_keywords = {name: value for name, value in symbols[1].items() if name not in unknown}
            with _noted_calls.specified_by_call(layer), _drawn_numbers.drawn_for_shapes():
                spec = layer.compute_output_spec(*symbols[0], **known_keywords)
        finally:
            inside[0] = False
        if is_followed:
            positional, keywords = _traced_calls.canonical(layer, positional, keywords, settled_ids)
        return _operation(trace, Called(layer, positional, keywords, ended_early=ended_early), spec, dtypes)

    with replaced_calls(keep):
        yield


def _operation(trace: Trace, call: Called, specs: Any, dtypes: Mapping[str, str]) -> Any:
    """Add an operation to the graph in place of a call, and return its results."""
    inputs = _plain_calls.tensors_in((call.given, call.named), tf.is_tensor)
    unique = list({id(tensor): tensor for tensor in inputs}.values())
    symbols = [symbol for symbol in tf.nest.flatten(specs) if symbol is not None]
    types = [dtypes.get(str(symbol.dtype), str(symbol.dtype)) for symbol in symbols]
    outputs = add_operation(unique, [(dtype, symbol.shape) for dtype, symbol in zip(types, symbols, strict=True)])
    trace.calls.append(replace(call, results=outputs))
    trace.operations.append(outputs[0].op)
    results = iter(outputs)
    return tf.nest.map_structure(lambda symbol: None if symbol is None else next(results), specs)


def add_operation(inputs: Sequence[Any], outputs: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Add an operation that is read and never run to the graph, and return its results.

    Args:
      outputs: dtype and shape of each result.
    """
    results = tf.numpy_function(_never, list(inputs), [tf.as_dtype(dtype) for dtype, _ in outputs], stateful=False)
    results = list(results) if isinstance(results, list | tuple) else [results]
    for tensor, (_, shape) in zip(results, outputs, strict=True):
        tensor.set_shape(shape)
    return results


def _in_graph(value: Any) -> Any:
    """An array that is there as a tensor of the graph; anything else as it is."""
    there = isinstance(value, np.ndarray) or (tf.is_tensor(value) and getattr(value, "graph", None) is None)
    return tf.identity(value) if there else value


def _never(*arguments: Any) -> Any:
    raise AssertionError("an operation of a trace is read, not run")


def _symbol(value: Any, dtypes: Mapping[str, str]) -> Any:
    """A symbol of a tensor, of the type that its layer was made for: in a wider trace this is not the tensor's."""
    if not tf.is_tensor(value):
        return value
    if value.shape.rank is None:
        raise TypeError("a layer is given a tensor whose rank is not known")
    dtype = keras.backend.standardize_dtype(value.dtype)
    made_for = {wider: own for own, wider in dtypes.items()}
    return keras.KerasTensor(tuple(value.shape), made_for.get(dtype, dtype))


def _read(
    trace: Trace, other: Trace | None, inputs: Sequence[str], why: str
) -> tuple[FunctionGraph, Mapping[str, np.ndarray]]:
    """A trace as data; a call of a layer is a node of its own type."""
    reading = Reading(trace.concrete, None if other is None else other.concrete)
    function, arrays = reading.all("call", inputs, why)
    if any(capture.is_variable for capture in function.captured):
        raise Unsupported(
            "it reads a variable that is no weight of its own: make it by add_weight, or call the layer that has it"
        )
    numbers = {operation.name: number for number, operation in enumerate(trace.operations)}
    if any(operation.graph is not trace.concrete.graph for operation in trace.operations):
        raise Unsupported("it calls a layer inside of a loop, a branch or a function of TensorFlow")
    outer, *bodies = function.bodies
    outer = replace(outer, nodes=tuple(_node(node, numbers) for node in outer.nodes))
    if any(node.type.startswith(("PyFunc", "EagerPyFunc")) for body in (outer, *bodies) for node in body.nodes):
        raise Unsupported("it calls Python, as tf.py_function does")
    return replace(function, bodies=(outer, *bodies)), arrays


def _node(node: Node, numbers: Mapping[str, int]) -> Node:
    if node.name not in numbers:
        return node
    return replace(node, type=LAYER_CALL, attributes={"call": numbers[node.name]})


def constant(array: np.ndarray) -> Constant:
    one = array.size > 1 and (array == array.flat[0]).all()
    if array.size > _MOST and not one:
        raise Unsupported(f"it holds a constant of {array.size} elements: make it a weight")
    values = tuple(repr(value) for value in (array.reshape(-1)[:1] if one else array.reshape(-1)).tolist())
    return Constant(array.dtype.name, tuple(array.shape), values)
