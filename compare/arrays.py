"""Arrays in safetensors files. Workers need this much: their interpreter may have nothing that only judges use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes as ml_dtypes  # NumPy knows bfloat16, float8 and int4 once it is imported
import numpy as np
from safetensors import safe_open

PARTS = "#complex128"
"""Ends the name of what safetensors has no type for: real and imaginary parts, along one axis more."""

BYTES = ("float8_e4m3fn", "float8_e5m2", "int4", "uint4")
"""Types of a byte that safetensors does not read as NumPy arrays: bytes, under a name that ends with "#TYPE"."""


def load_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """All arrays, of any shape, of a safetensors file that jaxport itself wrote, and its metadata.

    Raises:
      SafetensorError, OSError: the file is broken or absent.
    """
    with safe_open(path, "numpy") as file:
        arrays = dict(_whole(name, file.get_tensor(name)) for name in file.keys())  # noqa: SIM118
        return arrays, file.metadata() or {}


_TYPES = {
    **{"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "C64": np.complex64},
    **{"I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8, "BOOL": np.bool_},
    **{"U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8},
}
"""NumPy's types by the names that safetensors has for them."""


def map_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a safetensors file that jaxport itself wrote, as memory maps.

    They remain valid when the file is removed. Writes to them do not reach the file.

    Raises:
      SafetensorError, OSError: the file is broken or absent.
    """
    # safe_open holds the header against the file: each place lies in it, and is as long as its array.
    with safe_open(path, "numpy"), path.open("rb") as header:
        length = int.from_bytes(header.read(8), "little")
        places = json.loads(header.read(length))
    data = np.memmap(path, np.uint8, "c", offset=8 + length).view(np.ndarray)
    return dict(_whole(name, _array_of(data, place)) for name, place in places.items() if name != "__metadata__")


def _array_of(data: np.ndarray, place: dict[str, Any]) -> np.ndarray:
    start, end = place["data_offsets"]
    return data[start:end].view(_TYPES[place["dtype"]]).reshape(place["shape"])


def _whole(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    plain, _, dtype = name.rpartition("#")
    if dtype in BYTES and array.dtype == np.uint8:
        return plain, array.view(dtype)
    if not name.endswith(PARTS) or array.dtype != np.float64 or array.shape[-1:] != (2,):
        return name, array
    return name.removesuffix(PARTS), np.asarray(array.view(np.complex128)[..., 0])
