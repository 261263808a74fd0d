"""The weights of a written port by its receipt: the way from Keras' arrays to the variables of a module, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from flax import traverse_util

from workloads import _foreign

_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Leaf:
    """A weight of Keras.

    Attributes:
      key: of it.
      shape: in Keras' layout.
      transform: what becomes of it.
      places: of the variables that it becomes.
    """

    key: str
    shape: tuple[int, ...]
    transform: Mapping[str, Any]
    places: tuple[tuple[str | int, ...], ...]


@dataclass(frozen=True)
class Leaves:
    """Every weight: the way there and back.

    Attributes:
      all: of them.
    """

    all: Sequence[Leaf]

    def there(self, weights: Mapping[str, Any]) -> Any:
        """Parameters of these arrays, by the key of each weight in Keras' layout."""
        flat: dict[Any, Any] = {}
        for leaf in self.all:
            flat |= zip(leaf.places, _forward(leaf.transform, weights[leaf.key]), strict=True)
        return traverse_util.unflatten_dict(flat)

    def back(self, parameters: Any) -> dict[str, Any]:
        """The arrays by key, of parameters or their gradients."""
        flat = traverse_util.flatten_dict(parameters)
        return {leaf.key: _back(leaf, [flat[place] for place in leaf.places]) for leaf in self.all}


def read_leaves(path: Path) -> Leaves:
    """The weights that a receipt names."""
    _foreign.check(path, _MOST_BYTES)
    receipt = json.loads(path.read_bytes())
    return Leaves([
        Leaf(
            leaf["key"],
            tuple(leaf["shape"]),
            leaf["transform"],
            tuple(_place(variable["path"]) for variable in leaf["variables"]),
        )
        for leaf in receipt["leaves"]
    ])  # fmt: skip


def _place(path: str) -> tuple[str | int, ...]:
    return tuple(int(step) if step.isdigit() else step for step in path.split("."))


def _forward(transform: Mapping[str, Any], array: Any) -> tuple[Any, ...]:
    match transform["name"]:
        # JAX narrowed it where it has no integers of 64 bits.
        case "identity" | "narrowed":
            return (array,)
        case "reshape":
            return (array.reshape(tuple(transform["after"])),)
        case "split":
            return tuple(jnp.split(array, transform["parts"], transform["axis"]))
        case other:
            raise ValueError(f"expected a transform that a written port has, found {other}")


def _back(leaf: Leaf, arrays: Sequence[Any]) -> Any:
    if leaf.transform["name"] == "split":
        return jnp.concatenate(arrays, leaf.transform["axis"])
    return arrays[0].reshape(leaf.shape)
