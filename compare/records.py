"""The record: what every judge writes and every page reads. Frozen data, versioned JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from compare import files
from compare.errors import Foreseen
from compare.record import envelope
from compare.record.parity_part import AtSize as AtSize
from compare.record.parity_part import Break as Break
from compare.record.parity_part import Call as Call
from compare.record.parity_part import Comparison as Comparison
from compare.record.parity_part import Gate as Gate
from compare.record.parity_part import Parity as Parity
from compare.record.parity_part import Reach as Reach
from compare.record.parity_part import Span as Span
from compare.record.workload_part import Failure as Failure
from compare.writing import writing
from workloads._spec import GATES as GATES

SCHEMA = 1

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_APPLICABLE: Final = "not_applicable"

CELLS = ("tf@tf", "jax@jax", "tf@jax", "jax@tf")


class RecordError(Foreseen):
    """A record that cannot be read: one line with what was expected, found, and what to do."""


A_RECORD = files.Expected("a results.json", "pass what `jaxport run` wrote", RecordError)


def to_json(value: Any) -> Any:
    """Plain JSON data of nested dataclasses; trailing underscores go, NaN and infinities become strings."""
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {written: to_json(getattr(value, name)) for written, name in names}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name.rstrip("_"): to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    item = getattr(value, "item", None)
    return to_json(item()) if callable(item) else value


def write_atomically(path: Path, data: str | bytes) -> None:
    """Write the whole file or nothing: a reader never sees half of it.

    Raises:
      UnwrittenError: the disk is full, or the file cannot be had.
    """
    with writing(path):
        _replace(path, data)


def _replace(path: Path, data: str | bytes) -> None:
    # Not named after the file: whose name may be as long as names can be.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".jaxport.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def save(record: Mapping[str, Any], path: Path) -> None:
    """Write results.json."""
    write_atomically(path, json.dumps(to_json(record), indent=1) + "\n")


def load(path: Path) -> dict[str, Any]:
    """Read results.json: every field that is declared in compare.schema has its type, the others are kept.

    Raises:
      RecordError: not there, not JSON, not a record, or written by a newer jaxport.
    """
    return checked(files.read_json(path, A_RECORD), path)


def checked(plain: Any, path: Path) -> dict[str, Any]:
    """The same of JSON that was read.

    Raises:
      RecordError: not a record, or written by a newer jaxport.
    """
    found = files.convert(plain, envelope.Schema, path, A_RECORD).schema
    if found > SCHEMA:
        raise RecordError(f"expected schema {SCHEMA} or older in {path}, found {found}: upgrade jaxport")
    files.convert(plain, envelope.Record, path, A_RECORD)
    return plain
