"""Running a user's Python file: its folder is importable, and another folder's modules do not stand in for its own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_OURS = frozenset({"workloads", "tf_reference", "jaxport", "compare"})


def load_file(path: Path) -> ModuleType:
    """Run a file as a module. Its folder stays first on the path: functions may import when they are called.

    A `helper` that an earlier file imported from its own folder is forgotten, or this file would get that one.
    """
    folder = path.parent.resolve()
    for name in _user_modules():
        del sys.modules[name]
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry != str(folder))]
    _folders.add(folder)
    name = f"_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickling look a class's module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_folders: set[Path] = set()
"""Folders that files were loaded from: what was imported from there belongs to the user."""


def _user_modules() -> list[str]:
    tops = {name.partition(".")[0] for name in sys.modules} - _OURS
    mine = {top for top in tops if _folder_of(sys.modules.get(top)) in _folders}
    return [name for name in sys.modules if name.partition(".")[0] in mine]


def _folder_of(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    path = Path(file).resolve()
    return path.parent.parent if path.name == "__init__.py" else path.parent
