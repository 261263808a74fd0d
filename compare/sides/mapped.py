"""A workload's arrays on disk, mapped into every worker: one copy in memory, however many workers read it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from compare.records import writing
from workloads._spec import Arrays

_NAMES = "names.json"


def save(arrays: Arrays, folder: Path) -> None:
    """Write each array to a file of its own in a new folder."""
    with writing(folder):
        folder.mkdir()
        for number, array in enumerate(arrays.values()):
            np.save(folder / f"{number}.npy", array, allow_pickle=False)
        (folder / _NAMES).write_text(json.dumps(list(arrays)))


def load(folder: Path) -> dict[str, np.ndarray]:
    """The arrays, read-only, paged in when they are read."""
    names = json.loads((folder / _NAMES).read_text())
    return {
        name: np.asarray(np.load(folder / f"{number}.npy", mmap_mode="r", allow_pickle=False))
        for number, name in enumerate(names)
    }
