"""Arrays in safetensors files. Workers need this much: their interpreter may have nothing that only judges use."""

from __future__ import annotations

from pathlib import Path

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
        found = dict(_whole(name, file.get_tensor(name)) for name in file.keys())  # noqa: SIM118
        return found, file.metadata() or {}


def _whole(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    plain, _, kept = name.rpartition("#")
    if kept in BYTES and array.dtype == np.uint8:
        return plain, array.view(kept)
    if not name.endswith(PARTS) or array.dtype != np.float64 or array.shape[-1:] != (2,):
        return name, array
    return name.removesuffix(PARTS), np.asarray(array.view(np.complex128)[..., 0])
