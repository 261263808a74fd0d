"""Resolves references of twins: "module:attribute", "file.py:attribute", or an object of this process."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from workloads.core.files import PathError, check_path, close_folder, load_file, obstacle, open_folder


class TargetError(Exception):
    """A reference that names nothing: one line with what was expected, found, and what to do."""


class WeightsError(TargetError):
    """A twin whose weights are not those of the workload: one line likewise."""


_OF_THIS_PROCESS = "object"
_objects: dict[str, Any] = {}
_numbers = itertools.count()


@contextmanager
def referring(target: Any) -> Iterator[str]:
    """A reference to an object of this process, which is valid inside the block."""
    number = str(next(_numbers))
    _objects[number] = target
    try:
        yield f"{_OF_THIS_PROCESS}:{number}"
    finally:
        del _objects[number]


def resolve(reference: str, anew: bool = False) -> Any:
    """The object that a reference names. A file is run every time, a module once, or again if `anew`.

    Raises:
      TargetError: no such file, module or attribute, or nothing that can be called.
    """
    where, _, attribute = reference.rpartition(":")
    if where == _OF_THIS_PROCESS and attribute in _objects:
        return _objects[attribute]
    if not where or not attribute:
        raise TargetError(f"expected FILE.py:FUNCTION or MODULE:FUNCTION, found {reference!r}: name the function too")
    module = _file(Path(where)) if where.endswith(".py") else _module(where)
    if anew and not where.endswith(".py"):
        module = importlib.reload(module)
    value = getattr(module, attribute, None)
    if callable(value):
        return value
    names = sorted(name for name, item in vars(module).items() if callable(item) and not name.startswith("_"))
    raise TargetError(
        f"expected a function {attribute!r} in {where}, found {', '.join(names) or 'no function at all'}: "
        "name one of those"
    )


def _module(name: str) -> ModuleType:
    """A module that is installed; else one of the current folder, which is opened as a file's own folder is."""
    close_folder()
    try:
        return _import(name)
    except TargetError:
        here, top = Path.cwd(), name.partition(".")[0]
        if not ((here / f"{top}.py").is_file() or (here / top).is_dir()):
            raise
        _check(here / top)
        open_folder(here)
        return _import(name)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # If a module exists and one of its own imports is missing, the reference is right and the module is not.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise TargetError(f"expected a module {name!r}, found none: check the name, or name a file") from error


def _file(path: Path) -> ModuleType:
    if instead := obstacle(path):
        raise TargetError(f"expected a Python file at {path}, found {instead}: check the path")
    _check(path)
    return load_file(path)


def _check(path: Path) -> None:
    try:
        check_path(path)
    except PathError as error:
        raise TargetError(str(error)) from None
