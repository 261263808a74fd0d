"""Reading a record of which any part may be missing or null, and making its strings fit to show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_STYLING = re.compile(r"\x1b\[[0-9;]*m")
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_BREAKS = str.maketrans(dict.fromkeys("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))


def part(record: object, *keys: str) -> Any:
    """What stands at that place; None where anything on the way is missing or null."""
    for key in keys:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record


def mapping(record: object, *keys: str) -> Mapping[str, Any]:
    """The mapping at that place; empty where there is none."""
    found = part(record, *keys)
    return found if isinstance(found, Mapping) else {}


def entries(record: object, *keys: str) -> Sequence[Any]:
    """The list at that place; empty where there is none."""
    found = part(record, *keys)
    return found if isinstance(found, list | tuple) else ()


def text(record: object, *keys: str) -> str:
    """The text at that place; empty where there is none."""
    found = part(record, *keys)
    return "" if found is None else str(found)


def one_line(text: str) -> str:
    """The text as it may be shown, without a break that would make another line of the rest."""
    return printable(text.translate(_BREAKS))


def printable(value: Any) -> Any:
    """The same data without colour codes, and U+FFFD for what would steer a terminal or break an encoder.

    Reasons hold whatever a framework printed: escape sequences, lone surrogates, direction overrides.
    """
    return each_string(value, lambda text: _UNPRINTABLE.sub("\ufffd", _STYLING.sub("", text)))


def on_lines(value: Any) -> Any:
    """The same data printable, every string of it on one line: none makes a row of a table that is not its own."""
    return each_string(value, one_line)


def each_string(value: Any, change: Callable[[str], str]) -> Any:
    """The same data with every string in it changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): each_string(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [each_string(item, change) for item in value]
    return value
