"""Plain JSON data of dataclasses and structs."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from compare.writing import write_atomically


def to_json(value: Any) -> Any:
    """Plain JSON data of nested dataclasses and structs; NaN and infinities become strings."""
    match value:
        case msgspec.Struct():
            fields = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            return {name: to_json(getattr(value, field)) for name, field in fields}
        case Mapping():
            return {str(name): None if _is_empty(item) else to_json(item) for name, item in value.items()}
        case list() | tuple():
            return [to_json(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name.rstrip("_"): to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    item = getattr(value, "item", None)
    return to_json(item()) if callable(item) else value


def _is_empty(value: Any) -> bool:
    """Whether a struct holds nothing: under a name it stands for a null."""
    if not isinstance(value, msgspec.Struct):
        return False
    values = (getattr(value, field) for field in value.__struct_fields__)
    return all(content is None or (isinstance(content, str | tuple | Mapping) and not content) for content in values)


def write_json(path: Path, value: Any) -> None:
    """Write the JSON of `to_json`, the whole file or nothing.

    Raises:
      UnwrittenError: the file cannot be written.
    """
    write_atomically(path, json.dumps(to_json(value), indent=1) + "\n")
