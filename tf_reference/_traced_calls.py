"""Models and layers of the user's own, whose call is followed with Keras' symbolic tensors: the layers that it calls.

A class says nothing of the shapes that it takes: what a model was first called with is remembered while it is made.
"""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _call_arguments, _first_values, _keras_masks, _keras_variables, _noted_calls, _own_functions
from tf_reference._noted_calls import NOT_FOLLOWED
from tf_reference._replaced_calls import replaced_calls
from workloads.core.frames import is_framework
from workloads.protocol.framework import Unsupported

OTHERWISE = "other arguments than its first call"
"""Stands among the arguments of a call that no class written for another says."""

_FIRST: WeakKeyDictionary[Any, _call_arguments.Arguments] = WeakKeyDictionary()
"""Layer -> what it was first called with: symbols."""


@dataclass(frozen=True)
class Trace:
    """A call that was followed.

    Attributes:
      inputs: symbols by name.
      nest: of these, as the call takes it.
      outputs: a nest of symbols.
      followed: whether a call was, rather than a graph read that Keras has.
      constants: by the id of a symbol that stands for it, an array that depends on no input.
      masks: by the id of a node, those that its layer is given beside its arguments, by name; None for one that is
        taken away.
      ended_early: the ids of layers whose activation, a function of the user's, is followed behind a call of them.
      ended_whole: likewise, where it is not.
    """

    inputs: Mapping[str, Any]
    nest: Any
    outputs: Any
    followed: bool = False
    constants: Mapping[int, Any] = field(default_factory=dict)
    masks: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    ended_early: Set[int] = frozenset()
    ended_whole: Set[int] = frozenset()

    @property
    def has_mask(self) -> bool:
        """Whether what it returns carries a mask."""
        return any(_keras_masks.of(symbol) is not None for symbol in tf.nest.flatten(self.outputs))


