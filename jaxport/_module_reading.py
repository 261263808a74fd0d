"""A Flax module of a user's file as plain data: its modules with their arguments, and its variables."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from typing import Any

import flax
import jax
from flax import linen, nnx

import jaxport
from jaxport._linen_reading import of_linen
from jaxport._module_nodes import array_of, nodes
from jaxport._plain_attributes import plain_attributes
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Value
from workloads.protocol.transfer import Excluded, Target, TargetModule, TargetVariable

_MODULES = (nnx.Module, linen.Module)

_RANDOM = "the state of a random generator: it is no weight"


def read(reference: str, inputs: Sequence[Value] = ()) -> Target:
    """Read the variables of a module as a target.

    Args:
      reference: FILE.py:NAME of a module, or of a class or function that makes one of no arguments, or of `rngs`.

    Raises:
      Unsupported: there is no module by that name, or it does not take these inputs.
    """
    whole = module(reference)
    return of_linen(whole, inputs) if isinstance(whole, linen.Module) else of_module(whole)


def module(reference: str) -> Any:
    """The module behind a reference.

    Raises:
      Unsupported: as `read`.
    """
    value = resolve(reference)
    result = value if isinstance(value, _MODULES) else _make(value, reference)
    if not isinstance(result, _MODULES):
        raise Unsupported(
            f"expected a flax.nnx.Module or flax.linen.Module at {reference}, found {type(result).__name__}: name one"
        )
    return result


def _make(value: Any, reference: str) -> Any:
    parameters = _parameters(value)
    empty, variadic = inspect.Parameter.empty, (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed_parameters = [
        parameter.name for parameter in parameters if parameter.default is empty and parameter.kind not in variadic
    ]
    if needed_parameters not in ([], ["rngs"]):
        raise Unsupported(
            f"expected a module at {reference}, or what makes one of no arguments or of rngs, found one that takes "
            f"{', '.join(needed_parameters)}: name a function that makes it"
        )
    return value(rngs=nnx.Rngs(0)) if needed_parameters else value()


def _parameters(value: Any) -> list[inspect.Parameter]:
    """The parameters of a function, or of the constructor of a class."""
    is_class = inspect.isclass(value)
    try:
        # Of a class of Flax itself, the signature is that of its metaclass.
        parameters = list(inspect.signature(value.__init__ if is_class else value).parameters.values())
    except (TypeError, ValueError):
        return []
    return parameters[1:] if is_class else parameters


def of_module(whole: Any) -> Target:
    """The modules and variables of a module, each once, where it stands first in the order of names."""
    modules, variables, exclusions = [_module("", whole)], [], []
    aliases: dict[str, str] = {}
    for path, node, before in nodes(whole):
        if before is not None:
            aliases[path] = before
        elif isinstance(node, nnx.Module):
            modules.append(_module(path, node))
        elif isinstance(node, nnx.RngState):
            exclusions.append(Excluded(path, _RANDOM))
        elif isinstance(node, nnx.Variable):
            value = array_of(node, path)
            variables.append(TargetVariable(path, type(node).__name__, tuple(value.shape), str(value.dtype)))
    versions = {"flax": flax.__version__, "jax": jax.__version__}
    return Target(tuple(modules), tuple(variables), aliases, tuple(exclusions), versions)


def _module(path: str, module: Any) -> TargetModule:
    return TargetModule(path, class_name(module), dict(plain_attributes(vars(module).items())))


def class_name(module: Any) -> str:
    """The class whose `__call__` it computes by: "nnx.Linear", "jaxport.layers.GRUCell", or the user's own."""
    computes = type(module).__dict__.get("__call__")
    for kind in type(module).__mro__:
        name = _known_name(kind)
        if name and (computes is None or kind is type(module)):
            return name
        if "__call__" in kind.__dict__:
            break
    return type(module).__name__


def _known_name(kind: type) -> str:
    if kind in (nnx.Module, nnx.Pytree):
        return ""
    if getattr(nnx, kind.__name__, None) is kind:
        return f"nnx.{kind.__name__}"
    for name in ("layers", "noise", "normalization", "recurrent_dropout", "stateful"):
        if kind.__module__.startswith("jaxport.") and getattr(_library(name), kind.__name__, None) is kind:
            return f"jaxport.{name}.{kind.__name__}"
    return ""


def _library(name: str) -> Any:
    assert name in jaxport.LIBRARY
    return importlib.import_module(f"jaxport.{name}")
