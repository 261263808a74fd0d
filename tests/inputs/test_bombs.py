"""Small files that claim to be large: each is refused in one line, and takes neither memory nor time."""

from __future__ import annotations

import json
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from damaged import zipped
from fuzzed_bytes import MOST_S

from compare import files, xspace
from compare.errors import Foreseen
from compare.hlo.artifacts import hlo_of_file
from compare.record import results_file
from workloads.core import foreign

MOST_BYTES = 256 << 20
EXPECTED = files.Expected("a file", "write it again")
HEAD = {"x": {"dtype": "F32", "shape": [10**9], "data_offsets": [0, 4 * 10**9]}}


def safetensors(head: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(head) if length is None else length) + head


def npy(shape: str) -> bytes:
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


def read_arrays(path: Path) -> object:
    return files.read_arrays(path, EXPECTED, 1 << 40)


def read_npz(path: Path) -> object:
    return foreign.npz(path, ["x"], 1 << 30)


def read_profile(path: Path) -> object:
    return xspace.read(path, EXPECTED)


def read_program(path: Path) -> object:
    return hlo_of_file(path.read_bytes())


LONG = b"\x0a\xff\xff\xff\xff\x07"
"""A field of a message that says it has 2 GiB."""

BOMBS: dict[str, tuple[Callable[[Path], object], Callable[[], bytes]]] = {
    "safetensors: a billion elements": (read_arrays, lambda: safetensors(json.dumps(HEAD).encode())),
    "safetensors: an endless head": (read_arrays, lambda: safetensors(b"{}", 1 << 60)),
    "safetensors: a nested head": (read_arrays, lambda: safetensors(b'{"a":' * 100_000)),
    "npz: a billion elements": (read_npz, lambda: zipped({"x.npy": npy("(1000000000,)")})),
    "npz: sizes beyond 64 bits": (read_npz, lambda: zipped({"x.npy": npy("(" + "9" * 30 + ",)")})),
    "npz: a negative size": (read_npz, lambda: zipped({"x.npy": npy("(-1, 5)") + bytes(8)})),
    "npz: open brackets": (read_npz, lambda: zipped({"x.npy": npy("(" * 40)})),
    "npz: two gigabytes of zeros": (read_npz, lambda: lying(2 << 30)),
    "profile: a long field": (read_profile, lambda: LONG),
    "program: a long field": (read_program, lambda: LONG),
    "program: nested": (read_program, lambda: nested(300)),
    "record: nested": (results_file.load, lambda: b'{"schema": 1, "x": ' + b"[" * 10_000_000),
    "record: a long number": (results_file.load, lambda: b'{"schema": ' + b"9" * 10_000_000 + b"}"),
}


def lying(size: int) -> bytes:
    """A zip of little whose list of files says that it holds so much."""
    data = bytearray(zipped({"x.npy": npy("(4,)") + bytes(16)}))
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = size.to_bytes(4, "little")
    return bytes(data)


def nested(depth: int) -> bytes:
    data = b""
    for _ in range(depth):
        data = b"\x1a" + bytes([len(data) & 127 | 128, len(data) >> 7]) + data
    return data


@pytest.mark.parametrize("name", BOMBS)
def test_what_claims_to_be_large_is_refused_at_once(name: str, tmp_path: Path) -> None:
    read, made = BOMBS[name]
    path = tmp_path / "file"
    path.write_bytes(made())
    tracemalloc.start()
    began = time.thread_time()
    try:
        with pytest.raises((Foreseen, foreign.Unusable)) as refused:
            read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.thread_time() - began < MOST_S
    assert peak < MOST_BYTES
    assert str(refused.value).isprintable() and len(str(refused.value)) < 1000


def test_an_array_that_is_what_it_says_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(zipped({"x.npy": npy("(4,)") + bytes(16)}))
    np.testing.assert_array_equal(read_npz(tmp_path / "x.npz")["x"], np.zeros(4))  # type: ignore[index]
