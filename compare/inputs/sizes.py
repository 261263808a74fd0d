"""Chooses the size that a workload runs at and the size that parity is judged at, with dimensions and bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from compare.errors import RequestError
from workloads.core.declared import AnyWorkload
from workloads.core.spec import SIZES, Arrays, Dimensions, Workload

LARGEST_PARITY_BYTES = 1 << 29
"""Inputs beyond this are compiled, profiled and timed, while parity is judged on the largest size below it.

Parity keeps the outputs of every mode, pass and case at once: a gradient of 2 GiB would be kept 20 times.
"""


def choose_size(workload: AnyWorkload, size: str | None) -> str:
    """The size asked for; by default smoke for what trains and default for functions: the tour's sizes.

    Raises:
      RequestError: the workload has no such size.
    """
    if size is None:
        usual = "smoke" if workload.training else "default"
        return usual if usual in workload.sizes else next(iter(workload.sizes))
    if size in workload.sizes:
        return size
    if size in SIZES and len(workload.sizes) == 1:
        return next(iter(workload.sizes))
    raise RequestError(
        f"expected a size of {workload.name} ({', '.join(workload.sizes)}), found {size!r}: choose one of these"
    )


def timed_size(workload: AnyWorkload, size: str | None) -> str | None:
    """The size asked for, or else `default`: at size smoke a call is mostly dispatch. None where there is no such size.

    Args:
      size: the size asked for; None asks for none.
    """
    return size or ("default" if "default" in workload.sizes else None)


def parity_size(workload: Workload, size: str, examples: Arrays | None) -> str:
    """The size that parity is judged at: the one asked for, or the largest that fits.

    Args:
      examples: by input, arrays [examples, ...] that may decide dimensions; None where nothing is trained.

    Raises:
      RequestError: the workload refuses these dimensions.
    """

    def fits(candidate: str) -> bool:
        with refusals(workload, candidate):
            return input_bytes(workload, dimensions_at(workload, candidate, examples)) <= LARGEST_PARITY_BYTES

    if fits(size):
        return size
    # Sizes stand in order of growth; what comes after the one asked for is of another kind (mixed precision).
    names = list(workload.sizes)
    smaller = [name for name in names[: names.index(size)] if fits(name)]
    return smaller[-1] if smaller else size


@contextmanager
def refusals(workload: Workload, size: str) -> Iterator[None]:
    """Turn a workload's refusal of dimensions into one line with its name and size."""
    try:
        yield
    except ValueError as error:
        raise RequestError(f"{workload.name} at size {size}: {error}") from error


def dimensions_at(workload: Workload, size: str, examples: Arrays | None) -> Dimensions:
    """The dimensions of a size, some of which the training data may decide.

    Args:
      examples: training data by input, [examples, ...]; None where nothing is trained.
    """
    from_examples = workload.training.infer_dimensions(examples) if workload.training and examples else {}
    return {**workload.dimensions(size), **from_examples}


def input_bytes(workload: Workload, dimensions: Dimensions) -> int:
    """Bytes of the inputs of one call."""
    specs = workload.input_specs(dimensions).values()
    return sum(math.prod(spec.shape) * np.dtype(spec.dtype).itemsize for spec in specs)
