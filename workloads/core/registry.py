"""Workloads by name, by file and by entry point; nothing of a framework is imported here."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import importlib.metadata
import pkgutil
from pathlib import Path
from types import ModuleType

from workloads.core.errors import Foreseen, error_text
from workloads.core.files import PathError, check_path, load_file, obstacle
from workloads.core.spec import Workload

ENTRY_POINT_GROUP = "jaxport.workloads"

TOUR = ("add", "mnist_mlp", "running_example", "scale_and_add", "sum_of_products")
"""Small enough that all of them are judged and timed within minutes: what a newcomer is shown."""


class RegistryError(Foreseen):
    """A workload that cannot be loaded: one line with what was expected, found, and what to do."""


def names() -> list[str]:
    """The names of the workloads that need no file, built-in and of entry points, sorted."""
    return sorted({*built_in(), *_entry_points()})


def get(reference: str) -> Workload:
    """The workload of a name, or of a port file ("my_port.py").

    Raises:
      RegistryError: no such name (nearest ones offered), no such file, or a file that declares no workload.
    """
    if reference.endswith(".py"):
        return _from_file(Path(reference))
    if reference in built_in():
        return _find_declared(importlib.import_module(f"workloads.{reference}"), reference)
    points = _entry_points()
    if reference in points:
        try:
            workload = points[reference].load()
        except Exception as error:
            raise RegistryError(
                f"expected a Workload behind entry point {reference!r}, found an error: {error_text(error)}: "
                "fix its package"
            ) from error
        if isinstance(workload, Workload):
            return workload
        raise RegistryError(
            f"expected a Workload behind entry point {reference!r}, found {type(workload).__name__}: fix its package"
        )
    near = difflib.get_close_matches(reference, names(), n=3, cutoff=0.4)
    offer = f"did you mean {', '.join(near)}?" if near else f"known are {', '.join(names())}"
    raise RegistryError(f"expected the name of a workload or a port file, found {reference!r}: {offer}")


def built_in() -> list[str]:
    """The workloads of this package: the zoo."""
    package = importlib.import_module("workloads")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if _declares(module))


def _declares(module: pkgutil.ModuleInfo) -> bool:
    """Whether a module of this package declares a workload; machinery starts with an underscore."""
    return not module.ispkg and not module.name.startswith("_")


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}


def is_foreign(reference: str) -> bool:
    """Whether a reference names somebody else's code: a port file, or an entry point of another package."""
    return reference.endswith(".py") or (reference not in built_in() and reference in _entry_points())


def check_file(path: Path) -> None:
    """Raise RegistryError where there is no port file, or none that can be run where it is."""
    if instead := obstacle(path):
        raise RegistryError(f"expected a port file at {path}, found {instead}: check the path")
    try:
        check_path(path)
    except PathError as error:
        raise RegistryError(str(error)) from None


def _from_file(path: Path) -> Workload:
    check_file(path)
    try:
        module = load_file(path)
    except Exception as error:
        failure = f"an error while reading it: {error_text(error, path)}"
        raise RegistryError(f"expected a port file in {path}, found {failure}: correct it") from error
    workload = _find_declared(module, str(path))
    return workload if workload.folder else dataclasses.replace(workload, folder=path.parent.resolve())


def _find_declared(module: ModuleType, where: str) -> Workload:
    workloads = [value for value in vars(module).values() if isinstance(value, Workload)]
    if len(workloads) != 1:
        raise RegistryError(
            f"expected one Workload in {where}, found {len(workloads)}: declare it as `port = Workload(...)`"
        )
    return workloads[0]
