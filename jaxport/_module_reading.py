"""A Flax NNX module of a user's file as plain data: its modules with what they were told, and its variables."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import jaxport
from jaxport._module_nodes import array_of, nodes
from workloads._framework import Unsupported
from workloads._inspection import Plain
from workloads._target import resolve
from workloads._transfer import Excluded, Target, TargetModule, TargetVariable

_RANDOM = "the state of a random generator: it is no weight"
_LONGEST = 64
"""Of a tuple or a mapping among attributes that is told."""

_DEFAULTS = frozenset({"promote_dtype", "qkv_promote_dtype", "out_promote_dtype", "ln_promote_dtype"})
"""Functions that every module holds and no port replaces."""


def read(reference: str) -> Target:
    """What is in a module.

    Args:
      reference: FILE.py:NAME of a module, or of a class or function that makes one of no arguments, or of `rngs`.

    Raises:
      Unsupported: there is no module by that name.
    """
    return of_module(module(reference))


def module(reference: str) -> Any:
    """The module behind a reference.

    Raises:
      Unsupported: as `read`.
    """
    value = resolve(reference)
    made = value if isinstance(value, nnx.Module) else _made(value, reference)
    if not isinstance(made, nnx.Module):
        raise Unsupported(f"expected a flax.nnx.Module at {reference}, found {type(made).__name__}: name one")
    return made


def _made(value: Any, reference: str) -> Any:
    parameters = _parameters(value)
    empty, variadic = inspect.Parameter.empty, (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [each.name for each in parameters if each.default is empty and each.kind not in variadic]
    if needed not in ([], ["rngs"]):
        raise Unsupported(
            f"expected a module at {reference}, or what makes one of no arguments or of rngs, found one that takes "
            f"{', '.join(needed)}: name a function that makes it"
        )
    return value(rngs=nnx.Rngs(0)) if needed else value()


def _parameters(value: Any) -> list[inspect.Parameter]:
    """What a function or the constructor of a class takes."""
    is_class = inspect.isclass(value)
    try:
        # Of a class of Flax itself, the signature is that of its metaclass.
        found = list(inspect.signature(value.__init__ if is_class else value).parameters.values())
    except (TypeError, ValueError):
        return []
    return found[1:] if is_class else found


def of_module(whole: Any) -> Target:
    """The modules and variables of a module, each once, where it stands first in the order of names."""
    modules, variables, excluded = [TargetModule("", class_name(whole), dict(_attributes(whole)))], [], []
    shared: dict[str, str] = {}
    for path, each, before in nodes(whole):
        if before is not None:
            shared[path] = before
        elif isinstance(each, nnx.Module):
            modules.append(TargetModule(path, class_name(each), dict(_attributes(each))))
        elif isinstance(each, nnx.RngState):
            excluded.append(Excluded(path, _RANDOM))
        elif isinstance(each, nnx.Variable):
            value = array_of(each, path)
            variables.append(TargetVariable(path, type(each).__name__, tuple(value.shape), str(value.dtype)))
    versions = {"flax": flax.__version__, "jax": jax.__version__}
    return Target(tuple(modules), tuple(variables), shared, tuple(excluded), versions)


def class_name(module: Any) -> str:
    """The class whose `__call__` it computes by: "nnx.Linear", "jaxport.layers.GRUCell", or the user's own."""
    computes = type(module).__dict__.get("__call__")
    for kind in type(module).__mro__:
        known = _known(kind)
        if known and (computes is None or kind is type(module)):
            return known
        if "__call__" in kind.__dict__:
            break
    return type(module).__name__


def _known(kind: type) -> str:
    if kind in (nnx.Module, nnx.Pytree):
        return ""
    if getattr(nnx, kind.__name__, None) is kind:
        return f"nnx.{kind.__name__}"
    for name in ("layers", "normalization"):
        if kind.__module__.startswith("jaxport.") and getattr(_library(name), kind.__name__, None) is kind:
            return f"jaxport.{name}.{kind.__name__}"
    return ""


def _library(name: str) -> Any:
    assert name in jaxport.LIBRARY
    return importlib.import_module(f"jaxport.{name}")


def _attributes(module: Any) -> Iterator[tuple[str, Plain]]:
    for name, value in vars(module).items():
        if name.startswith("_") or name in _DEFAULTS or isinstance(value, nnx.Variable | nnx.Module | nnx.Rngs):
            continue
        told = _plain(value)
        if told is not _UNTOLD:
            yield name, told


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
        found = {str(key): _plain(item) for key, item in value.items()}
        return _UNTOLD if _UNTOLD in found.values() else found
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
        told = ", ".join(f"{key}={item!r}" for key, item in sorted(bound.items()))
        return f"{_function(value.func)}({told})"
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else _UNTOLD
