"""A workload's arrays on disk, mapped into every worker: one copy in memory, however many workers read it."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np

from compare.writing import writing
from workloads._spec import Arrays

_NAMES = "names.json"


def save(arrays: Arrays, folder: Path) -> None:
    """Write each array to a file of its own in a new folder.

    Raises:
      UnwrittenError: the disk is full, say.
    """
    with writing(folder):
        folder.mkdir()
        for number, array in enumerate(arrays.values()):
            # NumPy's files know no bfloat16: they would give back two bytes of nothing.
            plain = array.view(np.uint16) if _is_bfloat16(array.dtype.name) else array
            np.save(folder / f"{number}.npy", plain, allow_pickle=False)
        (folder / _NAMES).write_text(json.dumps([(name, array.dtype.name) for name, array in arrays.items()]))


def load(folder: Path) -> dict[str, np.ndarray]:
    """The arrays, read-only, paged in when they are read."""
    arrays: dict[str, np.ndarray] = {}
    for number, (name, dtype) in enumerate(json.loads((folder / _NAMES).read_text())):
        array = np.asarray(np.load(folder / f"{number}.npy", mmap_mode="r", allow_pickle=False))
        arrays[name] = array.view(ml_dtypes.bfloat16) if _is_bfloat16(dtype) else array
    return arrays


def _is_bfloat16(dtype: str) -> bool:
    return dtype == "bfloat16"
