"""Examples that a port is trained on, read from a file of the user's: each array as its spec says, or one line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ml_dtypes as ml_dtypes  # NumPy knows these types once it is imported
import numpy as np

from workloads._digits import DataError
from workloads.core import foreign
from workloads.core.foreign import Unusable
from workloads.core.spec import Arrays, ArraySpec, ends_of, is_integer

MOST_BYTES = 4 << 30
"""The largest array: a zip with a larger one has another format."""

Specs = Mapping[str, ArraySpec[int | str]]


def describe_examples(specs: Specs) -> str:
    """The arrays that a file has to hold: "x float32[n, 28, 28], labels int32[n] from 0 to 9".

    Args:
      specs: by name. A name in a shape is a size that the file decides.
    """
    return ", ".join(f"{name} {_describe(spec)}" for name, spec in specs.items())


def read_examples(path: Path, specs: Specs) -> Arrays:
    """The arrays of an .npz, in the types of their specs; others in the file are left out.

    A type is converted where NumPy calls that `same_kind`: float64 becomes float32 and int64 becomes int32, as Keras
    makes of them, and no float becomes an integer.

    Args:
      specs: by name. A name in a shape is a size that the file decides: equal names are equal sizes. `low` and `high`
        bound integers only.

    Raises:
      DataError: the file cannot be read or holds objects; an array is missing or has another shape or type; an integer
        is out of range, or a float is not finite.
    """
    try:
        arrays = foreign.npz(path, list(specs), MOST_BYTES)
    except Unusable as error:
        raise DataError(
            f"expected {describe_examples(specs)} in {path}, found {error}: write it with numpy.savez"
        ) from error
    sizes: dict[str, tuple[int, str]] = {}
    return {name: _convert(name, array, specs[name], sizes) for name, array in arrays.items()}


def _describe(spec: ArraySpec[int | str]) -> str:
    ends = f" from {spec.low:.0f} to {spec.high - 1:.0f}" if _has_ends(spec) and spec.high is not None else ""
    return f"{spec.dtype}[{', '.join(map(str, spec.shape))}]{ends}"


def _has_ends(spec: ArraySpec[int | str]) -> bool:
    return spec.low is not None and is_integer(spec.dtype)


def _convert(name: str, array: np.ndarray, spec: ArraySpec[int | str], sizes: dict[str, tuple[int, str]]) -> np.ndarray:
    """An array in the type of its spec; the sizes that its names have are noted, each with the array it is of."""
    expected, type_found = f"{name} {_describe(spec)}", f"{array.dtype}{list(array.shape)}"
    if array.ndim != len(spec.shape) or not array.size:
        raise DataError(f"expected {expected}, found {type_found}: reshape it")
    for size, size_found in zip(spec.shape, array.shape, strict=True):
        size_expected, first = sizes.setdefault(size, (size_found, name)) if isinstance(size, str) else (size, "")
        if size_found != size_expected:
            where = f" with {size}={size_expected} as in {first}" if first else ""
            raise DataError(f"expected {expected}{where}, found {type_found}: reshape it")
    if not np.can_cast(array.dtype, spec.dtype, "same_kind"):
        raise DataError(f"expected {expected}, found {type_found}: convert it, as by .astype({spec.dtype!r})")
    with np.errstate(over="ignore"):
        new_array = array.astype(spec.dtype)
    _check_values(expected, array, new_array, spec)
    return new_array


def _check_values(expected: str, array: np.ndarray, new_array: np.ndarray, spec: ArraySpec[int | str]) -> None:
    if is_integer(spec.dtype):
        least, most = ends_of(np.dtype(spec.dtype))
        low, high = (least, most + 1) if spec.low is None or spec.high is None else (spec.low, spec.high)
        is_wrong = (array < low) | (array >= high)
    else:
        is_wrong = ~np.isfinite(new_array)
    if is_wrong.any():
        place = tuple(np.argwhere(is_wrong)[0].tolist())
        value = "" if is_integer(spec.dtype) else ", all finite"
        raise DataError(
            f"expected {expected}{value}, found {array[place]} at {list(place)}: correct it, or leave out that example"
        )
