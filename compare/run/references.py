"""Programs named on the command line by a file or a dump directory."""

from __future__ import annotations

from pathlib import Path

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import DumpedModule, modules, stage_bytes
from compare.hlo.files import hlo_of_file
from compare.hlo.levels import Subject
from compare.run.inputs import RequestError

_STAGE = "before_optimizations"


def read_reference(reference: str) -> Subject:
    """The program that a path names: a file, DIR, or DIR:MODULE.

    Raises:
      RequestError: nothing is there, it cannot be read, or it holds several modules and none was chosen.
    """
    path, wanted = Path(reference), ""
    if not path.exists() and ":" in reference:
        folder, _, wanted = reference.rpartition(":")
        path = Path(folder)
    try:
        if path.is_file() and not wanted:
            return Subject(path.name, hlo_of_file(path.read_bytes()))
        if path.is_dir():
            return _dumped(path, wanted)
    except UnreadableProgram as error:
        raise RequestError(f"{error}, in {reference}") from error
    raise RequestError(
        f"expected WORKLOAD:tf, WORKLOAD:jax, a file or a dump directory, found {reference!r}: check the name"
    )


def _dumped(folder: Path, wanted: str) -> Subject:
    found = modules(folder)
    named = [module for module in found if not wanted or wanted in (module.name, module.function, str(module.number))]
    if len(named) != 1:
        offered = ", ".join(module.function or module.name for module in found) or "none"
        raise RequestError(f"expected one module of {folder}, found {len(named)} of {offered}: write {folder}:MODULE")
    (module,) = named
    data, unknown = stage_bytes(module, _STAGE)
    return Subject(_label(module), data, unknown=unknown)


def _label(module: DumpedModule) -> str:
    return module.function or module.name
