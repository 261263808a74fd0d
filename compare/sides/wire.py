"""How requests and replies are written: JSON lines for values, safetensors files for arrays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from compare.arrays import BYTES, PARTS, map_arrays
from compare.arrays import load_arrays as load_arrays
from compare.sides._side import Parameters
from compare.writing import UnwrittenError
from workloads.core.spec import Arrays
from workloads.protocol.framework import Twin

CASES, WEIGHTS, BATCHES = "cases", "weights", "batches"

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", *BYTES),
)
"""Dtypes that safetensors writes and reads as NumPy arrays, complex128, and dtypes of one byte."""

MAPPED_BYTES = 1 << 24
"""A reply of at least so much is not read into memory at once."""
ROOM = 8
"""How many files of its size a disk must have room for, for a file to stay there."""


def save_arrays(arrays: Arrays, path: Path) -> None:
    """Write arrays of DTYPES. Never pickle.

    Raises:
      TypeError: an array of another dtype.
      UnwrittenError: the disk is full, say.
    """
    plain_arrays = contiguous(arrays)
    try:
        save_file(plain_arrays, path)
    except SafetensorError as error:
        raise UnwrittenError(f"expected to write {path}, found {error}: make room, or write elsewhere") from error


def received_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a reply; many stay on disk, where there is room, until they are read.

    A judge holds what every mode returned at once: for a model of 30 million weights, more than 6 GB.

    Raises:
      SafetensorError, OSError: the file is broken or absent.
    """
    size = path.stat().st_size
    is_mapped = size >= MAPPED_BYTES and shutil.disk_usage(path.parent).free > size * ROOM
    return map_arrays(path) if is_mapped else load_arrays(path)[0]


def contiguous(arrays: Arrays) -> dict[str, np.ndarray]:
    """The arrays as safetensors wants them: in row-major order, scalars as scalars, what it lacks as what it has.

    Raises:
      TypeError: an array of a dtype that would not be read back.
    """
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise TypeError(f"expected {name!r} of a dtype of {', '.join(DTYPES)}, found {array.dtype}: cast it")
    return dict(_split_name(name, np.asarray(array, order="C")) for name, array in arrays.items())


def _split_name(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    if array.dtype.name in BYTES:
        return f"{name}#{array.dtype.name}", array.view(np.uint8)
    if array.dtype != np.complex128:
        return name, array
    return f"{name}{PARTS}", array[..., None].view(np.float64)


def pack_twin(cases: Mapping[str, Arrays], weights: Arrays, batches: Arrays) -> dict[str, np.ndarray]:
    """All arrays of a workload under one flat set of names, the same for both sides."""
    twin_arrays = {f"{WEIGHTS}/{path}": array for path, array in weights.items()}
    twin_arrays |= {f"{BATCHES}/{name}": array for name, array in batches.items()}
    for case, arrays in cases.items():
        twin_arrays |= {f"{CASES}/{case}/{name}": array for name, array in arrays.items()}
    return twin_arrays


def unpack_twin(parameters: Parameters, twin_arrays: Arrays) -> Twin:
    """The twin that a load request describes. Inputs keep the order that the workload gives them."""
    cases: dict[str, dict[str, np.ndarray]] = {}
    for case in parameters["cases"]:
        prefix = f"{CASES}/{case}/"
        arrays = {name.removeprefix(prefix): array for name, array in twin_arrays.items() if name.startswith(prefix)}
        inputs = {name: arrays.pop(name) for name in parameters["inputs"]}
        cases[case] = inputs | arrays
    groups = {
        group: {
            name.removeprefix(f"{group}/"): array for name, array in twin_arrays.items() if name.startswith(f"{group}/")
        }
        for group in (WEIGHTS, BATCHES)
    }
    return Twin(
        target=parameters["target"],
        builds=parameters["builds"],
        dimensions=parameters["dimensions"],
        cases=cases,
        weights=groups[WEIGHTS],
        batches=groups[BATCHES],
        main_pass=parameters.get("main_pass", ""),
        unrolled=parameters.get("unrolled", 0),
    )


def encode(message: Mapping[str, Any]) -> bytes:
    """One JSON line."""
    return json.dumps(message).encode() + b"\n"
