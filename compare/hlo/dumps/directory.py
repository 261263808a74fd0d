"""Lists a dump directory: modules with their files by kind, and files without a module."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compare import files
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.dumps import grammar
from compare.hlo.dumps.grammar import Key, Origin
from workloads.core.foreign import MEBIBYTE, Unusable, check, error_line

MOST_BYTES = 256 * MEBIBYTE
"""The largest unpacked file: dumps of the largest models of the zoo have a tenth of it, and text is read as lines."""

_TEXTS = (
    *(grammar.LLVM, grammar.MLIR, grammar.PTX, grammar.THUNKS, grammar.THUNK_NAMES),
    *(grammar.OPTIONS, grammar.INPUT),
)
"""Kinds that are read for what they say and no more: a module is read without the one that cannot be."""

_A_DUMP = files.Expected("a file that XLA dumped", "dump it again", UnreadableProgram)


@dataclass(frozen=True)
class DumpedFile:
    """One file: where it is, its size in bytes, its kind (one of grammar.KINDS) and what its name says of it."""

    path: Path
    bytes: int
    kind: str
    details: Mapping[str, str] = field(default_factory=dict)
    timestamp: str = ""
    unread: str = ""
    """Why it is not read, where it should be."""

    def text(self) -> str:
        """The whole text; U+FFFD for what is no UTF-8.

        Raises:
          UnreadableProgram: it cannot be read.
        """
        return files.read(self.path, _A_DUMP, MOST_BYTES).decode(errors="replace")

    def data(self) -> bytes:
        """The whole file, decompressed.

        Raises:
          UnreadableProgram: it cannot be read, its compression is broken, or it is longer than MOST_BYTES.
        """
        data = files.read(self.path, _A_DUMP, MOST_BYTES)
        if self.path.suffix != ".gz":
            return data
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                content = stream.read(MOST_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise UnreadableProgram(f"expected a gzip file, found {error}: dump it again") from error
        if len(content) > MOST_BYTES:
            raise UnreadableProgram(f"expected a gzip file of up to {MOST_BYTES} bytes, found more: dump it again")
        return content


@dataclass(frozen=True)
class DumpedModule:
    """One module that XLA compiled, by the number that it gave it; `files` by kind, sorted by name."""

    number: int
    name: str
    origin: Origin
    files: Mapping[str, tuple[DumpedFile, ...]]

    @property
    def function(self) -> str:
        """The compiled function: the user's function, the autocluster, or the module's own name."""
        if self.origin.cluster is not None:
            return f"cluster_{self.origin.cluster}"
        return self.origin.function or self.name

    def of(self, kind: str) -> tuple[DumpedFile, ...]:
        """Its files of one kind."""
        return self.files.get(kind, ())


@dataclass(frozen=True)
class Listing:
    """A whole directory. `unknown` are files and folders that belong to no module, with their bytes."""

    modules: tuple[DumpedModule, ...]
    unknown: tuple[tuple[Path, int], ...]


def modules(directory: Path) -> Sequence[DumpedModule]:
    """Every module that was dumped into the directory, by number.

    Raises:
      UnreadableProgram: it is not there, no directory, or holds no module.
    """
    return listing(directory).modules


def listing(directory: Path, besides: Path | None = None) -> Listing:
    """Modules and everything else; `besides` is left out.

    Raises:
      UnreadableProgram: it is not there, no directory, or holds no module.
    """
    top_entries = [entry for entry in _entries(directory) if besides is None or not files.is_same(entry, besides)]
    entries = [file for entry in top_entries for file in _expand(entry)]
    keys = grammar.find_modules(entry.name for entry in entries if not entry.is_dir())
    files_by_key: dict[Key, list[DumpedFile]] = {key: [] for key in keys}
    unknown: list[tuple[Path, int]] = []
    for entry in entries:
        member = _folder(entry, keys) if entry.is_dir() else _file(entry, keys)
        if member is None:
            unknown.append((entry, _size(entry)))
        else:
            files_by_key.setdefault(member[0], []).extend(member[1])
    if not files_by_key:
        raise UnreadableProgram(_refusal(directory, f"{len(unknown)} other files" if unknown else "nothing"))
    return Listing(tuple(_module(key, files_by_key[key]) for key in sorted(files_by_key)), tuple(unknown))


def _entries(directory: Path) -> list[Path]:
    if not os.path.isdir(directory):
        raise UnreadableProgram(_refusal(directory, "a file" if os.path.exists(directory) else "no such directory"))
    try:
        return sorted(directory.iterdir())
    except OSError as error:
        raise UnreadableProgram(_refusal(directory, error_line(error))) from error


def _expand(entry: Path) -> list[Path]:
    """The files of a module that has a folder of its name, as under --xla_dump_hlo_to_subfolder; else the entry."""
    if not entry.is_dir():
        return [entry]
    inside = sorted(file for file in entry.rglob("*") if not file.is_dir())
    names = {name for _, name in grammar.find_modules(file.name for file in inside)}
    return [file for file in inside if grammar.parse(file.name)] if entry.name in names else [entry]


def _refusal(directory: Path, problem: str) -> str:
    return f"expected modules dumped by XLA in {directory}, found {problem}: set XLA_FLAGS=--xla_dump_to={directory}"


def _file(path: Path, keys: frozenset[Key]) -> tuple[Key, list[DumpedFile]] | None:
    name = grammar.parse(path.name, keys)
    if name is None:
        return None
    return (name.number, name.name), [_describe_file(path, name.kind, name.details, name.timestamp)]


def _folder(path: Path, keys: frozenset[Key]) -> tuple[Key, list[DumpedFile]] | None:
    key = grammar.parse_folder(path.name, keys)
    if key is None:
        return None
    inside = sorted(file for file in path.rglob("*") if not file.is_dir())
    return key, [_describe_file(file, grammar.INPUT) for file in inside]


def _describe_file(path: Path, kind: str, details: Mapping[str, str] | None = None, timestamp: str = "") -> DumpedFile:
    try:
        if kind in _TEXTS:
            check(path, MOST_BYTES)
    except Unusable as error:
        return DumpedFile(path, _size(path), grammar.OTHER, details or {}, timestamp, str(error))
    return DumpedFile(path, _size(path), kind, details or {}, timestamp)


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(_size(file) for file in path.rglob("*") if not file.is_dir())
    # Not its target's: a link may lead nowhere.
    return path.lstat().st_size


def _module(key: Key, files: list[DumpedFile]) -> DumpedModule:
    number, name = key
    kinds = [kind for kind in grammar.KINDS if any(file.kind == kind for file in files)]
    by_kind = {kind: tuple(file for file in files if file.kind == kind) for kind in kinds}
    return DumpedModule(number, name, grammar.origin(name), by_kind)
