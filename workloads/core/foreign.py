"""Files that others made, opened so that none can block, fill memory or lead elsewhere: bytes, zips, .npz arrays."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np

MEBIBYTE = 1 << 20

MOST_DIRECTORY_BYTES = 8 * MEBIBYTE
"""The largest list of files in a zip, about 100,000 names: it is read before the first file."""

_CHUNK = MEBIBYTE
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device", stat.S_IFLNK: "a link",
}  # fmt: skip
_BROKEN_ZIP = (
    *(zipfile.BadZipFile, zlib.error, OSError, ValueError, struct.error, EOFError),
    *(RuntimeError, NotImplementedError, IndexError, OverflowError),
)
"""The errors that zipfile raises for damaged, encrypted or unknown data."""
_BROKEN_HEAD = (ValueError, TypeError, SyntaxError, TokenError, OverflowError, RecursionError, MemoryError)
"""The errors that NumPy raises for a damaged header of an array, which it reads as a Python literal."""
_END, _END_BYTES, _LONGEST_COMMENT = b"PK\x05\x06", 22, 1 << 16
_END_64, _LOCATOR_64, _END_64_BYTES = b"PK\x06\x06", b"PK\x06\x07", 56
"""The end of a zip above 2 GiB, and its locator, the 20 bytes behind it."""


class Unusable(Exception):
    """A file that cannot be used. The message says what was found in place of what was expected."""


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """A regular file, open for reading. What is none is never opened: a pipe would block, a device may act.

    Raises:
      Unusable: there is none, or it may not be read.
    """
    try:
        regular(os.stat(path).st_mode)
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise Unusable(error_line(error)) from error
    except ValueError as error:
        raise Unusable("a path with a null character") from error
    with file:
        regular(os.fstat(file.fileno()).st_mode)
        yield file


def regular(mode: int) -> None:
    """Let a regular file pass, by its mode.

    Raises:
      Unusable: it is something else, and what.
    """
    if not stat.S_ISREG(mode):
        raise Unusable(_KINDS.get(stat.S_IFMT(mode), "no regular file"))


def read(path: Path, most: int) -> bytes:
    """All bytes of a regular file, up to so many.

    Raises:
      Unusable: there is none, it may not be read, or it is longer.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        _within(size, most)
        try:
            # No more than it says: some files of /proc have no end.
            return file.read(size)
        except OSError as error:
            raise Unusable(error_line(error)) from error


def check(path: Path, most: int) -> None:
    """Let a regular file of up to so many bytes pass, for a library that opens it itself.

    Raises:
      Unusable: as `read`.
    """
    with open_regular(path) as file:
        _within(os.fstat(file.fileno()).st_size, most)


def is_deeper(value: Any, most: int) -> bool:
    """Whether mappings and lists are nested more than so many levels deep."""
    level = [value]
    for _ in range(most):
        inner = [list(item.values()) if isinstance(item, Mapping) else item for item in level]
        level = [item for items in inner if isinstance(items, list) for item in items]
    return any(isinstance(item, Mapping | list) for item in level)


def error_line(error: Exception) -> str:
    """The first line of what an error says, without the path that it names."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def is_zip(path: Path) -> bool:
    """Whether a regular file is a zip. False for everything else."""
    try:
        with open_regular(path) as file:
            return zipfile.is_zipfile(file)
    except (Unusable, *_BROKEN_ZIP):
        return False


@contextmanager
def zip_opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip, its list of files read.

    Raises:
      Unusable: it is none, its list is longer than MOST_DIRECTORY_BYTES, or it holds two files of one name.
    """
    with open_regular(path) as file:
        try:
            _check_directory(file)
            archive = zipfile.ZipFile(file)
        except _BROKEN_ZIP as error:
            raise Unusable(f"a broken zip ({error_line(error)})") from error
        with archive:
            _check_names(archive.namelist())
            yield archive


