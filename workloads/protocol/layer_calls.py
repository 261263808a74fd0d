"""The inputs and outputs of each layer in one call of a model, in the same form from both sides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

NO_CALL = -1
"""Where no call of a layer made an array: an input of the model, or an operation between layers."""


@dataclass(frozen=True)
class LayerCall:
    """One call of a layer. Arrays travel beside it under the names that stand here.

    Attributes:
      path: names of the layers around it and its own, joined by "/"; "" is the model.
      number: of this call among those of the layer, from 0.
      class_name: of the layer.
      inputs: names of the arrays that it was given, in order.
      outputs: names of those that it gave.
      before_activation: name of what its own activation was given; "" where it has none.
      makers: by input, the position of the call that made it, or NO_CALL.
      cotangents: by output, the name of the gradient with respect to it; empty where none was taken.
      handed_back: by input, the name of the gradient that the call hands back; "" of what is not differentiable.
      own: by output, the name of what it gave for what it was given besides.
      started: which call it is, in the order in which they started.
      reason: why there are no arrays; "" where there are.
    """

    path: str
    number: int
    class_name: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    before_activation: str = ""
    makers: tuple[int, ...] = ()
    cotangents: tuple[str, ...] = ()
    handed_back: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    started: int = 0
    reason: str = ""


@dataclass(frozen=True)
class LayerCalls:
    """All calls of layers in one call of a model.

    Attributes:
      calls: in the order in which they ended.
      results: by leaf of the result, the position of the call that made it, or NO_CALL.
      weights: by path of a layer, a digest of the values of each of its own weights.
      changed: weights that do not come back as they were given.
    """

    calls: tuple[LayerCall, ...]
    results: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Given:
    """Inputs of one call of a layer that its model does not pass.

    Attributes:
      started: which call it is, in the order in which they started.
      inputs: names of arrays that were sent, one for each of its own.
    """

    started: int
    inputs: tuple[str, ...]


def value_digest(array: np.ndarray) -> str:
    """A digest that is equal for the same values in another order or shape; "" for too few values.

    Args:
      array: x[...]
    """
    values = np.sort(np.asarray(array, np.float64).astype(np.float32), axis=None)
    if values.size == 0 or values[0] == values[-1]:
        return ""
    return hashlib.sha256(values.tobytes()).hexdigest()


def number_paths(paths: Iterable[str]) -> list[int]:
    """How often each path occurred before."""
    counts: dict[str, int] = {}
    numbers: list[int] = []
    for path in paths:
        numbers.append(counts.get(path, 0))
        counts[path] = numbers[-1] + 1
    return numbers
