"""Files from elsewhere as data of declared types: one reader, one error, one line that says what is wrong and where."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn, TypeVar

import msgspec
import numpy as np
from safetensors import SafetensorError

from compare.arrays import load_arrays
from compare.errors import Foreseen
from workloads.core import foreign
from workloads.core.foreign import MEBIBYTE, Unusable

Json = Mapping[str, Any]
"""An object of a JSON file that we write and no struct declares, such as hlo.json, a bundle\'s index or a dump."""

MOST_JSON_BYTES = 512 * MEBIBYTE
"""Largest JSON file: a record holds both programs as text. As Python's own lists it may take thirty times that."""

MOST_PROGRAM_BYTES = 1 << 31
"""Largest program: no protocol buffer is longer, and XLA takes programs as such."""

MOST_NESTING = 64
"""Deepest JSON: a record has ten levels. Python's own parser, and every page, calls itself once a level."""

MOST_DIGITS = 20
"""Longest integer: 64 bits have no more, and the next float is reached at 309."""

MOST_HEAD_BYTES = 100 * MEBIBYTE
"""Longest head of a safetensors file: safetensors reads no longer one."""

FormatNumber = Annotated[int, msgspec.Meta(ge=1)]
"""The version of a file format: an integer from 1."""

_LENGTH_BYTES = 8
_Declared = TypeVar("_Declared")
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_UNFIT = re.compile(r"Expected (.+), got (.+)", re.DOTALL)
_ONE_AT_A_TIME = threading.Lock()
_ANY = "[...]"
_STEP = re.compile(r"\[\.\.\.\]|\[\d+\]|\.\w+")


class FileError(Foreseen):
    """A file that cannot be used: one line with what was expected, found, and what to do."""


@dataclass(frozen=True)
class Expected:
    """The expected kind of file, and what to do otherwise; `error` is raised then."""

    what: str
    advice: str
    error: Callable[[str], Exception] = FileError

    def refuse(self, path: Path, problem: object) -> NoReturn:
        """Raise the one line.

        Raises:
          Exception: `error`, always.
        """
        line = " ".join(f"expected {self.what} at {path}, found {problem}: {self.advice}".split())
        # A name from a file may steer a terminal, or be what no terminal can be sent.
        raise self.error("".join(character if character.isprintable() else "\ufffd" for character in line))


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths, which need not be there, lead to one place."""
    # Not Path.resolve: before Python 3.13 it raises where links lead in a circle.
    return os.path.realpath(one) == os.path.realpath(other)


def read(path: Path, expected: Expected, most: int) -> bytes:
    """All bytes of a file.

    Args:
      expected: what it should be, and what to do where it is not.
      most: bytes that the file may have.

    Raises:
      FileError: it is not there, no regular file, unreadable or longer than `most`.
    """
    try:
        return foreign.read(path, most)
    except Unusable as error:
        expected.refuse(path, error)


def read_json(path: Path, expected: Expected) -> Any:
    """Plain data of a JSON file.

    Args:
      expected: what it should be, and what to do where it is not.

    Raises:
      FileError: as `read` and `parse`.
    """
    return parse(read(path, expected, MOST_JSON_BYTES), path, expected)


def parse(data: bytes | str, path: Path, expected: Expected) -> Any:
    """Plain data of JSON.

    Args:
      data: the JSON, as text or as UTF-8.
      expected: what it should be, and what to do where it is not.

    Raises:
      FileError: it is no JSON, nested too deeply, names a key twice, or has a number that is not finite or too long.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        _check_nesting(text)
        # Not msgspec's own parser: it takes a key twice, and refuses the lone surrogates that frameworks print.
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite, parse_int=_short
        )
    except UnicodeDecodeError as error:
        expected.refuse(path, f"invalid UTF-8 at byte {error.start}")
    except (ValueError, RecursionError) as error:
        expected.refuse(path, f"invalid JSON ({error})")


