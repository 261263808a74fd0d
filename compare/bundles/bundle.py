"""A bug report on disk: which file holds what, written by `jaxport bugreport`, read by `jaxport replay`."""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from compare import files
from compare.errors import RequestError
from compare.files import Json
from compare.hlo import standalone
from compare.hlo.bindings import UnreadableProgram
from compare.plain_json import to_json
from compare.record.vocabulary import CELLS
from compare.sides import wire
from compare.writing import write_atomically
from workloads.core.foreign import MEBIBYTE, Unusable, error_line, is_zip, unpack, zip_opened

SCHEMA = 1
INDEX = "bundle.json"
PROGRAM, OPTIMIZED = "program", "optimized"

MOST_UNPACKED_BYTES = 1 << 32
"""The largest unpacked size of a zip and of one file of arrays: a billion float32 numbers."""
MOST_MODULES = 16
"""Two programs and the four cells are six: the arrays of all are held at once."""
LEAST_UNPACKED_BYTES = 64 * MEBIBYTE
"""Up to this size a file is unpacked, however small it was packed."""
MOST_RATIO = 20
"""Beyond that: arrays shrink by a tenth and texts to a tenth, zeros to a thousandth."""
MOST_INDEX_BYTES = 32 * MEBIBYTE
"""The largest index: it holds names of arrays and source lines of operations, and no values."""
_HEAD_BYTES, _WIDEST_BYTES = 4096, 16
"""The largest header of one array in a file, and the size of a complex128 number."""

_UNPACK = "copy it again, or unpack it and name the folder"
_A_MODULE = files.Expected("a module or a bug report", "check the path", RequestError)
_AN_INDEX = files.Expected(f"{INDEX} of a bug report", "name a module, or what `jaxport bugreport` wrote", RequestError)
_IN_ZIP = files.Expected("a bug report", _UNPACK, RequestError)
_LISTED = files.Expected("a file that the bug report lists", "copy it whole", RequestError)
_ARRAYS = files.Expected("a safetensors file", "write it again", RequestError)

_TOP = re.compile(rf"(?:[^/]+/)?{re.escape(INDEX)}")
_ABSOLUTE = re.compile(r"(?<![\w.])/(?:[^\s/:'\",;]+/)+([^\s/:'\",;]*)")


class _Array(msgspec.Struct, frozen=True):
    """A parameter or a result as the index lists it; its size is unknown where it has no shape."""

    name: str
    shape: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] | None = None

    @property
    def size(self) -> int | None:
        """How many values it has, or None."""
        return None if self.shape is None else math.prod(self.shape)


