"""The functions, dimensions and sizes that are timed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compare.errors import RequestError
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_one, prepare_others
from compare.inputs.sizes import choose_size
from workloads import _small_operations
from workloads._layer_chain import BLOCK, LAYERS
from workloads.core.declared import AnyWorkload

LEAST_SIZES = 2
"""A crossing lies between two."""

_SMALL = "smoke"


@dataclass(frozen=True)
class Sizes:
    """A dimension, and its sizes from the least."""

    dimension: str
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dimension}={','.join(map(str, self.sizes))}"


@dataclass(frozen=True)
class Series:
    """A function and the sizes that it is timed at."""

    workload: AnyWorkload
    sizes: Sizes
    size: str | None = None
    """The size that all other dimensions are taken from; None is the smallest."""


def parse(text: str) -> Sizes:
    """`NAME=N,N,...` with two sizes or more, in any order.

    Raises:
      RequestError: it does not parse, or names fewer.
    """
    name, equals, numbers = text.partition("=")
    words = [word.strip() for word in numbers.split(",")]
    if not equals or not name.strip().isidentifier() or not all(_is_size(word) for word in words):
        raise RequestError(f"expected --size NAME=N,N,... such as n=16,64,256, found {text!r}: name a dimension")
    sizes = sorted({int(word) for word in words})
    if len(sizes) < LEAST_SIZES:
        raise RequestError(f"expected at least {LEAST_SIZES} sizes with --size, found {text!r}: name more")
    return Sizes(name.strip(), tuple(sizes))


_MOST_DIGITS = 12


def _is_size(word: str) -> bool:
    return word.isascii() and word.isdigit() and 0 < len(word) <= _MOST_DIGITS and int(word) > 0


def of_operations(sizes: Sizes | None) -> list[Series]:
    """Every small operation, over its own sizes unless others are asked for."""
    return [of(workload, sizes) for workload in _small_operations.OPERATIONS.values()]


def of(workload: AnyWorkload, sizes: Sizes | None) -> Series:
    """A function over sizes that are asked for; a small operation has its own.

    Raises:
      RequestError: none are and it is no such operation, or the workload trains.
    """
    if workload.training is not None:
        raise RequestError(
            f"expected a function, found {workload.name}, which trains: `jaxport bench {workload.name} --batches "
            "32,256` measures its step by batch size"
        )
    if sizes is None and _small_operations.OPERATIONS.get(workload.name) is not workload:
        raise RequestError(
            f"expected --size NAME=N,N,... for {workload.name}, found none: name a dimension of it and its sizes"
        )
    return Series(workload, sizes or Sizes(_small_operations.ELEMENTS, _small_operations.SIZES))


def draw(series: Series, scratch: Path) -> list[tuple[int, Prepared | str]]:
    """By size, the arrays of a function there; a text says why it refuses the size.

    Raises:
      RequestError: it has no such dimension, refuses every size, or its code fails.
    """
    workload, sizes = series.workload, series.sizes
    own = prepare_one(workload, choose_size(workload, series.size or _least_size(workload)), None, scratch)
    if sizes.dimension not in own.dimensions:
        dimension_names = ", ".join(own.dimensions) or "none: name one in a shape, as in x=f32[n,128]"
        raise RequestError(f"expected a dimension of {workload.name} ({dimension_names}), found {sizes.dimension!r}")
    others = replace(own, others=tuple({sizes.dimension: size} for size in sizes.sizes))
    outcomes = prepare_others(others, scratch)
    refusals = [outcome for outcome in outcomes if isinstance(outcome, str)]
    if len(refusals) == len(outcomes):
        raise RequestError(refusals[0])
    return list(zip(sizes.sizes, outcomes, strict=True))


def _least_size(workload: AnyWorkload) -> str | None:
    return _SMALL if _SMALL in workload.sizes else None


def in_blocks(workload: AnyWorkload, blocks: Sequence[int], size: str | None) -> Series:
    """A chain of layers with no block compiled, and in compiled blocks of several sizes.

    Args:
      blocks: layers of each block; none takes powers of 2 below the dimension `layers`, and that.
      size: of which all other dimensions are taken; None is the default.

    Raises:
      RequestError: it trains, has no such dimension, or no `layers` where `blocks` are missing.
    """
    size_name = choose_size(workload, size)
    dimensions = workload.sizes[size_name]
    if workload.training is not None:
        raise RequestError(f"expected a forward pass, found {workload.name}, which trains: leave out `training`")
    if BLOCK not in dimensions:
        raise RequestError(
            f"expected a dimension `{BLOCK}` of {workload.name}, the layers in a compiled function, found "
            f"{', '.join(dimensions) or 'none'}: build it in blocks, as examples/blocks does"
        )
    if not blocks and LAYERS not in dimensions:
        raise RequestError(
            f"expected --blocks N,N,... or a dimension `{LAYERS}` of {workload.name}, found neither: name one"
        )
    block_sizes = sorted({*blocks} or {*_powers_of_2(dimensions[LAYERS])})
    return Series(workload, Sizes(BLOCK, (0, *block_sizes)), size_name)


def _powers_of_2(layers: int) -> Iterator[int]:
    yield from (2**power for power in range(layers.bit_length()) if 2**power < layers)
    yield layers
