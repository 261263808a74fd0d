"""The diagnosis of a model by `jaxport doctor`: its parts, and what will be hard to port."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

BLOCKER: Final = "blocker"
ATTENTION: Final = "attention"
NOTE: Final = "note"

Severity = Literal["blocker", "attention", "note"]
"""Does not compile or has no counterpart; wants a decision; good to know."""

Means = Literal["flax", "expression", "library", "init", "pipeline", "own"]
"""How to port a layer: by a module of Flax, an expression in JAX, a function of jaxport's library or code that
`jaxport init` writes; it may stay in TensorFlow's input pipeline, or need code of one's own."""


class Place(msgspec.Struct, frozen=True):
    """A layer, or a node of the graph, and the user's line where it is known."""

    name: str
    source: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One thing that was found, and everywhere it was found."""

    severity: Severity
    kind: str
    """gotcha, custom, strings, python, compilation, shapes, loop, randomness, state, dtype, counterpart or reading."""
    subject: str
    """The layer, operation or part of the model that it is about."""
    what: str
    """A sentence."""
    advice: str = ""
    gotcha: str = ""
    """An entry of the catalogue: `jaxport lookup gotchas` shows it with its code."""
    gate: str = ""
    """At which the likely port fails."""
    because: str = ""
    """The attributes that decide, as they are in the model."""
    count: int = 1
    places: tuple[Place, ...] = ()
    """The first of them."""


class LayerKind(msgspec.Struct, frozen=True):
    """All layers of one class, with the counterparts that the map of layers has."""

    class_name: str
    module: str
    means: dict[str, int]
    """By what ports them, how many."""
    flax: str = ""
    """The module of Flax NNX."""
    linen: str = ""
    jax: str = ""
    example: tuple[str, ...] = ()
    """The row of the map: the layer in Keras as it was executed, then the module of NNX that computes the same."""
    note: str = ""
    names: tuple[str, ...] = ()
    activations: tuple[str, ...] = ()
    """The activations that any of them has."""
    source: str = ""
    """FILE:LINE of the class, where it is the user's."""
    general: tuple[str, ...] = ()
    """Entries of the catalogue that concern the class, and that none of its attributes decides."""
    left: tuple[str, ...] = ()
    """The places among them that `jaxport init` would leave to be written, a line each."""


class OperationKind(msgspec.Struct, frozen=True):
    """All operations of one type."""

    type: str
    count: int
    in_layers: int
    """How many of them a layer of Keras made."""
    compiles: bool | None
    """By TensorFlow's XLA on a CPU; None is not known."""
    counterparts: tuple[str, ...] = ()
    """Examples of the map: TensorFlow's expression and that in JAX."""
    gotchas: tuple[str, ...] = ()
    """Entries of the catalogue that concern it, and that none of its attributes decides."""
    places: tuple[Place, ...] = ()


class Described(msgspec.Struct, frozen=True):
    """An input, an output or a variable: dtype and shape, where ? is a size that is not fixed."""

    name: str
    type: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said of a model."""

    target: str
    kind: str
    entries: tuple[str, ...] = ()
    """The entries that were read: signatures, or traced functions."""
    versions: dict[str, str] = {}
    inputs: tuple[Described, ...] = ()
    outputs: tuple[Described, ...] = ()
    variables: int = 0
    weights: int | None = None
    """Numbers in the variables; None where a size is not known."""
    not_traced: str = ""
    """Why nothing is said of operations."""
    counts: dict[Severity, int] = {}
    findings: tuple[Finding, ...] = ()
    layers: tuple[LayerKind, ...] = ()
    operations: tuple[OperationKind, ...] = ()
    effort: dict[Means, int] = {}
    """Layers by what ports them."""
    places: tuple[str, ...] | None = None
    """The parts that `jaxport init` would leave unwritten; null if it does not read the model."""
    no_port: str = ""
    """Why it does not."""
    command: str = ""
    """The command that writes the port."""
