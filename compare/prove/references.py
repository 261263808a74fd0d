"""Programs named on the command line by a file or a dump directory."""

from __future__ import annotations

import os
from pathlib import Path

from compare import files
from compare.errors import RequestError
from compare.hlo.artifacts import hlo_of_file
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import DumpedModule, modules, stage_bytes
from compare.hlo.levels import Subject

_A_PROGRAM = files.Expected("a program or a dump directory", "check the path", RequestError)
_STAGE = "before_optimizations"


def read_reference(reference: str) -> Subject:
    """The program that a path names: a file, DIR, or DIR:MODULE.

    Raises:
      RequestError: nothing is there, it cannot be read, or it holds several modules and none was chosen.
    """
    path, module_name = Path(reference), ""
    if not os.path.lexists(path) and ":" in reference:
        folder, _, module_name = reference.rpartition(":")
        path = Path(folder)
    try:
        if os.path.isdir(path):
            return _read_dump(path, module_name)
        if os.path.lexists(path) and not module_name:
            return Subject(path.name, hlo_of_file(files.read(path, _A_PROGRAM, files.MOST_PROGRAM_BYTES)))
    except UnreadableProgram as error:
        raise RequestError(f"{error}, in {reference}") from error
    raise RequestError(
        f"expected WORKLOAD:tf, WORKLOAD:jax, a file or a dump directory, found {reference!r}: check the name"
    )


def _read_dump(folder: Path, module_name: str) -> Subject:
    dump = modules(folder)
    matches = [
        module
        for module in dump
        if not module_name or module_name in (module.name, module.function, str(module.number))
    ]
    if len(matches) != 1:
        names = ", ".join(module.function or module.name for module in dump) or "none"
        raise RequestError(f"expected one module of {folder}, found {len(matches)} of {names}: write {folder}:MODULE")
    (module,) = matches
    data, unknown = stage_bytes(module, _STAGE)
    return Subject(_label(module), data, unknown=unknown)


def _label(module: DumpedModule) -> str:
    return module.function or module.name
