"""Workloads by name, by file and by entry point; nothing of a framework is imported here."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import importlib.metadata
import importlib.util
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

from workloads._spec import Workload

ENTRY_POINT_GROUP = "jaxport.workloads"


class RegistryError(Exception):
    """A workload that cannot be had: one line with what was expected, found, and what to do."""


def names() -> list[str]:
    """Every workload that can be asked for by name: the built-in ones, then the entry points."""
    return sorted(_built_in() | set(_entry_points()))


def get(reference: str) -> Workload:
    """The workload of a name, or of a port file ("my_port.py").

    Raises:
      RegistryError: no such name (nearest ones offered), no such file, or a file that declares no workload.
    """
    if reference.endswith(".py"):
        return _from_file(Path(reference))
    if reference in _built_in():
        return _declared(importlib.import_module(f"workloads.{reference}"), reference)
    points = _entry_points()
    if reference in points:
        workload = points[reference].load()
        if isinstance(workload, Workload):
            return workload
        raise RegistryError(
            f"expected a Workload behind entry point {reference!r}, found {type(workload).__name__}: fix its package"
        )
    near = difflib.get_close_matches(reference, names(), n=3, cutoff=0.4)
    offer = f"did you mean {', '.join(near)}?" if near else f"known are {', '.join(names())}"
    raise RegistryError(f"expected the name of a workload or a port file, found {reference!r}: {offer}")


def _built_in() -> set[str]:
    package = importlib.import_module("workloads")
    return {module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")}


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}


def _from_file(path: Path) -> Workload:
    if not path.is_file():
        raise RegistryError(f"expected a port file at {path}, found nothing: check the path")
    spec = importlib.util.spec_from_file_location(f"_port_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise RegistryError(f"expected a port file in {path}, found an error while reading it: {error!r}") from error
    finally:
        sys.path.remove(str(path.parent.resolve()))
    workload = _declared(module, str(path))
    return workload if workload.folder else _placed(workload, path.parent.resolve())


def _placed(workload: Workload, folder: Path) -> Workload:

    return dataclasses.replace(workload, folder=folder)


def _declared(module: ModuleType, where: str) -> Workload:
    declared = [value for value in vars(module).values() if isinstance(value, Workload)]
    if len(declared) != 1:
        raise RegistryError(
            f"expected one Workload in {where}, found {len(declared)}: declare it as `port = Workload(...)`"
        )
    return declared[0]
