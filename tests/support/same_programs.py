"""Whether two functions of JAX are the same program, whatever functions of Python they are split into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.extend.core as core
import numpy as np


def program(function: Callable[..., Any], *arguments: Any) -> tuple[object, ...]:
    """What a function computes of its arguments, by result: equal for equal operations on equal values, in any order.

    Args:
      function: of arrays.
      arguments: that it is traced with.
    """
    return _of_jaxpr(jax.make_jaxpr(function)(*arguments))


def _of_jaxpr(closed: Any) -> tuple[object, ...]:
    jaxpr = closed.jaxpr if isinstance(closed, core.ClosedJaxpr) else closed
    constants = closed.consts if isinstance(closed, core.ClosedJaxpr) else [None] * len(jaxpr.constvars)
    known: dict[Any, object] = {
        variable: hash(("constant", str(variable.aval), None if value is None else np.asarray(value).tobytes()))
        for variable, value in zip(jaxpr.constvars, constants, strict=True)
    }
    known |= {variable: hash(("input", k, str(variable.aval))) for k, variable in enumerate(jaxpr.invars)}

    def of(atom: Any) -> object:
        return hash(("literal", str(atom.aval), str(atom.val))) if isinstance(atom, core.Literal) else known[atom]

    for equation in jaxpr.eqns:
        key = hash((equation.primitive.name, _plain(equation.params), tuple(map(of, equation.invars))))
        known |= {variable: hash((key, k)) for k, variable in enumerate(equation.outvars)}
    effects = tuple(sorted(map(str, jaxpr.effects)))
    return (*map(of, jaxpr.outvars), *effects)


def _plain(value: Any) -> object:
    """A parameter of an operation: programs in it by what they compute."""
    if isinstance(value, core.ClosedJaxpr | core.Jaxpr):
        return _of_jaxpr(value)
    if isinstance(value, Mapping):
        return tuple((key, _plain(inner)) for key, inner in sorted(value.items()) if not callable(inner))
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return str(value)
