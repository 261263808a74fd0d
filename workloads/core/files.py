"""Running a user's Python file: its own folder is importable, behind what is installed, and no other folder of his."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from workloads.core import foreign
from workloads.core.errors import Foreseen

_OURS = frozenset({"workloads", "tf_reference", "jaxport", "compare"})


class PathError(Foreseen):
    """A path that no code can be run from: one line with what was expected, found, and what to do."""


def check_path(path: Path) -> None:
    """Let the path of code pass that both frameworks can read.

    JAX keeps the file name of every traced line as UTF-8, and fails with `std::bad_cast` where it is none; AutoGraph
    cannot write a module that names it.

    Raises:
      PathError: the absolute path is no UTF-8, and its bytes.
    """
    whole = str(path.absolute())
    try:
        whole.encode()
    except UnicodeEncodeError:
        raise PathError(
            f"expected code at a path in UTF-8, found the bytes {os.fsencode(whole)!r}, from which neither framework "
            "traces a function: rename the folder or the file"
        ) from None


def obstacle(path: Path) -> str:
    """The kind of thing that stands in the place of a file, or "nothing"; "" where a file is there."""
    try:
        foreign.regular(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return "nothing"
    except (OSError, ValueError, foreign.Unusable) as error:  # a ValueError of a null character
        return foreign.error_line(error)
    return ""


def load_file(path: Path) -> ModuleType:
    """Run a file as a module. Its folder stays on the path: functions may import when they are called.

    Raises:
      PathError: as `check_path`.
    """
    check_path(path)
    open_folder(path.parent.resolve())
    name = f"_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickling look a class's module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def open_folder(folder: Path) -> None:
    """Make a folder importable, and the one before no longer.

    It comes last: a `numpy.py` or `random.py` in it hides nothing that is installed. A `helper` that an earlier file
    imported from its own folder is forgotten, or the next file would get that one.
    """
    close_folder()
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        _open_folders.append(folder)


def close_folder() -> None:
    """Make a user's folder not importable any more, and forget the modules that were imported from it."""
    for name in _user_modules():
        del sys.modules[name]
    while _open_folders:
        # The last entry is the one that was opened: another of that name is the user's own wish.
        folder = str(_open_folders.pop())
        if folder in sys.path:
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder)]


_open_folders: list[Path] = []
"""The one folder that is open, unless the path had it before: that was the user's own wish."""


def _user_modules() -> list[str]:
    tops = {name.partition(".")[0] for name in sys.modules} - _OURS
    mine = {top for top in tops if _folder_of(sys.modules.get(top)) in _open_folders}
    return [name for name in sys.modules if name.partition(".")[0] in mine]


def _folder_of(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    path = Path(file).resolve()
    return path.parent.parent if path.name == "__init__.py" else path.parent
