"""results.json: read as the struct that it is or as plain JSON, and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compare import files
from compare.errors import Foreseen
from compare.plain_json import write_json
from compare.record.envelope import SCHEMA, Record, Schema


class RecordError(Foreseen):
    """A record that cannot be read: one line with what was expected, found, and what to do."""


A_RECORD = files.Expected("a results.json", "pass what `jaxport run` wrote", RecordError)


def load(path: Path) -> Record:
    """Read results.json; fields that are not declared are left out.

    Raises:
      RecordError: not there, not JSON, not a record, or written by a newer jaxport.
    """
    return decode(files.read_json(path, A_RECORD), path)


def load_plain(path: Path) -> dict[str, Any]:
    """The JSON of results.json, for those who pass it on: fields of another version are kept.

    Raises:
      RecordError: as `load`.
    """
    return check(files.read_json(path, A_RECORD), path)


def check(plain: Any, path: Path) -> dict[str, Any]:
    """Plain JSON that is a record; fields of another version are kept.

    Args:
      plain: what was read. If it is refused it is not to be used any more: it is cut down to find the place.

    Raises:
      RecordError: not a record, or written by a newer jaxport.
    """
    decode(plain, path)
    return plain


def decode(plain: Any, path: Path) -> Record:
    """The record of plain JSON; `plain` and `path` as for `check`.

    Raises:
      RecordError: as `check`.
    """
    schema = files.convert(plain, Schema, path, A_RECORD).schema
    if schema > SCHEMA:
        raise RecordError(f"expected schema {SCHEMA} or older in {path}, found {schema}: upgrade jaxport")
    return files.convert(plain, Record, path, A_RECORD)


def save(record: Record, path: Path) -> None:
    """Write results.json.

    Raises:
      UnwrittenError: the file cannot be written.
    """
    write_json(path, record)
