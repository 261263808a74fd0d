"""A function with its inputs in another data type: the workload that the gates then judge like any other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import ml_dtypes
import numpy as np

from compare.errors import RequestError
from compare.inputs.at_size import Prepared
from compare.sides import mapped
from compare.sides.wire import WEIGHTS
from workloads.core.spec import ArraySpec, Workload, ends_of, is_float, is_integer

SIGNED, UNSIGNED = (-8, 8), (0, 16)
"""The range that integers are drawn from: that of int4 and uint4, so that every type gets the same numbers."""


def cast_names(instance: Prepared) -> tuple[str, ...]:
    """The inputs that are cast: the floats; without any, all of them.

    Raises:
      RequestError: it is no function of arrays alone.
    """
    weights = any(name.startswith(f"{WEIGHTS}/") for name in mapped.load(instance.loading.arrays))
    if weights or instance.workload.training:
        raise RequestError(
            f"expected a function of arrays, found {instance.workload.name}, which has weights: their types are its own"
        )
    floats = tuple(name for name, spec in instance.inputs.items() if spec.is_float)
    return floats or tuple(instance.inputs)


def cast(instance: Prepared, dtype: str) -> Workload:
    """The function as a workload whose cast inputs have this type.

    Args:
      dtype: by NumPy's or ml_dtypes' name.
    """
    names = cast_names(instance)
    loading = instance.loading
    return Workload(
        name=instance.workload.name,
        tf=loading.targets["tf"],
        jax=loading.targets["jax"],
        inputs={name: _cast(spec, dtype) if name in names else spec for name, spec in instance.inputs.items()},
        sizes={"cast": loading.dimensions},
        builds=loading.builds,
        deviations=tuple(instance.workload.deviations),
    )


def as_integers(workload: Workload, inputs: Mapping[str, ArraySpec], narrow: str) -> Workload:
    """The workload with the same numbers as int64, if its own type is refused.

    Args:
      narrow: the type that becomes int64.
    """
    wide = {
        name: dataclasses.replace(spec, dtype="int64") if spec.dtype == narrow else spec
        for name, spec in inputs.items()
    }
    return dataclasses.replace(workload, inputs=wide)


def _cast(spec: ArraySpec, dtype: str) -> ArraySpec:
    if dtype == "bool":
        return ArraySpec(spec.shape, dtype)
    if is_integer(dtype):
        return ArraySpec(spec.shape, dtype, *_whole_range(spec, dtype))
    if not is_float(spec.dtype) or not _holds(spec, dtype):
        return ArraySpec(spec.shape, dtype)
    return ArraySpec(spec.shape, dtype, spec.low, spec.high, spec.scale)


def _holds(spec: ArraySpec, dtype: str) -> bool:
    """Whether the type can represent the range of the input."""
    largest = float(ml_dtypes.finfo(np.dtype(dtype)).max)
    ends = [8 * abs(spec.scale)] if spec.low is None or spec.high is None else [abs(spec.low), abs(spec.high)]
    return max(ends) <= largest


def _whole_range(spec: ArraySpec, dtype: str) -> tuple[int, int]:
    """The declared range, if the type can represent two of its integers; otherwise the range of four bits."""
    least, most = ends_of(dtype)
    default = SIGNED if least < 0 else UNSIGNED
    if spec.low is None or spec.high is None:
        return default
    low, high = max(math.ceil(spec.low), least), min(math.floor(spec.high), most)
    return (low, high) if high - low > 1 else default
