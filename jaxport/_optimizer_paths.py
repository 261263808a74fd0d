"""The arrays of a state of optax by path: `nnx.Optimizer` and a plain dict of parameters give the same names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax


def named_leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    """Every array of a tree by its path."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        yield name_of(path), leaf


def name_of(path: tuple[Any, ...]) -> str:
    """The path of an array as a name, the same for a Flax variable and for its array."""
    last = path[-1:]
    if last and isinstance(last[0], jax.tree_util.GetAttrKey) and last[0].name == "value":
        path = path[:-1]
    return jax.tree_util.keystr(path, simple=True, separator=".")
