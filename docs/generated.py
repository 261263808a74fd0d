"""Pages that are made from code and data: written where they changed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from compare.writing import write_atomically


def write_folder(folder: Path, pages: Mapping[str, str]) -> None:
    """Make the pages of a folder these, and no others.

    Args:
      pages: texts by file name.
    """
    folder.mkdir(exist_ok=True)
    for path in set(folder.glob("*.md")) - {folder / name for name in pages}:
        path.unlink()
    write_pages(folder, pages)


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    """Write pages, texts by file name; one that is current stays, so that Sphinx does not read it again."""
    for name, text in pages.items():
        if not (folder / name).exists() or (folder / name).read_text() != text:
            write_atomically(folder / name, text)


def about(module: str) -> str:
    """The first line of a module's docstring."""
    return (importlib.import_module(module).__doc__ or "").strip().splitlines()[0]
