"""What a workload is: shapes, sizes, costs and declared deviations, and no framework."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

Dimensions = Mapping[str, int]
Arrays = Mapping[str, np.ndarray]

GATES = ("structure", "semantics", "rounding", "gradients", "training")
"""What parity rests on, in the order in which it is judged."""

SIZES = ("smoke", "default", "paper")


@dataclass(frozen=True)
class ArraySpec:
    """One array: its shape, its dtype and the distribution that random values are drawn from.

    Floats are standard normal times `scale`, or uniform in [low, high) where both are given.
    Integers are uniform in [low, high), by default [0, 10).
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float | None = None
    high: float | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not all(size > 0 for size in self.shape):
            raise ValueError(f"expected sizes above 0, found {list(self.shape)}: empty arrays prove nothing")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"expected low and high together, found {self.low} and {self.high}: give both")
        if self.low is None or self.high is None:
            return
        kind = np.dtype(self.dtype)
        if not self.low < self.high:
            raise ValueError(f"expected low below high, found {self.low:g} and {self.high:g}")
        if kind.kind in "iu":
            least, most = np.iinfo(kind).min, np.iinfo(kind).max
            if self.low != int(self.low) or self.high != int(self.high):
                raise ValueError(f"expected whole numbers for {self.dtype}, found {self.low:g} and {self.high:g}")
            if self.low < least or self.high > most + 1:
                raise ValueError(
                    f"expected a range within {least}..{most} of {self.dtype}, found {self.low:g}..{self.high:g}"
                )

    @property
    def is_float(self) -> bool:
        """Whether gradients can be taken with respect to it."""
        return np.issubdtype(np.dtype(self.dtype), np.floating)


@dataclass(frozen=True)
class Cost:
    """What the mathematics needs: floating-point operations, and bytes read plus bytes written.

    `bytes` assumes that no intermediate is written to memory: the floor that fusion aims at.
    `source` says where the formula comes from.
    """

    flops: float
    bytes: float
    source: str


@dataclass(frozen=True)
class Deviation:
    """A difference between the sides that is known, bounded and explained.

    It raises the bound of `gate` to `bound` (relative to the largest value of the leaf).
    A deviation that no longer occurs fails the gate: remove it then.
    """

    gate: str
    bound: float
    reason: str

    def __post_init__(self) -> None:
        if self.gate not in GATES:
            raise ValueError(f"expected a deviation's gate to be one of {', '.join(GATES)}, found {self.gate!r}")


class Dataset(Protocol):
    """Loads examples: `path` names a file, None takes the bundled data."""

    def __call__(self, path: Path | None) -> Arrays: ...


@dataclass(frozen=True)
class Training:
    """The training half of a workload: examples, batches in a fixed order, steps compared.

    Examples come from `dataset`, real data that has a size of its own, or from `synthetic`, which makes
    them by code at the size that is asked for. Both return arrays named as the workload's inputs, with
    examples along the first axis; an input that they lack is drawn from its spec anew for every step.
    `dimensions_of` reads off a dataset the dimensions that the data decides.
    """

    dataset: Dataset | None = None
    dimensions_of: Callable[[Arrays], Dimensions] | None = None
    batch: str = "batch"
    steps: int = 50
    checkpoints: tuple[int, ...] = (1, 10, 50)
    synthetic: Callable[[Dimensions], Arrays] | None = None

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"expected at least one training step, found {self.steps}")
        if (self.dataset is None) == (self.synthetic is None):
            found = "neither" if self.dataset is None else "both"
            raise ValueError(f"expected a dataset or synthetic examples, found {found}: name one source of examples")

    def examples(self, path: Path | None, dimensions: Dimensions) -> Arrays:
        """The examples at a size; a path names the file of a dataset."""
        return self.dataset(path) if self.dataset else self.synthetic(dimensions) if self.synthetic else {}

    def decided(self, examples: Arrays) -> Dimensions:
        """The dimensions that the examples decide."""
        return self.dimensions_of(examples) if self.dimensions_of else {}

    @property
    def takes_data(self) -> bool:
        """Whether the examples can be read from a file that is named."""
        return self.dataset is not None

    @property
    def compared(self) -> tuple[int, ...]:
        """The steps after which weights are compared: the checkpoints that are reached, and the last step always."""
        return tuple(sorted({step for step in self.checkpoints if step <= self.steps} | {self.steps}))


@dataclass(frozen=True)
class Workload:
    """What is computed, once, for both sides.

    `tf` and `jax` name the twins as "module:attribute" or "file.py:attribute" and are resolved only
    in the worker of that side. `builds` says whether the attribute is a builder
    `build(dimensions, dtype)` or the function itself.
    """

    name: str
    tf: str
    jax: str
    inputs: Callable[[Dimensions], Mapping[str, ArraySpec]] | Mapping[str, ArraySpec]
    weights: Callable[[Dimensions], Mapping[str, ArraySpec | np.ndarray]] | Mapping[str, ArraySpec | np.ndarray] = (
        field(default_factory=dict)
    )
    summary: str = ""
    source: str = ""
    sizes: Mapping[str, Dimensions] = field(default_factory=lambda: {"default": {}})
    cost: Callable[[Dimensions], Cost] | None = None
    training: Training | None = None
    deviations: tuple[Deviation, ...] = ()
    builds: bool = True
    folder: Path | None = None
    """Where relative twin paths start; None for built-in workloads."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]+", self.name):
            raise ValueError(f"expected a name of letters, digits, '_', '.' and '-', found {self.name!r}")

    def input_specs(self, dimensions: Dimensions) -> dict[str, ArraySpec]:
        """The inputs of one call, in the order in which both twins take them."""
        return dict(self.inputs(dimensions) if callable(self.inputs) else self.inputs)

    def weight_specs(self, dimensions: Dimensions) -> dict[str, ArraySpec | np.ndarray]:
        """The canonical flat weights: specs to draw from, or the arrays themselves."""
        return dict(self.weights(dimensions) if callable(self.weights) else self.weights)
