"""Arrays in safetensors files. Workers need this much: their interpreter may have nothing that only judges use."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes as ml_dtypes  # NumPy knows bfloat16 once it is imported
import numpy as np
from safetensors import safe_open


def load_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """All arrays of a safetensors file that jaxport itself wrote, and its metadata.

    Raises:
      SafetensorError, OSError: the file is broken or absent.
    """
    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
