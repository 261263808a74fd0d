"""Conversion of values for another process: plain data for JSON, and arrays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import numpy as np

from compare.sides._side import Reply
from workloads.core.spec import Arrays


@dataclasses.dataclass(frozen=True)
class Record:
    """A dataclass whose bytes and arrays travel beside its other fields.

    Attributes:
      kind: the dataclass.
      plain: a type with its other fields.
      files: names of the fields that are bytes; each is an array of its own.
      groups: names of the fields that are arrays; the name of each array begins with it.
    """

    kind: type[Any]
    plain: type[msgspec.Struct]
    files: tuple[str, ...]
    groups: tuple[str, ...]

    def pack(self, record: Any) -> Reply:
        """The record as plain data and arrays."""
        value = {field: to_plain(getattr(record, field)) for field in self.plain.__struct_fields__}
        arrays = {file: np.frombuffer(getattr(record, file), np.uint8) for file in self.files}
        for group in self.groups:
            arrays |= {f"{group}/{name}": array for name, array in getattr(record, group).items()}
        return Reply(value, arrays)

    def unpack(self, plain: msgspec.Struct, arrays: Arrays) -> Any:
        """The record that was packed."""
        fields = {field: getattr(plain, field) for field in self.plain.__struct_fields__}
        fields |= {file: arrays[file].tobytes() for file in self.files}
        for group in self.groups:
            prefix = f"{group}/"
            fields[group] = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
        return self.kind(**fields)


@functools.cache
def record_of(kind: type[Any]) -> Record:
    """How a dataclass is sent."""
    types = get_type_hints(kind, include_extras=True)
    beside = {name for name, type_ in types.items() if type_ is bytes or is_arrays(type_)}
    plain = [_plain_field(field, types[field.name]) for field in dataclasses.fields(kind) if field.name not in beside]
    return Record(
        kind,
        msgspec.defstruct(kind.__name__, plain, frozen=True, kw_only=True),
        tuple(name for name in types if types[name] is bytes),
        tuple(name for name in types if is_arrays(types[name])),
    )


def _plain_field(field: dataclasses.Field[Any], type_: Any) -> tuple[str, Any, Any]:
    if field.default_factory is not dataclasses.MISSING:
        return field.name, type_, msgspec.field(default_factory=field.default_factory)
    return field.name, type_, msgspec.field() if field.default is dataclasses.MISSING else field.default


def to_plain(value: Any) -> Any:
    """Plain data: a path is a string in it."""
    return msgspec.to_builtins(value, enc_hook=_encode)


def _encode(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"expected plain data, found {type(value).__name__}")


def is_arrays(type_: Any) -> bool:
    """Whether a type is that of arrays by name, or of such arrays or None."""
    return type_ in (Arrays, Arrays | None)


def is_record(type_: Any) -> bool:
    """Whether a dataclass has bytes or arrays."""
    if not dataclasses.is_dataclass(type_) or not isinstance(type_, type):
        return False
    record = record_of(type_)
    return bool(record.files or record.groups)
