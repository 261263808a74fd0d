"""Paths that an agent names: within one folder, whatever they are called, or nothing is read or written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compare.errors import RequestError


@dataclass(frozen=True)
class Root:
    """The folder in which an agent works.

    Attributes:
      folder: it is there, and absolute.
    """

    folder: Path

    def path(self, name: str) -> Path:
        """A file or folder in it, which need not be there.

        Args:
          name: relative to the folder, or absolute.

        Raises:
          RequestError: it lies elsewhere, or a link leads elsewhere.
        """
        if not name or "\0" in name:
            raise RequestError(f"expected a path within {self.folder}, found {name!r}: name a file there")
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise RequestError(f"expected a path within {self.folder}, found {name}: name a file there")
        return path

    def reference(self, name: str) -> str:
        """FILE.py:NAME of a function in it.

        Raises:
          RequestError: it is no such name, or as of `path`.
        """
        where, _, function = name.rpartition(":")
        if not where.endswith(".py") or not function.isidentifier():
            raise RequestError(f"expected FILE.py:NAME, found {name!r}: name the file and the function")
        return f"{self.path(where)}:{function}"

    def target(self, name: str) -> str:
        """A file or folder in it, or FILE.py:NAME of a function in it.

        Raises:
          RequestError: as of `path`.
        """
        return self.reference(name) if ".py:" in name else str(self.path(name))

    def shorten_paths(self, text: str) -> str:
        """A text in which the paths in it are relative."""
        return text.replace(f"{self.folder.resolve()}/", "").replace(f"{self.folder}/", "")
