"""Attributes of a module as plain data: numbers, texts, names of dtypes and of functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx

from workloads.protocol.inspection import Plain

_LONGEST = 64
"""The most elements of a tuple or a mapping that is reported."""

_DEFAULTS = frozenset({"promote_dtype", "qkv_promote_dtype", "out_promote_dtype", "ln_promote_dtype"})
"""Functions that every module holds and no port replaces."""


def plain_attributes(attributes: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Plain]]:
    """The attributes that are plain data, without variables and modules."""
    for name, value in attributes:
        if name.startswith("_") or name in _DEFAULTS or isinstance(value, nnx.Variable | nnx.Module | nnx.Rngs):
            continue
        plain_value = _plain(value)
        if plain_value is not _UNTOLD:
            yield name, plain_value


_UNTOLD: Any = object()


def _plain(value: Any) -> Any:
    """An attribute as plain data; `_UNTOLD` where it is none."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:200]
    if isinstance(value, np.generic) and not isinstance(value, np.dtype):
        return value.item()
    if isinstance(value, np.dtype) or (inspect.isclass(value) and issubclass(value, np.generic)) or _is_scalar(value):
        return jnp.dtype(value).name
    if isinstance(value, list | tuple) and len(value) <= _LONGEST:
        items = [_plain(item) for item in value]
        return _UNTOLD if _UNTOLD in items else items
    if isinstance(value, Mapping) and len(value) <= _LONGEST:
        entries = {str(key): _plain(item) for key, item in value.items()}
        return _UNTOLD if _UNTOLD in entries.values() else entries
    return _function(value) if callable(value) else _UNTOLD


def _is_scalar(value: Any) -> bool:
    """Whether it is one of `jnp.float32` and its like, which are no dtypes of NumPy."""
    return inspect.isclass(type(value)) and type(value).__name__ == "_ScalarMeta"


def _function(value: Any) -> Any:
    """The name of a function, with what is bound to it."""
    if isinstance(value, functools.partial):
        bound = {key: _plain(item) for key, item in value.keywords.items()}
        if value.args or _UNTOLD in bound.values():
            return _UNTOLD
        arguments_text = ", ".join(f"{key}={item!r}" for key, item in sorted(bound.items()))
        return f"{_function(value.func)}({arguments_text})"
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else _UNTOLD
