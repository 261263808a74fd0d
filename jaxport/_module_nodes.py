"""The modules and variables in a Flax NNX module, by the path that they are written with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flax import nnx

from workloads.protocol.framework import Unsupported

Node = tuple[str, Any, str | None]
"""A path, the module, variable or other node there, and the path that it was met under before."""


def nodes(whole: nnx.Module) -> Iterator[Node]:
    """Every node in a module, in the order of names; a repeated node is listed, without its children."""
    yield from _below(whole, "", {id(whole): ""})


def _below(node: Any, within: str, seen_paths: dict[int, str]) -> Iterator[Node]:
    for name, child in nnx.iter_children(node):
        path = f"{within}.{name}" if within else str(name)
        before = seen_paths.get(id(child))
        yield path, child, before
        if before is None:
            seen_paths[id(child)] = path
            if not isinstance(child, nnx.Variable):
                yield from _below(child, path, seen_paths)


def array_of(variable: nnx.Variable[Any], path: str) -> Any:
    """The array that a variable holds.

    Raises:
      Unsupported: it holds none.
    """
    value = variable.get_value()
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise Unsupported(f"expected an array in {path}, found {type(value).__name__}: keep it elsewhere")
    return value