@contextmanager
def remembering() -> Iterator[None]:
    """Inside, the first call of each layer of a class of the user's is remembered, and what sets its weights first."""

    def note(original: Callable[..., Any], layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        if not _keras_variables.is_keras(layer) or _own_functions.whole(layer, positional, keywords) is not None:
            remember(layer, positional, keywords)
        return original(layer, *positional, **keywords)

    with replaced_calls(note), _first_values.remembering():
        yield


def remember(layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
    """Note what a layer was called with, if that was its first call.

    Args:
      positional: its arguments by position: tensors, or nests of such.
      keywords: by name.
    """
    if layer not in _FIRST:
        arguments = _call_arguments.bound(layer, positional, keywords)
        if arguments is not None:
            _FIRST[layer] = arguments.symbols()


def canonical(
    layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any], settled_ids: set[int], has_mask: bool = False
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The arguments of a call in the order in which the layer's own class takes them.

    Args:
      positional: by position.
      keywords: by name, masks that Keras adds among them.
      settled_ids: the ids of the layers of which a call was seen: another call has to be as that one.
      has_mask: whether Keras adds the mask, so that tensors in the layer carry it too.
    """
    arguments = _call_arguments.bound(layer, positional, keywords)
    if arguments is None:
        return positional, keywords
    first_arguments = _FIRST.get(layer)
    if id(layer) not in settled_ids and (
        first_arguments is None or (first_arguments.names, first_arguments.masked) != (arguments.names, has_mask)
    ):
        first_arguments = _FIRST[layer] = replace(arguments.symbols(), masked=has_mask)
    settled_ids.add(id(layer))
    others = {name: value for name, value in keywords.items() if name == "training"}
    if first_arguments is None or not first_arguments.takes(arguments) or first_arguments.masked != has_mask:
        return positional, {OTHERWISE: True, **keywords}
    _FIRST[layer] = first_arguments.widen(arguments)
    return (arguments.nest if arguments.names else (arguments.nest,)), others


def call(layer: Any, nest: Any, **keywords: Any) -> Any:
    """Call a layer as it was called first.

    Args:
      keywords: its other arguments.
    """
    first_arguments = _FIRST[layer]
    if not first_arguments.names:
        return layer.call(nest, **keywords)
    return layer.call(**dict(zip(first_arguments.names, nest, strict=True)), **first_arguments.fixed, **keywords)


def pack(model: Any, arrays: list[Any]) -> Any:
    """Arrays in the nest that a model takes."""
    first_arguments = _FIRST.get(model)
    nest = getattr(model, "_inputs_struct", None) if first_arguments is None else first_arguments.nest
    if nest is None or isinstance(nest, keras.KerasTensor):
        return arrays[0] if len(arrays) == 1 else arrays
    return tf.nest.pack_sequence_as(nest, arrays)


def takes_masks(layer: Any) -> bool:
    """Whether tensors that a layer is given carry masks, which its call takes too."""
    return layer in _FIRST and _FIRST[layer].masked


def is_followed(layer: Any) -> bool:
    """Whether a layer is known by what its call does: one of the user's own, with a call of its own, or a Lambda."""
    if _keras_variables.is_lambda(layer):
        return True
    return not _keras_variables.is_keras(layer) and not type(layer).call.__module__.startswith("keras.")


def output_nest(model: Any) -> Any:
    """Symbols of what a model of a class of the user's returns."""
    try:
        return trace(model).outputs
    except Unsupported:
        # Its call takes tensors alone: Keras gives it some and keeps the shapes.
        return model.compute_output_spec(first(model))


def trace(layer: Any, *, training: bool = True) -> Trace:
    """Trace the call of a user's layer.

    Args:
      training: whether in training.

    Raises:
      Unsupported: it cannot be followed.
    """
    example = first(layer)
    inputs = [keras.Input(batch_shape=symbol.shape, dtype=symbol.dtype) for symbol in tf.nest.flatten(example)]
    nest = tf.nest.pack_sequence_as(example, inputs)
    # As in training: a layer whose argument then says `training=False` is never in training.
    trains = {"training": training} if "training" in inspect.signature(layer.call).parameters else {}
    try:
        with _told_to_train(layer, training), _noted_calls.noting() as notes:
            if takes_masks(layer):
                _call_arguments.mask(nest, _FIRST[layer].names)
            outputs = call(layer, nest, **trains)
    except NOT_FOLLOWED as error:
        raise Unsupported(explain(layer, error)) from error
    tensors = [value for value in tf.nest.flatten(outputs) if value is not None]
    if not tensors or not all(isinstance(value, keras.KerasTensor) for value in tensors):
        raise Unsupported(f"expected tensors of the call of {type(layer).__name__}, found something else")
    inputs_by_name = dict(zip(input_names(layer), inputs, strict=True))
    return _trace(inputs_by_name, nest, outputs, notes, is_call=True)


def _trace(inputs: Mapping[str, Any], nest: Any, outputs: Any, notes: _noted_calls.Noted, *, is_call: bool) -> Trace:
    constants = {id(symbol): array for symbol, array in notes.constants}
    ends = {"ended_early": notes.ended_early, "ended_whole": notes.ended_whole}
    return Trace(inputs, nest, outputs, followed=is_call, constants=constants, masks=notes.masks, **ends)


def again(graph: Any, names: Sequence[str], functions: bool = True) -> Trace:
    """A graph that Keras has, followed anew: then the tensors in it carry the masks that they do in a call.

    Args:
      functions: whether those of the user's that layers call are followed.
    """
    inputs = [keras.Input(batch_shape=symbol.shape, dtype=symbol.dtype) for symbol in graph.inputs]
    nest = tf.nest.pack_sequence_as(graph._inputs_struct, inputs)
    try:
        with _noted_calls.noting(functions=functions) as notes:
            # Not by its call, which converts inputs: that would be one more operation.
            outputs = graph._run_through_graph(inputs, operation_fn=lambda operation: operation)
    except NOT_FOLLOWED as error:
        raise Unsupported(explain(graph, error)) from error
    return _trace(dict(zip(names, inputs, strict=True)), nest, as_called(outputs), notes, is_call=False)


def as_called(outputs: Any) -> Any:
    """The return value of a call of a Keras graph: the tensor itself for a list of one."""
    return outputs[0] if isinstance(outputs, list | tuple) and len(outputs) == 1 else outputs


@contextmanager
def other_weights(layer: Any) -> Iterator[None]:
    """Inside, the weights of a layer are others."""
    old_values = [(variable, variable.numpy()) for variable in layer.variables if "float" in str(variable.dtype)]
    try:
        for number, (variable, array) in enumerate(old_values):
            variable.assign(array + np.random.default_rng(number).normal(size=array.shape))
        yield
    finally:
        for variable, array in old_values:
            variable.assign(array)


@contextmanager
def _told_to_train(layer: Any, training: bool) -> Iterator[None]:
    """Inside the block, inner layers get `training` as Keras passes it, where no call states it."""
    context = layer._get_call_context()
    context.training = training
    try:
        yield
    finally:
        layer._maybe_reset_call_context()


def first(layer: Any) -> Any:
    """The nest of symbols that a layer was first called with.

    Raises:
      Unsupported: it was not called yet.
    """
    if layer not in _FIRST:
        raise Unsupported(
            f"expected a model that the function calls on one example, found {type(layer).__name__}, "
            "whose inputs are not known: call it on one argument, a tensor or a nest of tensors"
        )
    return _FIRST[layer].nest


def takes_one(layer: Any) -> bool:
    """Whether a layer was called with one argument, by position."""
    return layer not in _FIRST or not _FIRST[layer].names


def input_names(layer: Any) -> list[str]:
    """Names of the tensors that the call of a layer takes, in order."""
    return _FIRST[layer].input_names


def explain(layer: Any, error: BaseException) -> str:
    """Why a call is not followed, with the user's line."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_framework(frame.filename)]
    own = [frame for frame in frames if os.path.dirname(frame.filename) != os.path.dirname(__file__)]
    where = f" at {os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else ""
    reason = str(error).strip().splitlines()[0][:100] if str(error).strip() else type(error).__name__
    return f"the call of {type(layer).__name__} is not followed{where}: {reason}"
