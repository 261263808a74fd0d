"""The rows of the map of operations and layers: operations.toml and layers.toml."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from workloads.gotchas import _catalogue

FOLDER = Path(__file__).parent

Comparison = Literal["same", "distribution"]
Gradients = Literal["same", "differ", "none"]


class Operation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operation of TensorFlow and its counterpart.

    Attributes:
      tf: an expression over the inputs; the first name in it is the operation that the row is about.
      jax: the same in JAX: an expression, or lines of which the last is one. Empty where there is no counterpart.
      inputs: the arrays by name, as `jaxport run --input` takes them.
      note: a sentence.
      gotcha: an entry of the catalogue, THEME/NAME, that explains the row. Those that concern the operation by its name
        are linked in any case.
      gradients: whether they agree; "differ": they must not, which `gotcha` or `note` explains; "none": one of both
        has none and must raise.
      values: "distribution" of random numbers, whose bits differ.
      jit: whether the counterpart compiles; otherwise it must raise under jax.jit.
      raw: types of operation in TensorFlow's graphs that the row is about, beside the one that is found where its
        program has no other.
    """

    tf: str
    jax: str = ""
    inputs: dict[str, str] = msgspec.field(default_factory=lambda: {"x": "f32[4,8]"})
    note: str = ""
    gotcha: str = ""
    gradients: Gradients = "same"
    values: Comparison = "same"
    jit: bool = True
    raw: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The operation that the row is about."""
        return first_name(self.tf)

    @property
    def has_counterpart(self) -> bool:
        """Whether the row is executed."""
        return bool(self.jax)


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One layer of Keras and its counterparts.

    Attributes:
      keras: an expression that constructs the layer.
      jax: its output: an expression over the inputs and `w`, the list of the layer's weights in order, or lines of
        which the last is one.
      flax: an expression that constructs the NNX module, from `rngs`; empty where there is none.
      params: where the weights of the module come from: expressions over `w`, by attribute.
      linen: the name of the module of Linen; empty where there is none.
      inputs: as those of an operation.
      call: how the Keras layer is called.
      flax_call: how the module is called; empty as `call`.
      note: a sentence.
      gotcha: as that of an operation.
      gradients: as those of an operation.
      values: as that of an operation.
    """

    keras: str
    jax: str = ""
    flax: str = ""
    params: dict[str, str] = {}
    linen: str = ""
    inputs: dict[str, str] = msgspec.field(default_factory=lambda: {"x": "f32[4,8]"})
    call: str = "layer(x)"
    flax_call: str = ""
    note: str = ""
    gotcha: str = ""
    gradients: Gradients = "same"
    values: Comparison = "same"

    @property
    def name(self) -> str:
        """The layer that the row is about."""
        return first_name(self.keras)

    @property
    def has_counterpart(self) -> bool:
        """Whether the row is executed."""
        return bool(self.jax or self.flax)


Row = Operation | Layer


def first_name(code: str) -> str:
    """The first dotted name of an expression that starts with tf or keras.

    Raises:
      ValueError: there is none.
    """
    match = re.search(r"\b(?:tf|keras)(?:\.\w+)+", code)
    if match is None:
        raise ValueError(f"expected a name that starts with tf. or keras., found none in {code!r}")
    return match[0]


def gotchas(row: Row) -> tuple[str, ...]:
    """Identifiers of the entry that a row names, and of all that concern its operation or layer and differ."""
    ids = {entry.id for entry in _entries()}
    other_ids = [entry.id for entry in _entries() if row.name in entry.gotcha.concerns and not entry.gotcha.is_control]
    return tuple(name for name in dict.fromkeys([row.gotcha, *other_ids]) if name in ids)


@functools.cache
def _entries() -> Sequence[_catalogue.Entry]:
    """The catalogue: made once, and asked by every row."""
    return _catalogue.entries()


def operations(folder: Path = FOLDER) -> dict[str, list[Operation]]:
    """The rows of operations.toml by group; read from this package unless another folder is named.

    Raises:
      msgspec.ValidationError: a row has an unknown key, or one of another type.
    """
    return msgspec.toml.decode((folder / "operations.toml").read_bytes(), type=dict[str, list[Operation]])


def layers(folder: Path = FOLDER) -> dict[str, list[Layer]]:
    """The rows of layers.toml by group; raises as `operations`."""
    return msgspec.toml.decode((folder / "layers.toml").read_bytes(), type=dict[str, list[Layer]])


def further_calls(folder: Path = FOLDER) -> list[Operation]:
    """The calls of further_calls.toml, which are no rows of the map; raises as `operations`."""
    return msgspec.toml.decode((folder / "further_calls.toml").read_bytes(), type=dict[str, list[Operation]])["calls"]
