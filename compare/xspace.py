"""XSpace, the file that the profilers of TensorFlow and JAX write: read without either."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from compare import files, protobufs
from workloads.core.foreign import MEBIBYTE

SUFFIX = ".xplane.pb"
"""The suffix of such files."""

MOST_BYTES = 1024 * MEBIBYTE
"""The largest profile: a minute of small operations has a tenth of it."""

HOST = "/host:CPU"
"""The plane of what the host did."""

# Names and numbers are those of tensorflow/tsl/profiler/protobuf/xplane.proto.
_MESSAGES = {
    "XSpace": "1 planes XPlane*, 4 hostnames string*",
    "XPlane": "2 name string, 3 lines XLine*, 4 event_metadata XEventEntry*, 5 stat_metadata XStatEntry*",
    "XEventEntry": "1 key int64, 2 value XEventMetadata",
    "XStatEntry": "1 key int64, 2 value XStatMetadata",
    "XEventMetadata": "2 name string, 5 stats XStat*",
    "XStatMetadata": "2 name string",
    "XLine": "2 name string, 3 timestamp_ns int64, 4 events XEvent*",
    "XEvent": "1 metadata_id int64, 2 offset_ps int64, 3 duration_ps int64, 4 stats XStat*",
    "XStat": (
        "1 metadata_id int64, 3 uint64_value uint64, 4 int64_value int64, 5 str_value string, 6 bytes_value bytes, "
        "7 ref_value uint64"
    ),
}
_SPACE = protobufs.classes("jaxport.profile", _MESSAGES)["XSpace"]


def new() -> Any:
    """An empty XSpace."""
    return _SPACE()


def read(path: Path, expected: files.Expected) -> Any:
    """The XSpace in a file.

    Args:
      expected: what it should be, and what to do where it is not.

    Raises:
      FileError: it cannot be read, or is none.
    """
    space = new()
    try:
        space.ParseFromString(files.read(path, expected, MOST_BYTES))
    except DecodeError as error:
        expected.refuse(path, f"no XSpace ({error})")
    return space


def event_names(plane: Any) -> dict[int, str]:
    """By number, what the events of a plane are called."""
    return {entry.key: entry.value.name for entry in plane.event_metadata}


def statistic_names(plane: Any) -> dict[int, str]:
    """By number, what the statistics of a plane are called; a text that occurs often stands here too."""
    return {entry.key: entry.value.name for entry in plane.stat_metadata}


def text_of(statistic: Any, names: Mapping[int, str]) -> str:
    """The text of a statistic, which may stand once for all events of a plane; "" of one that has none."""
    return statistic.str_value or names.get(statistic.ref_value, "")
