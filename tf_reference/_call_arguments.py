"""What the call of a layer of the user's takes: tensors in several arguments, and numbers or words beside."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf

_PLAIN = (bool, int, float, str)


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call.

    Attributes:
      nest: a tensor, or a list, tuple or dict of such; of several arguments, or one by name, a tuple of these.
      names: of several arguments, in the order in which the call lists them; empty where it is given one by position.
      fixed: others, which are no tensors.
      masked: whether tensors in it carry the mask that is the last argument.
    """

    nest: Any
    names: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    masked: bool = False

    def symbols(self) -> Arguments:
        """The same with symbols for tensors."""
        return replace(self, nest=tf.nest.map_structure(_symbol, self.nest))

    def takes(self, other: Arguments) -> bool:
        """Whether a call with these is written as one with others."""
        try:
            tf.nest.assert_same_structure(self.nest, other.nest)
        except (TypeError, ValueError):
            return False
        return self.names == other.names and self.fixed == other.fixed

    def widen(self, other: Arguments) -> Arguments:
        """The same with every size left open in which others of equal ranks, that these take, differ."""
        nest = tf.nest.map_structure(_of_both, self.symbols().nest, other.symbols().nest)
        return replace(self, nest=nest)

    @property
    def input_names(self) -> list[str]:
        """Names of the tensors in order: of an argument or the keys of a dict, else numbers."""
        if not self.names:
            return _names(self.nest, "input")
        nests = zip(self.names, self.nest, strict=True)
        return [
            tensor_name
            for name, nest in nests
            for tensor_name in ([name] if not tf.nest.is_nested(nest) else _names(nest, name))
        ]


def bound(layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Arguments | None:
    """The arguments of a call, `training` left out; None where they hold no tensor, or what is none of both.

    Args:
      positional: by position.
      keywords: by name.
    """
    signature = inspect.signature(layer.call)
    keywords = {name: value for name, value in keywords.items() if name != "training" and value is not None}
    if len(positional) == 1 and not keywords:
        return Arguments(positional[0])
    try:
        by_name = signature.bind(*positional, **keywords).arguments
    except TypeError:
        return None
    kinds = {name: signature.parameters[name].kind for name in by_name}
    if any(kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL) for kind in kinds.values()):
        return None
    by_name = {name: value for name, value in by_name.items() if name != "training" and value is not None}
    tensors = {name: value for name, value in by_name.items() if _holds_tensors(value)}
    constants = {name: value for name, value in by_name.items() if name not in tensors}
    if not tensors or not all(isinstance(value, _PLAIN) for value in constants.values()):
        return None
    return Arguments(tuple(tensors.values()), tuple(tensors), constants)


def mask(nest: Any, names: tuple[str, ...]) -> None:
    """Let the symbols of the first argument carry those of the mask, as in a call."""
    masks = tf.nest.flatten(nest[names.index("mask")])
    for symbol, its_mask in zip(tf.nest.flatten(nest[0]), masks, strict=True):
        symbol._keras_mask = its_mask


def _names(nest: Any, name: str) -> list[str]:
    symbols = tf.nest.flatten(nest)
    # As tf.nest does, the values of a dict by their sorted keys.
    plain = isinstance(nest, Mapping) and len(nest) == len(symbols)
    return sorted(nest) if plain else [f"{name}_{number}" for number, _ in enumerate(symbols, 1)]


def _holds_tensors(value: Any) -> bool:
    flat = tf.nest.flatten(value)
    return bool(flat) and all(isinstance(leaf, np.ndarray | keras.KerasTensor) or tf.is_tensor(leaf) for leaf in flat)


def _of_both(one: keras.KerasTensor, other: keras.KerasTensor) -> keras.KerasTensor:
    if len(one.shape) != len(other.shape):
        return one
    sizes = [first if first == second else None for first, second in zip(one.shape, other.shape, strict=True)]
    return one if sizes == list(one.shape) else keras.KerasTensor(sizes, one.dtype)


def _symbol(value: Any) -> keras.KerasTensor:
    array = value if hasattr(value, "shape") and hasattr(value, "dtype") else tf.convert_to_tensor(value)
    dtype = keras.backend.standardize_dtype(array.dtype)
    # A number, as the place in a cache, has no axis of examples.
    return keras.KerasTensor((None, *list(array.shape)[1:])[: len(array.shape)], dtype)
