"""The specification of a workload: shapes, sizes, costs and declared deviations, without a framework."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol

import ml_dtypes  # NumPy knows bfloat16, float8 and int4 once it is imported
import numpy as np
from typing_extensions import TypeVar

from workloads.core.dimensions import Dimensions as Dimensions
from workloads.core.dimensions import Range, check_name, check_range, usual
from workloads.core.field_kinds import check_fields
from workloads.core.whole_numbers import check_amount, check_reals, check_sizes, check_whole

Arrays = Mapping[str, np.ndarray]

STABILITY = "stability"
GATES = ("structure", "semantics", "rounding", "gradients", "training", STABILITY)
"""The gates of parity, in the order in which they are judged."""

SIZES = ("smoke", "default", "paper")

_SIGMAS = 8
"""Beyond so many times the scale no normal value is ever drawn."""
_MOST_ELEMENTS = 1 << 40
"""The most elements of an array: 4 TiB of float32."""
_LONGEST_NAME = 100
"""Bytes: with a size and an ending it still is the name of a file."""


Size = TypeVar("Size", bound=int | str, covariant=True, default=int)


@dataclass(frozen=True)
class ArraySpec(Generic[Size]):
    """One array: its shape, its dtype and the distribution that random values are drawn from.

    A name in the shape is a dimension that varies: the port is judged at several sizes of it, and equal names are
    equal sizes.
    Floats are standard normal times `scale`, or uniform in [low, high) where both are given; complex numbers have
    two such parts.
    Integers are uniform in [low, high), by default [0, 10), or what the type holds of that.
    """

    shape: tuple[Size, ...]
    dtype: str = "float32"
    low: float | None = None
    high: float | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_sizes(self.shape)
        check_reals(low=self.low, high=self.high, scale=self.scale)
        for name in self.names:
            check_name(name)
        if not all(size > 0 for size in self.shape if not isinstance(size, str)):
            raise ValueError(f"expected sizes above 0, found {list(self.shape)}: empty arrays prove nothing")
        count = math.prod(size for size in self.shape if not isinstance(size, str))
        if count > _MOST_ELEMENTS:
            raise ValueError(f"expected at most 2**40 elements, found 2**{math.log2(count):.0f}: choose smaller sizes")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"expected low and high together, found {self.low} and {self.high}: give both")
        if self.is_float and not abs(self.scale) * _SIGMAS <= _largest(self.dtype):
            raise ValueError(f"expected a scale whose multiples {self.dtype} can hold, found {self.scale:g}")
        if self.low is not None and self.high is not None:
            self._check_range(self.low, self.high)

    def _check_range(self, low: float, high: float) -> None:
        kind = np.dtype(self.dtype)
        if not low < high:
            raise ValueError(f"expected low below high, found {low:g} and {high:g}")
        if kind == np.bool_:
            raise ValueError(f"expected no range for {self.dtype}, found {low:g}..{high:g}: leave it out")
        if is_integer(kind):
            least, most = ends_of(kind)
            if not (math.isfinite(low) and math.isfinite(high)) or low != int(low) or high != int(high):
                raise ValueError(f"expected whole numbers for {self.dtype}, found {low:g} and {high:g}")
            if low < least or high > most + 1:
                raise ValueError(f"expected a range within {least}..{most} of {self.dtype}, found {low:g}..{high:g}")
        elif max(abs(low), abs(high)) > _largest(self.dtype) or not math.isfinite(high - low):
            raise ValueError(
                f"expected a range within {-_largest(self.dtype):g}..{_largest(self.dtype):g} of {self.dtype}, "
                f"found {low:g}..{high:g}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions that vary."""
        return tuple(size for size in self.shape if isinstance(size, str))

    def resolve(self, dimensions: Dimensions) -> ArraySpec:
        """The array where every dimension has a size.

        Raises:
          ValueError: one has none.
        """
        missing = [name for name in self.names if name not in dimensions]
        if missing:
            raise ValueError(f"expected a size for dimension {missing[0]}, found none: name it in `sizes`")
        shape = tuple(dimensions[size] if isinstance(size, str) else int(size) for size in self.shape)
        return ArraySpec(shape, self.dtype, self.low, self.high, self.scale)

    @property
    def is_float(self) -> bool:
        """Whether its values are drawn as floats are."""
        return is_float(self.dtype)


def is_float(dtype: np.dtype | str) -> bool:
    """Whether a type holds floats, bfloat16, float8 and complex numbers among them."""
    kind = np.dtype(dtype)
    return kind.kind in "fc" or kind.name in _FLOATS_OF_NO_KIND


def is_differentiable(dtype: np.dtype | str) -> bool:
    """Whether gradients are taken with respect to it: TensorFlow takes none of float8."""
    return is_float(dtype) and np.dtype(dtype).name not in FLOAT8


def is_integer(dtype: np.dtype | str) -> bool:
    """Whether a type holds integers, int4 and uint4 among them."""
    kind = np.dtype(dtype)
    return kind.kind in "iu" or kind.name in NIBBLES


def ends_of(dtype: np.dtype | str) -> tuple[int, int]:
    """The least and the largest number that an integer type holds."""
    info = ml_dtypes.iinfo(np.dtype(dtype).type)
    return int(info.min), int(info.max)


FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
NIBBLES = ("int4", "uint4")
_FLOATS_OF_NO_KIND = ("bfloat16", *FLOAT8)
"""To NumPy they are bytes of nothing."""


