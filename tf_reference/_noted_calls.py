"""Follows calls of layers with symbols: notes their masks, and replaces array arguments by symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _keras_masks, _own_functions
from tf_reference._replaced_calls import replaced_attribute, replaced_calls

NOT_FOLLOWED = (
    TypeError, ValueError, AttributeError, NotImplementedError, RuntimeError, LookupError, AssertionError,
    ArithmeticError, tf.errors.OpError,
)  # fmt: skip
"""Exceptions that code raises if it gets a symbol instead of a tensor."""

_NO_NUMBERS = (tf.string, tf.resource, tf.variant)


@dataclass(frozen=True)
class Noted:
    """The notes of the calls that were followed: as in a trace, the arrays with their symbols."""

    constants: list[tuple[Any, Any]] = field(default_factory=list)
    masks: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    ended_early: set[int] = field(default_factory=set)
    ended_whole: set[int] = field(default_factory=set)


@contextmanager
def noting(*, functions: bool = True) -> Iterator[Noted]:
    """Inside, masks of calls are noted, and a layer that is called only with arrays gets symbols for them.

    Otherwise the result of such a layer, such as an embedding of positions, would be an array, and the layer would be
    missing from the trace.

    Args:
      functions: whether to follow functions of the user that layers of Keras call.
    """
    following = _Following(functions)
    with replaced_calls(following.note_call):
        yield following.noted


class _Following:
    """Replaces Keras' call of layers while a call is followed."""

    def __init__(self, functions: bool) -> None:
        self.noted = Noted()
        self._functions, self._inside = functions, False

    def note_call(
        self, original: Callable[..., Any], layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> Any:
        # The calls inside a layer belong to its own trace, except for the tensors that they take from this one.
        if self._inside:
            result = original(layer, *positional, **keywords)
            _keras_masks.forget(layer, positional, keywords)
            return result
        if not any(isinstance(value, keras.KerasTensor) for value in tf.nest.flatten((positional, keywords))):
            positional, keywords = tf.nest.map_structure(self._symbol, (positional, keywords))
        result = self._of_function(original, layer, positional, keywords) if self._functions else None
        return self._of_layer(original, layer, positional, keywords) if result is None else result

    def _symbol(self, value: Any) -> Any:
        if not is_array(value):
            return value
        symbol = keras.Input(batch_shape=value.shape, dtype=keras.backend.standardize_dtype(value.dtype))
        self.noted.constants.append((symbol, value))
        return symbol

    def _of_function(
        self, original: Callable[..., Any], layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> Any:
        """The result of a layer that is or ends with a user's function; None if the function is not followed."""
        function = _own_functions.whole(layer, positional, keywords)
        if function is not None:
            return _follow(function, *positional, **keywords)
        activation = _own_functions.at_the_end(layer)
        if activation is None:
            return None
        with _own_functions.without_activation(layer):
            before = self._of_layer(original, layer, positional, keywords)
        result = _follow(activation, before)
        if result is None:
            self.noted.ended_whole.add(id(layer))
            return None
        self.noted.ended_early.add(id(layer))
        _keras_masks.hand_on(before, result)
        return result

    def _of_layer(
        self, original: Callable[..., Any], layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> Any:
        masks = _keras_masks.added_masks(layer, positional, keywords)
        self._inside = True
        try:
            with specified_by_call(layer):
                result = original(layer, *positional, **keywords)
            beside = _beside(layer, positional, keywords, masks, result)
        finally:
            self._inside = False
        node = _node(layer, result)
        if node is not None:
            self.noted.masks[id(node)] = {**masks, _keras_masks.BESIDE: True} if beside else masks
            _keras_masks.forget(layer, positional, keywords)
        return result


def _follow(function: Callable[..., Any], *positional: Any, **keywords: Any) -> Any:
    """The result of a user's function called with symbols; None if it accepts or returns no symbol."""
    try:
        result = function(*positional, **keywords)
    except NOT_FOLLOWED:
        return None
    return result if isinstance(result, keras.KerasTensor) else None


@contextmanager
def specified_by_call(layer: Any) -> Iterator[None]:
    """Inside, the call of a layer specifies its result where its class may specify something else.

    There are two such layers. A user's class may define `call` and inherit the specification of a Keras class.
    A Sequential may be called with another shape than it was built for, which Keras refuses only for symbols.
    """
    call, spec_method = type(layer).call, type(layer).compute_output_spec
    own = not call.__module__.startswith("keras.")
    of_keras = spec_method.__module__.startswith("keras.") and spec_method is not keras.Layer.compute_output_spec
    if not (own and of_keras) and not isinstance(layer, keras.Sequential):
        yield
        return
    with replaced_attribute(layer, "compute_output_spec", partial(keras.Operation.compute_output_spec, layer)):
        yield


def _beside(
    layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any], masks: Mapping[str, Any], result: Any
) -> bool:
    try:
        return _keras_masks.beside(layer, positional, keywords, masks, result)
    except NOT_FOLLOWED:
        return True


def _node(layer: Any, result: Any) -> Any:
    """The node of the graph that a call made; None if it made none."""
    symbols = [value for value in tf.nest.flatten(result) if isinstance(value, keras.KerasTensor)]
    history = getattr(symbols[0], "_keras_history", None) if symbols else None
    return layer._inbound_nodes[history.node_index] if history is not None and history.operation is layer else None


def is_array(value: Any) -> bool:
    """Whether a value is a concrete array of numbers, not a symbol."""
    return isinstance(value, np.ndarray | tf.Tensor) and hasattr(value, "__array__") and value.dtype not in _NO_NUMBERS