class _Entry(msgspec.Struct, frozen=True):
    """A module as the index lists it; files by their place in the bundle."""

    name: str
    kind: Literal["program", "optimized"]
    file: str
    inputs: str
    outputs: Annotated[dict[str, str], msgspec.Meta(max_length=len(CELLS))]
    parameters: tuple[_Array, ...]
    results: tuple[_Array, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """All that a replay reads."""
        return self.file, self.inputs, *self.outputs.values()

    @property
    def declared_bytes(self) -> dict[str, int | None]:
        """The most that each file of arrays may hold, by its place; None where a shape is missing."""
        inputs, results = _most_bytes(self.parameters), _most_bytes(self.results)
        return {self.inputs: inputs, **dict.fromkeys(self.outputs.values(), results)}

    def __post_init__(self) -> None:
        """Refuse what does not lie in the bundle.

        Raises:
          ValueError: an absolute path, one that climbs, or none.
        """
        for name in self.files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts or not name.isprintable():
                raise ValueError(f"the path {name[:80]!r}, which does not lie inside the bug report")


def _most_bytes(arrays: Sequence[_Array]) -> int | None:
    sizes = [array.size for array in arrays]
    known_sizes = [size for size in sizes if size is not None]
    return (
        None
        if len(known_sizes) < len(sizes)
        else _HEAD_BYTES * (1 + len(known_sizes)) + _WIDEST_BYTES * sum(known_sizes)
    )


class _Schema(msgspec.Struct, frozen=True):
    schema: files.FormatNumber


class _Index(_Schema, frozen=True):
    modules: Annotated[tuple[_Entry, ...], msgspec.Meta(max_length=MOST_MODULES)]


@dataclass(frozen=True)
class Module:
    """One module that can be run on its own.

    `inputs` are its arguments by position, None where nothing was recorded; `recorded` holds its
    results by position, by the cell that gave them, the program's own compiler first.
    """

    name: str
    artifact: bytes
    parameters: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    inputs: Sequence[np.ndarray] | None = None
    recorded: Mapping[str, Sequence[np.ndarray]] = field(default_factory=dict)


def save_arrays(arrays: Sequence[np.ndarray], path: Path) -> None:
    """Write arrays of any shape and dtype by position, named "0", "1" and so on."""
    wire.save_arrays({str(position): array for position, array in enumerate(arrays)}, path)


def save_index(index: Json, folder: Path) -> None:
    """Write bundle.json, files without the folders that they lie in on this machine."""
    write_atomically(folder / INDEX, json.dumps(without_folders(to_json(index)), indent=1) + "\n")


def without_folders(value: Any) -> Any:
    """JSON data, or text, with each absolute path cut to its last part."""
    if isinstance(value, Mapping):
        return {key: without_folders(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_folders(item) for item in value]
    return _ABSOLUTE.sub(r"\1", value) if isinstance(value, str) else value


def modules(path: Path, scratch: Path) -> list[Module]:
    """The modules of a path: the programs of a bundle, or the one module of a file.

    A file inside a bundle comes with its recorded inputs and results.

    Args:
      path: a bundle (folder or zip), or a file of one module.

    Raises:
      RequestError: nothing is there, or it is no module and no bundle.
    """
    if is_zip(path):
        return _programs(_unpack(path, scratch))
    # Not Path's own: it raises where a name is too long.
    if os.path.isdir(path):
        return _programs(path)
    data = files.read(path, _A_MODULE, files.MOST_PROGRAM_BYTES)
    folder = path.resolve().parent.parent
    entries = _index(folder).modules if (folder / INDEX).is_file() else ()
    name = path.resolve().relative_to(folder).as_posix()
    entry = next((entry for entry in entries if entry.file == name), None)
    return [_module(folder, entry) if entry else Module(path.name, _artifact(data, path))]


def _most_unpacked(path: Path) -> int:
    """How many bytes a zip may hold: zeros beyond the ratio are a bomb."""
    return max(LEAST_UNPACKED_BYTES, min(MOST_UNPACKED_BYTES, MOST_RATIO * path.stat().st_size))


def _unpack(path: Path, scratch: Path) -> Path:
    """The folder of what a zip's index names; nothing else is unpacked."""
    folder = scratch / "bundle"
    try:
        with zip_opened(path) as archive:
            top = _only_index(archive.namelist())
            _extract(archive, top, folder / INDEX, MOST_INDEX_BYTES)
            entries = _index(folder).modules
            limits = {name: most for entry in entries for name, most in entry.declared_bytes.items()}
            rest = _most_unpacked(path)
            for name in sorted({name for entry in entries for name in entry.files}):
                most = limits.get(name)
                most = rest if most is None else min(rest, most)
                rest -= _extract(archive, top.removesuffix(INDEX) + name, folder / name, most)
    except (Unusable, OSError) as error:
        _IN_ZIP.refuse(path, error_line(error))
    return folder


def _only_index(names: Sequence[str]) -> str:
    """The place of a zip's index: at its top, or in the folder that was zipped by hand.

    Raises:
      Unusable: there are several, and which bug report is meant is unknown.
    """
    indexes = [name for name in names if _TOP.fullmatch(name)]
    if len(indexes) > 1:
        raise Unusable(f"a zip with {len(indexes)} indexes ({', '.join(name[:80] for name in indexes[:3])})")
    return indexes[0] if indexes else INDEX


def _extract(archive: zipfile.ZipFile, name: str, target: Path, most: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        unpack(archive, name, file, most)
        return file.tell()


def _programs(folder: Path) -> list[Module]:
    modules = [_module(folder, entry) for entry in _index(folder).modules if entry.kind == PROGRAM]
    if not modules:
        raise RequestError(f"expected a program in {folder}, found none: see its README for what failed")
    return modules


def _index(folder: Path) -> _Index:
    path = folder / INDEX
    plain = files.parse(files.read(path, _AN_INDEX, MOST_INDEX_BYTES), path, _AN_INDEX)
    schema = files.convert(plain, _Schema, path, _AN_INDEX).schema
    if schema > SCHEMA:
        raise RequestError(f"expected a bug report of schema {SCHEMA} or older, found {schema}: upgrade jaxport")
    return files.convert(plain, _Index, path, _AN_INDEX)


def _module(folder: Path, entry: _Entry) -> Module:
    file = _inside(folder, entry.file)
    return Module(
        name=entry.name,
        artifact=_artifact(files.read(file, _LISTED, files.MOST_PROGRAM_BYTES), file),
        parameters=tuple(parameter.name for parameter in entry.parameters),
        results=tuple(result.name for result in entry.results),
        inputs=load_arrays(_inside(folder, entry.inputs)),
        recorded={cell: load_arrays(_inside(folder, name)) for cell, name in entry.outputs.items()},
    )


def _inside(folder: Path, name: str) -> Path:
    """A file of a bundle; a link may not lead out of it."""
    path = folder / name
    # Not Path's own: before Python 3.13 it raises where links lead in a circle.
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        _LISTED.refuse(path, "a link out of the bug report")
    return path


def _artifact(data: bytes, path: Path) -> bytes:
    try:
        return standalone.artifact_of_file(data)
    except UnreadableProgram as error:
        raise RequestError(f"{error}, in {path}") from error


def load_arrays(path: Path, names: Sequence[str] = ()) -> list[np.ndarray]:
    """The arrays of a file by position, of any shape and dtype.

    Args:
      names: the names of the arrays in order, where they are not named "0", "1" and so on.

    Raises:
      RequestError: it is absent, broken, or names its arrays otherwise.
    """
    by_name, _ = files.read_arrays(path, _ARRAYS, MOST_UNPACKED_BYTES)
    order = list(names) if names and set(names) == set(by_name) else [str(position) for position in range(len(by_name))]
    if set(order) != set(by_name):
        raise RequestError(
            f"expected arrays named by position, 0 to {len(by_name) - 1}, in {path}, found "
            f"{', '.join(sorted(by_name))[:200]}: rename them"
        )
    return [by_name[name] for name in order]
