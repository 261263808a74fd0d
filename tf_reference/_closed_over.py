"""The models that a function closes over: layers in its closure, in globals that it reads, and in what holds those."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import keras
import tensorflow as tf

from workloads.core import frames
from workloads.protocol.framework import Unsupported

_DEEPEST = 16
"""Functions in functions, and containers in containers, that are looked through."""


class ClosedOver(keras.Model):
    """A model of the layers that a function closes over, by their names in the function."""

    def __init__(self, layers: Mapping[str, Any]) -> None:
        super().__init__(name="closed_over")
        for name, layer in layers.items():
            setattr(self, name, layer)
        self.held = tuple(layers)
        self.built = True

    def call(self, x: Any) -> Any:
        """Never called: the function is the model.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError


def takes_arguments(value: Any, unknown: bool) -> bool:
    """Whether something that can be called has to be given arguments: then it makes no model, but computes.

    Args:
      unknown: the answer where Python does not know what it takes.
    """
    try:
        parameters = inspect.signature(getattr(value, "python_function", value)).parameters.values()
    except (TypeError, ValueError):
        return unknown
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(parameter.default is parameter.empty and parameter.kind not in kinds for parameter in parameters)


def gather(function: Callable[..., Any], reference: str) -> ClosedOver:
    """The layers that a function closes over.

    Raises:
      Unsupported: there is none, or a variable that is in no layer.
    """
    layers: dict[str, Any] = {}
    for name, layer in _find("", function, set(), _DEEPEST):
        if not isinstance(layer, keras.Layer):
            raise Unsupported(
                f"expected the variables of the function {reference} in layers of Keras, found {name or 'one'} in none"
                ": hold it in a layer"
            )
        plain = name if name.isidentifier() and not hasattr(ClosedOver, name) else f"{name}_"
        number = sum(held_name == plain or held_name.startswith(f"{plain}_") for held_name in layers)
        layers[f"{plain}_{number}" if number else plain] = layer
    if not layers:
        raise Unsupported(
            f"expected a Keras model at {reference}, or a function that closes over one, found a function that closes "
            "over none: make the model outside of the function"
        )
    return ClosedOver(layers)


def _find(name: str, value: Any, seen_ids: set[int], depth: int) -> Iterator[tuple[str, Any]]:
    """Layers and variables below a value, each with the name that it goes by where it is met first."""
    if id(value) in seen_ids or not depth:
        return
    seen_ids.add(id(value))
    if isinstance(value, keras.Layer | keras.Variable | tf.Variable):
        yield name, value
        return
    for inner_name, inner_value in _below(name, value):
        yield from _find(inner_name, inner_value, seen_ids, depth - 1)


def _below(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a value that may contain a layer."""
    if isinstance(value, FunctionType):
        yield from _of_function(value)
    elif isinstance(value, MethodType):
        yield name, value.__self__
        yield name, value.__func__
    elif isinstance(value, functools.partial):
        yield name, value.func
        yield from zip(_parameters(value.func), value.args, strict=False)
        yield from value.keywords.items()
    elif isinstance(value, Mapping):
        yield from ((f"{name}_{key}".strip("_"), child) for key, child in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"{name}_{number}".strip("_"), child) for number, child in enumerate(value))
    elif hasattr(value, "python_function"):
        yield name, value.python_function
    elif not isinstance(value, type | ModuleType | CodeType | str | bytes) and _of_the_user(type(value)):
        yield from vars(value).items() if hasattr(value, "__dict__") else ()
        yield name, type(value).__call__ if callable(value) else None


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    if frames.is_framework(function.__code__.co_filename):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a name that is not bound yet
            continue
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    inner_function = getattr(function, "__wrapped__", None)
    yield from ((function.__name__, child) for child in (inner_function, *(function.__defaults__ or ())))


def _names(code: CodeType) -> set[str]:
    """The names that a function reads, and those in it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _of_the_user(kind: type) -> bool:
    try:
        return not frames.is_framework(inspect.getsourcefile(kind) or "<")
    except TypeError:  # of a built-in class
        return False