def convert(plain: Any, kind: type[_Declared], path: Path, expected: Expected, within: str = "") -> _Declared:
    """Plain data as the declared type.

    Data that is refused cannot be used any more: it is cut down to find the place.

    Args:
      plain: the data, as `parse` returns it.
      expected: what it should be, and what to do where it is not.
      within: the part of the file that it is, for the error.

    Raises:
      FileError: it is not of that type; the line names the place.
    """
    try:
        return convert_plain(plain, kind)
    except UnicodeEncodeError:
        expected.refuse(path, "a name with half of a surrogate pair")
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `")
        unfit = _UNFIT.fullmatch(message)
        problem = f"{unfit[2]} where {unfit[1]} is expected" if unfit else message[:1].lower() + message[1:]
        where = [f"at {_spell_place(plain, kind, place)}"] * bool(place) + [within] * bool(within)
        expected.refuse(path, ", ".join([problem, " ".join(where)][: 1 + bool(where)]))


def convert_plain(plain: Any, kind: type[_Declared]) -> _Declared:
    """Plain data as the declared type; a path is a string in it.

    Raises:
      msgspec.ValidationError: it is not of that type.
    """
    # Both sides are read at once, and msgspec works a type out when it first meets it: two threads that do so at the
    # same time end the process.
    with _ONE_AT_A_TIME:
        return msgspec.convert(plain, kind, dec_hook=lambda type_, value: type_(value))


def _spell_place(plain: Any, kind: type[Any], place: str) -> str:
    """The place with the keys that msgspec leaves out: it says `$.workloads[...].size`."""
    path, content = "$", plain
    for step in _STEP.findall(place):
        if step == _ANY:
            key = _culprit(plain, content, kind)
            step = f"[{key[:80]!r}]"
        else:
            key = int(step[1:-1]) if step[0] == "[" else step[1:]
        path, content = path + step, content[key]
    return path


def _culprit(plain: Any, mapping: dict[str, Any], kind: type[Any]) -> str:
    """The key of a mapping within the data whose value is not of its type, by halving the mapping."""
    items = list(mapping.items())
    while len(items) > 1:
        half = items[: len(items) // 2]
        mapping.clear()
        mapping.update(half)
        items = items[len(half) :] if _fits(plain, kind) else half
    mapping.clear()
    mapping.update(items)
    return items[0][0]


def _fits(plain: Any, kind: type[Any]) -> bool:
    try:
        convert_plain(plain, kind)
    except msgspec.ValidationError:
        return False
    return True


def read_arrays(path: Path, expected: Expected, most: int) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """All arrays of a safetensors file, of any shape, and its metadata.

    Args:
      expected: what it should be, and what to do where it is not.
      most: bytes that the file may have.

    Raises:
      FileError: it cannot be read, is no safetensors file, or holds arrays of a dtype that NumPy has not.
    """
    try:
        with foreign.open_regular(path) as file:
            _check_head(file)
        foreign.check(path, most)
        return load_arrays(path)
    except (Unusable, OSError, SafetensorError, AttributeError, TypeError, ValueError) as error:
        expected.refuse(path, foreign.error_line(error))


def _check_head(file: BinaryIO) -> None:
    """Refuse a safetensors file whose head names a key twice: safetensors reads the last one and says nothing."""
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if length <= MOST_HEAD_BYTES:
        # What is no JSON at all is left to safetensors, which says what is wrong with it.
        with contextlib.suppress(UnicodeDecodeError, json.JSONDecodeError, RecursionError):
            json.loads(file.read(length), object_pairs_hook=_unique)


def _check_nesting(text: str) -> None:
    outside = _STRINGS.sub(b"", text.encode("utf-8", "surrogatepass")).translate(None, _BRACKETS)
    codes = np.frombuffer(outside, np.uint8)
    opening = (codes == ord("[")) | (codes == ord("{"))
    deepest = np.cumsum(2 * opening.astype(np.int8) - 1, dtype=np.int32).max(initial=0)
    if deepest > MOST_NESTING:
        raise ValueError(f"nested {deepest} levels deep, more than {MOST_NESTING}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        earlier: set[str] = set()
        twice = next(key for key, _ in pairs if key in earlier or earlier.add(key))
        raise ValueError(f"the key {twice[:80]!r} twice in one object")
    return unique


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text}, which is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:MOST_DIGITS]}, beyond the range of float64")
    return number


def _short(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"an integer of {len(text)} digits")
    return int(text)