def double_dtype(dtype: np.dtype | str) -> str:
    """The type that a float has in float64."""
    return "complex128" if np.dtype(dtype).kind == "c" else "float64"


def dtype_in(dtype: np.dtype | str, precision: str) -> str:
    """The type that an array has in a run: floats are widened in one of float64, nothing else is changed."""
    return double_dtype(dtype) if precision == "float64" and is_float(dtype) else str(dtype)


def _largest(dtype: str) -> float:
    """The largest finite value of a float type."""
    return float(ml_dtypes.finfo(np.dtype(dtype)).max)


@dataclass(frozen=True)
class Cost:
    """The cost of the mathematics: floating-point operations, and bytes read plus bytes written.

    `bytes` assumes that no intermediate is written to memory: the floor that fusion aims at.
    `source` says where the formula comes from.
    """

    flops: float
    bytes: float
    source: str

    def __post_init__(self) -> None:
        check_amount(self.flops, "the flops of a Cost")
        check_amount(self.bytes, "the bytes of a Cost")


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
        check_amount(self.bound, "the bound of a Deviation")


class Dataset(Protocol):
    """Loads examples: `path` names a file, None takes the bundled data."""

    def __call__(self, path: Path | None) -> Arrays:
        """Return the examples of a file, or the bundled data."""
        ...


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
        for step in (self.steps, *self.checkpoints):
            check_whole(step, "the steps of a Training")
        if self.steps < 1:
            raise ValueError(f"expected at least one training step, found {self.steps}")
        if (self.dataset is None) == (self.synthetic is None):
            what = "neither" if self.dataset is None else "both"
            raise ValueError(f"expected a dataset or synthetic examples, found {what}: name one source of examples")

    def examples(self, path: Path | None, dimensions: Dimensions) -> Arrays:
        """The examples at a size; a path names the file of a dataset."""
        return self.dataset(path) if self.dataset else self.synthetic(dimensions) if self.synthetic else {}

    def infer_dimensions(self, examples: Arrays) -> Dimensions:
        """Infer the dimensions that depend on the examples.

        Args:
          examples: by input, along the first axis.
        """
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
    """A computation, specified once for both sides.

    `tf` and `jax` name the twins as "module:attribute" or "file.py:attribute" and are resolved only
    in the worker of that side. `builds` says whether the attribute is a builder
    `build(dimensions, dtype)` or the function itself.

    Dimensions that `inputs` names in a shape, and those of `ranges`, are judged at several sizes, both sides built
    anew for each: `ranges` says between which, both ends included.

    `example` holds arrays of one call, by input: a case of its own beside those that are drawn.
    """

    name: str
    tf: str
    jax: str
    inputs: Callable[[Dimensions], Mapping[str, ArraySpec]] | Mapping[str, ArraySpec[int | str]]
    weights: (
        Callable[[Dimensions], Mapping[str, ArraySpec | np.ndarray]] | Mapping[str, ArraySpec[int | str] | np.ndarray]
    ) = field(default_factory=dict)
    summary: str = ""
    source: str = ""
    sizes: Mapping[str, Dimensions] = field(default_factory=lambda: {"default": {}})
    cost: Callable[[Dimensions], Cost] | None = None
    training: Training | None = None
    deviations: tuple[Deviation, ...] = ()
    ranges: Mapping[str, Range] = field(default_factory=dict)
    example: Arrays = field(default_factory=dict)
    builds: bool = True
    folder: Path | None = None
    """Where relative twin paths start; None for built-in workloads."""

    def __post_init__(self) -> None:
        check_fields(self, ArraySpec)
        # Files are named after both.
        for what, name in (("name", self.name), *(("size", size) for size in self.sizes)):
            if not re.fullmatch(r"[\w.-]+", name):
                raise ValueError(f"expected a {what} of letters, digits, '_', '.' and '-', found {name!r}")
            if len(name.encode()) > _LONGEST_NAME:
                raise ValueError(f"expected a {what} of at most {_LONGEST_NAME} bytes, found {name!r}: shorten it")
        for name, value in (item for dimensions in self.sizes.values() for item in dimensions.items()):
            check_whole(value, f"dimension {name!r} in Workload.sizes")
        for name, ends in self.ranges.items():
            check_range(name, ends)

    @property
    def varying(self) -> tuple[str, ...]:
        """The dimensions that are judged at several sizes."""
        dimension_names = (
            () if callable(self.inputs) else (name for spec in self.inputs.values() for name in spec.names)
        )
        return tuple(dict.fromkeys((*dimension_names, *self.ranges)))

    def dimensions(self, size: str) -> Dimensions:
        """The dimensions at a size, those that vary among them even where the size does not say them."""
        return {**usual(self.varying, self.ranges), **self.sizes[size]}

    def input_specs(self, dimensions: Dimensions) -> dict[str, ArraySpec]:
        """The inputs of one call, in the order in which both twins take them."""
        specs = self.inputs(dimensions) if callable(self.inputs) else self.inputs
        return {name: spec.resolve(dimensions) for name, spec in specs.items()}

    def weight_specs(self, dimensions: Dimensions) -> dict[str, ArraySpec | np.ndarray]:
        """The canonical flat weights: specs to draw from, or the arrays themselves."""
        specs = self.weights(dimensions) if callable(self.weights) else self.weights
        return {path: spec.resolve(dimensions) if isinstance(spec, ArraySpec) else spec for path, spec in specs.items()}