def member_bytes(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """One file of a zip, unpacked; never more than so many bytes, whatever its head says.

    Args:
      name: of the file in it.
      most: bytes that are read at most.

    Raises:
      Unusable: it is not there, longer, encrypted, broken, or no regular file.
    """
    target = io.BytesIO()
    unpack(archive, name, target, most)
    return target.getvalue()


def unpack(archive: zipfile.ZipFile, name: str, target: BinaryIO, most: int) -> None:
    """Write one file of a zip, unpacked, to a file.

    Args:
      name: of the file in it.
      most: bytes that are read at most.

    Raises:
      Unusable: as `member_bytes`.
    """
    try:
        member = archive.getinfo(name)
    except KeyError as error:
        raise Unusable(f"a zip without {name!r}") from error
    if stat.S_IFMT(member.external_attr >> 16):
        regular(member.external_attr >> 16)
    # Other methods want as much memory for a few bytes as their head says.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Unusable(f"compression method {member.compress_type} of {name!r} in the zip")
    _within(member.file_size, most, f"{name!r} in the zip of ")
    byte_count = 0
    try:
        with archive.open(member) as source:
            # In pieces: at once, a few packed bytes would be unpacked whole before they are counted.
            while piece := source.read(_CHUNK):
                byte_count += len(piece)
                _within(byte_count, most, f"{name!r} in the zip of at least ")
                target.write(piece)
    except _BROKEN_ZIP as error:
        raise Unusable(f"a broken zip ({error_line(error)})") from error


def npz(path: Path, names: Sequence[str], most: int) -> Mapping[str, np.ndarray]:
    """Arrays of an .npz by name, never pickled ones, each up to so many bytes.

    Args:
      names: arrays that must be there.
      most: bytes of each array at most.

    Raises:
      Unusable: no .npz, an array is missing, too large, of objects, or not as long as its head says.
    """
    with zip_opened(path) as archive:
        present = [member.removesuffix(".npy") for member in archive.namelist()]
        missing = [name for name in names if name not in present]
        if missing:
            raise Unusable(f"the arrays {_list_names(present)}")
        return {name: _npy(name, member_bytes(archive, f"{name}.npy", most)) for name in names}


def _check_names(names: Sequence[str]) -> None:
    """Refuse a zip with two files of one name: programs disagree about which of them it holds."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise Unusable(f"a zip with two files named {twice[:80]!r}")


def _list_names(names: Sequence[str], most: int = 8) -> str:
    return f"{sorted(names)[:most]}"[:500] + f" and {len(names) - most} more" * (len(names) > most)


def _npy(name: str, data: bytes) -> np.ndarray:
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = head(file)
        if dtype.hasobject:
            raise Unusable(f"objects in {name!r}")
        if min(shape, default=0) < 0:
            raise Unusable(f"a broken array {name!r} (of shape {shape})")
        # Before it is made: NumPy allocates whatever the head says.
        array = np.frombuffer(data, dtype, offset=file.tell()).reshape(shape, order="F" if by_column else "C")
    except _BROKEN_HEAD as error:
        raise Unusable(f"a broken array {name!r} ({error_line(error)})") from error
    return array


def _within(size: int, most: int, what: str = "") -> None:
    if size > most:
        unit, of = ("MiB", MEBIBYTE) if most >= MEBIBYTE else ("bytes", 1)
        raise Unusable(f"{what}{size / of:,.0f} {unit}, more than {most / of:,.0f}")


def _check_directory(file: BinaryIO) -> None:
    """Refuse a long list of files before it is read. The end of a zip says how long it is."""
    size = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT))
    tail = file.read()
    position = tail.rfind(_END)
    if position < 0 or len(tail) - position < _END_BYTES:
        raise zipfile.BadZipFile("its end is missing")
    (directory,) = struct.unpack_from("<L", tail, position + 12)
    file.seek(max(0, start + position - 20 - _END_64_BYTES))
    end_64 = file.read(min(start + position, 20 + _END_64_BYTES))
    if end_64[-20:].startswith(_LOCATOR_64):
        if not end_64[:-20].startswith(_END_64):
            raise zipfile.BadZipFile("the end of its zip64 is missing")
        (directory,) = struct.unpack_from("<Q", end_64, 40)
    _within(directory, MOST_DIRECTORY_BYTES, "a zip whose list of files has ")
    file.seek(0)
