"""Finds the profile in a folder: the newest that was recorded there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compare import xspace
from compare.errors import RequestError

_HOW = "record one by jax.profiler.trace(DIR) or tf.profiler.experimental.start(DIR)"


@dataclass(frozen=True)
class Recorded:
    """The files of one profile, one a host, and how many older ones lie in the same folder."""

    files: tuple[Path, ...]
    older: int = 0


def find(path: Path) -> Recorded:
    """The profile at a path: a file of any name, or the newest below a folder.

    Raises:
      RequestError: there is none.
    """
    if not os.path.lexists(path):
        raise RequestError(f"expected a profile at {path}, found no such file: {_HOW}")
    if not path.is_dir():
        return Recorded((path,))
    folders: dict[Path, list[Path]] = {}
    for file in sorted(_below(path)):
        folders.setdefault(file.parent, []).append(file)
    if not folders:
        raise RequestError(f"expected a file *{xspace.SUFFIX} in {path}, found none: {_HOW}")
    newest = max(folders, key=lambda folder: (max(file.lstat().st_mtime_ns for file in folders[folder]), folder))
    return Recorded(tuple(folders[newest]), len(folders) - 1)


def _below(folder: Path) -> Sequence[Path]:
    try:
        return [file for file in folder.rglob(f"*{xspace.SUFFIX}") if not file.is_dir()]
    except OSError as error:
        raise RequestError(f"expected a folder of profiles at {folder}, found {error.strerror}: name a file") from error
