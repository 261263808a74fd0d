"""The state of a Keras and of an optax optimizer, as plain data, where training goes on in the other framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.protocol.inspection import Plain

PREFIX = "optimizer:"
"""The prefix of the keys of an optimizer's arrays."""


@dataclass(frozen=True)
class Slot:
    """One variable of an optimizer of Keras.

    Attributes:
      name: of the attribute that holds it, without underscores before it: "momentums", "iterations".
      weight: the key of the weight that it is of; "" of one for all.
      key: of the array that travels beside.
      shape: of it.
      dtype: of it.
    """

    name: str
    weight: str
    key: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class SourceOptimizer:
    """An optimizer of Keras.

    Attributes:
      class_name: of its class.
      own: whether that is Keras' own.
      config: its attributes, as far as they are plain.
      slots: its variables.
      trained: the keys of the weights that it trains.
    """

    class_name: str
    own: bool
    config: Mapping[str, Plain]
    slots: tuple[Slot, ...]
    trained: tuple[str, ...]


@dataclass(frozen=True)
class TargetSlot:
    """One array in a state of optax.

    Attributes:
      path: from the outside in, "0.mu.dense.kernel".
      state: the class of what holds it: "optax.ScaleByAdamState", "jaxport.AdamState".
      within: the path of that; "" is the whole.
      field: its name there: "mu", "slots.momentum".
      variable: the path of the parameter that it is of; "" of one for all.
      shape: of it.
      dtype: of it.
    """

    path: str
    state: str
    within: str
    field: str
    variable: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class TargetOptimizer:
    """The state of an optimizer of optax as it starts.

    Attributes:
      slots: all arrays of it.
      told: arguments of functions of optax in it that are plain data, by FUNCTION.NAME.
    """

    slots: tuple[TargetSlot, ...]
    told: Mapping[str, Plain] = field(default_factory=dict)
