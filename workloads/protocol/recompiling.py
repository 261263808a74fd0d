"""A stream of calls whose traces and compilations are counted: what both sides implement, and the data that crosses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from workloads.core.spec import Arrays

Cure = Literal["", "reduce_retracing", "input_signature", "symbolic_shapes", "arrays"]
"""How a function is staged otherwise than it was given; "" as it was."""

Named = Mapping[str, Any]
"""Arguments by name: arrays, NumPy and Python scalars, in lists, tuples and dictionaries."""


@dataclass(frozen=True)
class Staging:
    """A function, and how it is compiled.

    Attributes:
      target: where it is found, as of a workload.
      static: arguments whose Python values JAX compiles in, of a function that is not compiled yet.
      cure: how it is staged otherwise.
      dynamic: for a cure that passes arrays, arguments that are no longer static.
      signature: for a cure that declares shapes, `ArraySpec`s in place of arrays; a name is a size that varies.
    """

    target: str
    static: tuple[str, ...] = ()
    cure: Cure = ""
    dynamic: tuple[str, ...] = ()
    signature: Named = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """The times of one call in seconds; None is unknown. `entries` are signatures that the function keeps."""

    traces: int
    compilations: int
    seconds: float
    trace_s: float
    lower_s: float | None
    compile_s: float
    entries: int | None = None
    outputs: Arrays = field(default_factory=dict)


class Watch(Protocol):
    """A staged function whose calls are watched, in a process that compiles nothing else."""

    def describe(self) -> str:
        """Describe in a few words how it was staged."""
        ...

    def call(self, arguments: Named) -> Seen:
        """Call it, wait for all results, and say what the call did."""
        ...

    def probe(self, before: Named, after: Named, body: bool) -> Seen:
        """Trace and compile a call in a cache that holds one other call.

        Args:
          before: the call that fills the cache.
          after: the call that is watched.
          body: whether the function itself is called; else one that takes the same arguments and does nothing, so
            that any arguments will do.
        """
        ...


def bound(function: Callable[..., Any], arguments: Named) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments of a call: by name where the function has a parameter of it, else by position.

    Raises:
      TypeError: the function does not take them.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # written in C
        return tuple(arguments.values()), {}
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds
    keyword_names = {name for name in arguments if name in signature.parameters or takes_any}
    positional = [value for name, value in arguments.items() if name not in keyword_names]
    bound_arguments = signature.bind(
        *positional, **{name: arguments[name] for name in arguments if name in keyword_names}
    )
    return bound_arguments.args, bound_arguments.kwargs
