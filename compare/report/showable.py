"""Making strings fit to show, those of a record too; and reading JSON that is no record: dumps, programs by value."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from compare.files import Json
from compare.record.base import Part

_Value = TypeVar("_Value")
_Part = TypeVar("_Part", bound=Part)

_STYLING = re.compile(r"\x1b\[[0-9;]*m")
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_BREAKS = str.maketrans(dict.fromkeys("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))


def present(part: _Part | None) -> _Part | None:
    """The part, or None where nothing of it is there."""
    return None if part is None or part == type(part)() else part


def relative_place(source: str) -> str:
    """A line of a file as seen from the working folder, where it lies in it."""
    return os.path.relpath(source) if source.startswith(os.getcwd() + os.sep) else source


def one_line(text: str) -> str:
    """The text as it may be shown, without a break that would make another line of the rest."""
    return _make_printable(text.translate(_BREAKS))


def printable(value: _Value) -> _Value:
    """The data without colour codes, and with U+FFFD for characters that control a terminal or break an encoder.

    Reasons hold whatever a framework printed: escape sequences, lone surrogates, direction overrides.
    """
    return each_string(value, _make_printable)


def on_lines(value: _Value) -> _Value:
    """The printable data with every string on one line, so that none adds rows to a table."""
    return each_string(value, one_line)


def each_string(value: _Value, change: Callable[[str], str]) -> _Value:
    """The data with every string changed: in structs, dataclasses, mappings (also keys) and sequences."""
    return _map_strings(value, change)


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case msgspec.Struct():
            names = value.__struct_fields__
            return msgspec.structs.replace(
                value, **{name: _map_strings(getattr(value, name), change) for name in names}
            )
        case Mapping():
            return {change(str(key)): _map_strings(item, change) for key, item in value.items()}
        case list():
            return [_map_strings(item, change) for item in value]
        case tuple():
            return tuple(_map_strings(item, change) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return dataclasses.replace(value, **{name: _map_strings(getattr(value, name), change) for name in names})
    return value


def _make_printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", _STYLING.sub("", text))


def part(plain: object, *keys: str) -> Any:
    """The value at a path of JSON that is no record; None if a part of the path is missing or null."""
    for key in keys:
        plain = plain.get(key) if isinstance(plain, Mapping) else None
    return plain


def mapping(plain: object, *keys: str) -> Json:
    """The mapping at that place; empty where there is none."""
    content = part(plain, *keys)
    return content if isinstance(content, Mapping) else {}


def entries(plain: object, *keys: str) -> Sequence[Any]:
    """The list at that place; empty where there is none."""
    content = part(plain, *keys)
    return content if isinstance(content, list | tuple) else ()


def text(plain: object, *keys: str) -> str:
    """The text at that place; empty where there is none."""
    content = part(plain, *keys)
    return "" if content is None else str(content)
