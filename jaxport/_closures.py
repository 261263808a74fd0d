"""Functions that close over a model: the mutable arrays that it holds, and what it kept of an earlier trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax

from jaxport import _private
from jaxport._modes import in_mode

Found = TypeVar("Found")


def use_staged(use: Callable[[Any], Found], stage: Callable[[], Any], rebuild: Callable[[], Any]) -> Found:
    """The result of `use` on a staged function; if that met an array of another trace, it is built again, once.

    A model that makes its weights when it is first called, or stores its moving averages, keeps an array of that
    trace, and every later one stumbles over it.

    Args:
      use: takes the staged function; may be called twice.

    Raises:
      RuntimeError: it still does when built anew.
    """
    try:
        return use(stage())
    except jax.errors.UnexpectedTracerError:
        function = rebuild()
    try:
        return use(function)
    except jax.errors.UnexpectedTracerError as error:
        raise RuntimeError(
            "expected a JAX function that keeps nothing of a call, found one that reads an array which an earlier "
            "trace left behind: make arrays before the function is called, and return what changes"
        ) from error


def exportable(function: Any, mode: str, arguments: Sequence[Any]) -> Any:
    """The jitted function as `jax.export` takes it: mutable arrays that it closes over are constants.

    What JAX hands over beside the arguments has no place in an exported program.

    Args:
      mode: how it is jitted again where it must be rewritten.

    Raises:
      jax.errors.UnexpectedTracerError: it closes over an array of another trace.
    """
    traced = function.trace(*arguments).jaxpr
    # Arrays of other traces come before the arguments.
    has_captures = len(traced.in_avals) > len(jax.tree.leaves(arguments))
    if not has_captures and not any(isinstance(constant, jax.Ref) for constant in traced.consts):
        return function
    return in_mode(_private.without_refs(function.__wrapped__, arguments), mode)
