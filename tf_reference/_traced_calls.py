"""Models and layers of the user's own, whose call is followed with Keras' symbolic tensors: the layers that it calls.

A class says nothing of the shapes that it takes: what a model was first called with is remembered while it is made.
"""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _keras_variables
from tf_reference._replaced_calls import replaced_calls
from workloads import _frames
from workloads._framework import Unsupported

NOT_FOLLOWED = (
    TypeError, ValueError, AttributeError, NotImplementedError, RuntimeError, LookupError, AssertionError,
    ArithmeticError, tf.errors.OpError,
)  # fmt: skip
"""What code raises where it is given a symbol in place of a tensor."""

_NO_NUMBERS = (tf.string, tf.resource, tf.variant)

_FIRST: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""Layer -> the nest of symbols that it was first called with."""


@dataclass(frozen=True)
class Trace:
    """A call that was followed.

    Attributes:
      inputs: symbols by name.
      nest: of these, as the call takes it.
      outputs: a nest of symbols.
      followed: whether a call was, rather than a graph read that Keras has.
      constants: by the id of a symbol that stands for it, an array that depends on no input.
    """

    inputs: Mapping[str, Any]
    nest: Any
    outputs: Any
    followed: bool = False
    constants: Mapping[int, Any] = field(default_factory=dict)


@contextmanager
def remembering() -> Iterator[None]:
    """Inside, the first call of each layer of a class of the user's is remembered."""

    def noted(original: Callable[..., Any], layer: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if not _keras_variables.is_keras(layer) and len(given) == 1:
            remember(layer, given[0])
        return original(layer, *given, **named)

    with replaced_calls(noted):
        yield


def remember(layer: Any, given: Any) -> None:
    """Note what a layer was called with, if that was its first call.

    Args:
      layer: of any class.
      given: its one argument: a tensor, or a nest of such.
    """
    if layer not in _FIRST:
        _FIRST[layer] = tf.nest.map_structure(_symbol, given)


def packed(model: Any, given: list[Any]) -> Any:
    """Arrays in the nest that a model takes."""
    nest = _FIRST.get(model)
    if nest is None or isinstance(nest, keras.KerasTensor):
        return given[0] if len(given) == 1 else given
    return tf.nest.pack_sequence_as(nest, given)


def is_followed(layer: Any) -> bool:
    """Whether a layer is known by what its call does: one of the user's own, with a call of its own."""
    return not _keras_variables.is_keras(layer) and not type(layer).call.__module__.startswith("keras.")


def outputs_of(model: Any) -> list[Any]:
    """Symbols of what a model returns, in order."""
    if getattr(model, "outputs", None):
        return list(model.outputs)
    try:
        return tf.nest.flatten(traced(model).outputs)
    except Unsupported:
        # Its call takes tensors alone: Keras gives it some and keeps the shapes.
        return tf.nest.flatten(model.compute_output_spec(first(model)))


def traced(layer: Any) -> Trace:
    """What a layer of the user's own does in training.

    Raises:
      Unsupported: it cannot be followed.
    """
    given = first(layer)
    inputs = [keras.Input(batch_shape=each.shape, dtype=each.dtype) for each in tf.nest.flatten(given)]
    nest = tf.nest.pack_sequence_as(given, inputs)
    # As in training: a layer that then is told that it is not in training never is.
    trains = {"training": True} if "training" in inspect.signature(layer.call).parameters else {}
    try:
        with _in_training(layer), _symbols_for_constants() as constants:
            outputs = layer.call(nest, **trains)
    except NOT_FOLLOWED as error:
        raise Unsupported(told(layer, error)) from error
    if not all(isinstance(each, keras.KerasTensor) for each in tf.nest.flatten(outputs)):
        raise Unsupported(f"expected tensors of the call of {type(layer).__name__}, found something else")
    named = dict(zip(input_names(given), inputs, strict=True))
    return Trace(named, nest, outputs, followed=True, constants={id(each): array for each, array in constants})


@contextmanager
def other_weights(layer: Any) -> Iterator[None]:
    """Inside, the weights of a layer are others."""
    kept = [(each, each.numpy()) for each in layer.variables if "float" in str(each.dtype)]
    try:
        for number, (variable, array) in enumerate(kept):
            variable.assign(array + np.random.default_rng(number).normal(size=array.shape))
        yield
    finally:
        for variable, array in kept:
            variable.assign(array)


@contextmanager
def _in_training(layer: Any) -> Iterator[None]:
    """Inside, the layers in a layer are told what Keras tells them in training: what a call leaves unsaid is True."""
    context = layer._get_call_context()
    context.training = True
    try:
        yield
    finally:
        layer._maybe_reset_call_context()


@contextmanager
def _symbols_for_constants() -> Iterator[list[tuple[Any, Any]]]:
    """Inside, a layer that is called with arrays alone, as an embedding of positions, is given symbols of them.

    Its result would be an array otherwise, and the layer no part of the trace.
    """
    constants: list[tuple[Any, Any]] = []

    def symbol(value: Any) -> Any:
        if not is_array(value):
            return value
        made = keras.Input(batch_shape=value.shape, dtype=keras.backend.standardize_dtype(value.dtype))
        constants.append((made, value))
        return made

    def called(original: Callable[..., Any], layer: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if not any(isinstance(each, keras.KerasTensor) for each in tf.nest.flatten((given, named))):
            given, named = tf.nest.map_structure(symbol, (given, named))
        return original(layer, *given, **named)

    with replaced_calls(called):
        yield constants


def is_array(value: Any) -> bool:
    """Whether a value is an array that is there, of numbers."""
    return isinstance(value, np.ndarray | tf.Tensor) and hasattr(value, "__array__") and value.dtype not in _NO_NUMBERS


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
    return _FIRST[layer]


def input_names(nest: Any) -> list[str]:
    """Names of the tensors in a nest that a call takes: the keys of a dict, else numbers."""
    symbols = tf.nest.flatten(nest)
    # As tf.nest does, the values of a dict by their sorted keys.
    plain = isinstance(nest, Mapping) and len(nest) == len(symbols)
    return sorted(nest) if plain else [f"input_{number}" for number, _ in enumerate(symbols, 1)]


def told(layer: Any, error: BaseException) -> str:
    """Why a call is not followed, with the user's line.

    Args:
      layer: that it is of.
      error: that it raises.
    """
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not _frames.is_framework(each.filename)]
    own = [each for each in frames if os.path.dirname(each.filename) != os.path.dirname(__file__)]
    where = f" at {os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else ""
    reason = str(error).strip().splitlines()[0][:100] if str(error).strip() else type(error).__name__
    return f"the call of {type(layer).__name__} is not followed{where}: {reason}"


def _symbol(value: Any) -> keras.KerasTensor:
    array = value if hasattr(value, "shape") and hasattr(value, "dtype") else tf.convert_to_tensor(value)
    dtype = keras.backend.standardize_dtype(array.dtype)
    return keras.KerasTensor((None, *list(array.shape)[1:]), dtype)
