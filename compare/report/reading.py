"""Reading a record of which any part may be missing or null, and making its strings fit to show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_STYLING = re.compile(r"\x1b\[[0-9;]*m")
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


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


def printable(value: Any) -> Any:
    """The same data without colour codes, and U+FFFD for what would steer a terminal or break an encoder.

    Reasons hold whatever a framework printed: escape sequences, lone surrogates, direction overrides.
    """
    if isinstance(value, str):
        return _UNPRINTABLE.sub("\ufffd", _STYLING.sub("", value))
    if isinstance(value, Mapping):
        return {printable(str(key)): printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable(item) for item in value]
    return value
