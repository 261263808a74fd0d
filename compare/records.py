"""The record: what every judge writes and every page reads. Frozen data, versioned JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from compare import files, schema
from compare.errors import Foreseen
from compare.writing import writing
from workloads import _modes
from workloads._spec import GATES as GATES

SCHEMA = 1

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_APPLICABLE: Final = "not_applicable"

CELLS = tuple(str(cell) for cell in _modes.CELLS)


class RecordError(Foreseen):
    """A record that cannot be read: one line with what was expected, found, and what to do."""


A_RECORD = files.Expected("a results.json", "pass what `jaxport run` wrote", RecordError)


@dataclass(frozen=True)
class Comparison:
    """One leaf held against one bound. Errors are max|found - expected| / max|expected|."""

    gate: str
    pass_: str
    case: str
    leaf: str
    dtype: str
    found_from: str
    expected_from: str
    error: float
    bound: float
    noise: float | None
    """TF eager against TF XLA on the same leaf and case, in the same measure; None where not run."""
    verdict: str
    worst_index: tuple[int, ...] = ()
    expected: float | None = None
    found: float | None = None
    message: str = ""


@dataclass(frozen=True)
class Gate:
    """A verdict and all that it rests on; `reason` says why where there is nothing to compare."""

    verdict: str
    comparisons: tuple[Comparison, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Call:
    """One call of a sweep: how far its input lay, and what is said of it ("holds", "port breaks", ...)."""

    magnitude: float
    said: str


@dataclass(frozen=True)
class Break:
    """Where the port breaks and the original does not, by its worst element.

    `error` and `bound` are relative to the largest value of the leaf; `exact` is the original in float64.
    `operation` is the first that breaks in the port's program, at `line`; `original_line` is where TensorFlow
    computes the leaf. Empty where nothing tells them.
    """

    pattern: str
    magnitude: float
    leaf: str
    index: tuple[int, ...]
    found: float
    original: float
    exact: float
    error: float
    bound: float
    operation: str = ""
    line: str = ""
    original_line: str = ""


@dataclass(frozen=True)
class Span:
    """Between which magnitudes the port holds where the original does, in one pattern of inputs.

    `low` and `high` are None where it breaks at the magnitude nearest to 1 already, or there is nothing to judge.
    """

    pattern: str
    low: float | None
    high: float | None
    calls: tuple[Call, ...]
    breaks: tuple[Break, ...] = ()


@dataclass(frozen=True)
class Reach:
    """What the sweep of one input found in one pass: a map, and the verdict."""

    input: str
    pass_: str
    verdict: str
    spans: tuple[Span, ...]
    worst: Break | None = None
    """The break at the most ordinary magnitude, which decides where the gate fails."""
    error: float = 0.0
    """The largest of any break that counts."""
    message: str = ""
    mode: str = str(_modes.PORT)
    """Of the port: `jax/tuned` where it was compiled with the options that it declares."""


@dataclass(frozen=True)
class AtSize:
    """The port at other sizes of its named dimensions; `reason` says why it fails, or why it is not judged there."""

    dimensions: Mapping[str, int]
    verdict: str
    reason: str = ""


@dataclass(frozen=True)
class Parity:
    """The six gates; passes when each passes or does not apply."""

    verdict: str
    gates: Mapping[str, Gate]
    oracle: Mapping[str, str] = field(default_factory=dict)
    """Per pass: where the float64 reference came from, and why."""
    deviations: tuple[Mapping[str, Any], ...] = ()
    """Declared or derived: gate, bound, observed, reason."""
    reach: tuple[Reach, ...] = ()
    """What the stability gate rests on, by input and pass."""
    sizes: tuple[AtSize, ...] = ()
    """Where dimensions are named: every other size of them that was judged."""


@dataclass(frozen=True)
class Failure:
    """A side, or a part of it, that could not be had: what was asked, and why it did not come."""

    side: str
    doing: str
    reason: str


def to_json(value: Any) -> Any:
    """Plain JSON data of nested structs and dataclasses; trailing underscores go, NaN and infinities become strings."""
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
    found = files.convert(plain, schema.Schema, path, A_RECORD).schema
    if found > SCHEMA:
        raise RecordError(f"expected schema {SCHEMA} or older in {path}, found {found}: upgrade jaxport")
    files.convert(plain, schema.Record, path, A_RECORD)
    return plain
