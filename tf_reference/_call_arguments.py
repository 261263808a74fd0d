"""The arguments of a call of a user's layer: tensors in several arguments, and numbers or strings."""

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
      nest: a tensor, or a list, tuple or dict of tensors. For several arguments, or one passed by name, a tuple with
        one such nest per argument.
      names: the names of the arguments in `nest`, in the order of the signature; empty for a single argument passed by
        position.
      fixed: the arguments that are not tensors, by name.
      masked: whether tensors in `nest` carry the mask that is the last argument.
    """

    nest: Any
    names: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    masked: bool = False

    def symbols(self) -> Arguments:
        """The arguments with symbols for tensors."""
        return replace(self, nest=tf.nest.map_structure(_symbol, self.nest))

    def takes(self, other: Arguments) -> bool:
        """Whether both calls have the same structure, names and fixed arguments."""
        try:
            tf.nest.assert_same_structure(self.nest, other.nest)
        except (TypeError, ValueError):
            return False
        return self.names == other.names and self.fixed == other.fixed

    def widen(self, other: Arguments) -> Arguments:
        """The arguments as symbols, with None for every size that differs in `other`, which has the same structure."""
        nest = tf.nest.map_structure(_common_symbol, self.symbols().nest, other.symbols().nest)
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
    """The arguments of a call without `training`.

    None if they hold no tensor, or a value that is neither a tensor nor a plain number, bool or string.
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
    """Attaches the symbols of the mask to those of the first argument, as a call does."""
    masks = tf.nest.flatten(nest[names.index("mask")])
    for symbol, its_mask in zip(tf.nest.flatten(nest[0]), masks, strict=True):
        symbol._keras_mask = its_mask


def _names(nest: Any, name: str) -> list[str]:
    symbols = tf.nest.flatten(nest)
    # tf.nest sorts the values of a dict by key.
    plain = isinstance(nest, Mapping) and len(nest) == len(symbols)
    return sorted(nest) if plain else [f"{name}_{number}" for number, _ in enumerate(symbols, 1)]


def _holds_tensors(value: Any) -> bool:
    flat = tf.nest.flatten(value)
    return bool(flat) and all(isinstance(leaf, np.ndarray | keras.KerasTensor) or tf.is_tensor(leaf) for leaf in flat)


def _common_symbol(one: keras.KerasTensor, other: keras.KerasTensor) -> keras.KerasTensor:
    if len(one.shape) != len(other.shape):
        return one
    sizes = [first if first == second else None for first, second in zip(one.shape, other.shape, strict=True)]
    return one if sizes == list(one.shape) else keras.KerasTensor(sizes, one.dtype)


def _symbol(value: Any) -> keras.KerasTensor:
    array = value if hasattr(value, "shape") and hasattr(value, "dtype") else tf.convert_to_tensor(value)
    dtype = keras.backend.standardize_dtype(array.dtype)
    # A scalar, such as the position in a cache, has no axis of examples.
    return keras.KerasTensor((None, *list(array.shape)[1:])[: len(array.shape)], dtype)
