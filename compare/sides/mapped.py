"""A workload's arrays on disk, mapped into every worker: one copy in memory, however many workers read it."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes as ml_dtypes  # NumPy knows these types once it is imported
import numpy as np

from compare.arrays import BYTES
from compare.writing import writing
from workloads.core.spec import Arrays

_NAMES = "names.json"
_PLAIN = {"bfloat16": np.uint16} | dict.fromkeys(BYTES, np.uint8)


def save(arrays: Arrays, folder: Path) -> None:
    """Write each array to a file of its own in a new folder.

    Raises:
      UnwrittenError: the disk is full, say.
    """
    with writing(folder):
        folder.mkdir()
        for number, array in enumerate(arrays.values()):
            # NumPy's files know no bfloat16 and no float8: they would give back bytes of nothing.
            plain = array.view(_PLAIN.get(array.dtype.name, array.dtype))
            np.save(folder / f"{number}.npy", plain, allow_pickle=False)
        (folder / _NAMES).write_text(json.dumps([(name, array.dtype.name) for name, array in arrays.items()]))


def load(folder: Path) -> dict[str, np.ndarray]:
    """The arrays, read-only, paged in when they are read."""
    arrays: dict[str, np.ndarray] = {}
    for number, (name, dtype) in enumerate(json.loads((folder / _NAMES).read_text())):
        array = np.asarray(np.load(folder / f"{number}.npy", mmap_mode="r", allow_pickle=False))
        arrays[name] = array.view(dtype) if dtype in _PLAIN else array
    return arrays
