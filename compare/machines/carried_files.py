"""Packs the files of a task for other machines: port files with their folders, and data. No file system is shared."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from compare.errors import RequestError
from workloads.core.foreign import MEBIBYTE

MOST_BYTES = 512 * MEBIBYTE
MOST_FILES = 10_000
_LEFT_OUT = "__pycache__"
_ENVIRONMENT = "pyvenv.cfg"
"""The file that marks a folder as a virtual environment."""


class Carried:
    """Files by the name that they have in the working folder of a task."""

    def __init__(self, without: Path) -> None:
        self._without = without.resolve()
        self._folders: dict[Path, str] = {}
        self._files: dict[str, Path] = {}

    def port(self, file: Path) -> str:
        """A port file with all of its folder: what it imports and reads lies there. Its path on a node.

        Raises:
          RequestError: the folder holds too much.
        """
        return f"{self.folder(file.parent)}/{file.name}"

    def folder(self, folder: Path) -> str:
        """All files below a folder, but hidden ones, caches, environments and results. Its path on a node.

        Raises:
          RequestError: it holds too much.
        """
        folder = folder.resolve()
        if folder not in self._folders:
            name = self._folders[folder] = str(len(self._folders))
            self._files |= {f"{name}/{path.relative_to(folder)}": path for path in self._below(folder)}
        return self._folders[folder]

    def file(self, path: Path) -> str:
        """One file. Its path on a node."""
        name = f"data/{len(self._files)}/{path.name}"
        self._files[name] = path
        return name

    def pack(self) -> bytes:
        """A zip of all, the same for the same files.

        Raises:
          RequestError: they are too large.
        """
        self._check(sum(path.stat().st_size for path in self._files.values()), "the files")
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, path in sorted(self._files.items()):
                archive.writestr(zipfile.ZipInfo(name), path.read_bytes())
        return buffer.getvalue()

    def _below(self, folder: Path) -> Iterator[Path]:
        count = size = 0
        for place, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if self._is_wanted(Path(place, name)))
            for path in (Path(place, name) for name in sorted(files) if not name.startswith(".")):
                if not path.is_file():
                    continue
                if not _encodes(path.name):
                    self._refuse("names in UTF-8", repr(path.name), str(folder))
                count, size = count + 1, size + path.stat().st_size
                if count > MOST_FILES:
                    self._refuse(f"at most {MOST_FILES:,} files", "more", str(folder))
                self._check(size, str(folder))
                yield path

    def _is_wanted(self, folder: Path) -> bool:
        hidden = folder.name.startswith(".") or folder.name == _LEFT_OUT
        return not hidden and folder.resolve() != self._without and not (folder / _ENVIRONMENT).exists()

    def _check(self, size: int, what: str) -> None:
        if size > MOST_BYTES:
            self._refuse(f"at most {MOST_BYTES // MEBIBYTE} MiB", f"{size // MEBIBYTE} MiB and more", what)

    def _refuse(self, expected: str, actual: str, what: str) -> None:
        raise RequestError(
            f"expected {expected} in {what}, which travel with --ray, found {actual}: put the port file into a folder "
            "of its own"
        )


def _encodes(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
