"""Weights of Keras as the variables of a Flax module, by the transforms that a receipt names: there and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from flax import traverse_util

from workloads.core import foreign
from workloads.core.target import WeightsError

_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class CarriedLeaf:
    """A weight of Keras, its transform, and the places of the variables that it becomes."""

    key: str
    shape: tuple[int, ...]
    transform: Mapping[str, Any]
    places: tuple[tuple[str | int, ...], ...]


@dataclass(frozen=True)
class CarriedLeaves:
    """Every weight: the way there and back."""

    all: Sequence[CarriedLeaf]

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


def leaves_of_receipt(path: Path) -> CarriedLeaves:
    """The weights in a receipt of `jaxport weights`."""
    foreign.check(path, _MOST_BYTES)
    return leaves_of(json.loads(path.read_bytes())["leaves"])


def leaves_of(descriptions: Sequence[Mapping[str, Any]]) -> CarriedLeaves:
    """The weights, each described as a receipt has it."""
    return CarriedLeaves([
        CarriedLeaf(
            leaf["key"],
            tuple(leaf["shape"]),
            leaf["transform"],
            tuple(_place(variable["path"]) for variable in leaf["variables"]),
        )
        for leaf in descriptions
    ])  # fmt: skip


def check_places(places_there: Set[tuple[str | int, ...]], leaves: CarriedLeaves, receipt: Path) -> None:
    """Raise WeightsError unless every variable of a module is written, and nothing else."""
    places_written = {place for leaf in leaves.all for place in leaf.places}
    for places, what, absence in (
        (places_there - places_written, f"a weight for every variable in {receipt.name}", "none for"),
        (places_written - places_there, f"every variable of {receipt.name} in the module", "no"),
    ):
        if places:
            first = min(".".join(map(str, place)) for place in places)
            raise WeightsError(
                f"expected {what}, found {absence} {first}: carry the weights again with `jaxport weights`, or correct "
                "the module"
            )


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


def _back(leaf: CarriedLeaf, arrays: Sequence[Any]) -> Any:
    if leaf.transform["name"] == "split":
        return jnp.concatenate(arrays, leaf.transform["axis"])
    return arrays[0].reshape(leaf.shape)
