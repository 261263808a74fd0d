"""Readers of files that anyone may have made, given hundreds of damaged ones: read, or refused in one line.

test_damaged.py damages what the files say; here their bytes are flipped, cut, repeated, swapped and replaced.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from places import DATA
from safetensors.numpy import save

from compare import files
from compare.bundles import bundle
from compare.clusters import graph_file
from compare.commands import weights
from compare.devices import gpus
from compare.errors import Foreseen
from compare.figures import kept_rows
from compare.hlo import proto
from compare.inputs import call_streams
from compare.record import results_file
from compare.sides import recorded
from compare.weights import receipt

HOSTILE = (
    b"\xff\xfe", b"\x00" * 9, b"\x80" * 12, b"\xff" * 16, b"[" * 70, b"{" * 200, b'{"a":' * 80, b"1e999", b"-1", b"NaN",
    b"Infinity", b"9" * 5000, b"18446744073709551616", b"null", b'"\\ud800"', b"../../etc/passwd", b"PK\x03\x04",
    b"PK\x05\x06" + b"\x00" * 18, b"\n" * 50, b'"schema": 1, "schema": 2', b"'", b'"""', b"\x1b[2J",
)  # fmt: skip
"""What is put into a file: no UTF-8, depth, numbers out of range, heads of zips, keys twice, terminal codes."""


@st.composite
def damaged(draw: DrawFn, good: bytes) -> bytes:
    """A good file after some damages."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 64))
        match draw(st.sampled_from(["flip", "cut", "drop", "repeat", "swap", "put", "noise"])):
            case "flip" if at < len(data):
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at:]
            case "drop":
                del data[at : at + length]
            case "repeat":
                data[at:at] = data[at : at + length] * draw(st.integers(1, 30))
            case "swap":
                data[at : at + 2 * length] = data[at + length : at + 2 * length] + data[at : at + length]
            case "put":
                data[at : at + draw(st.integers(0, 8))] = draw(st.sampled_from(HOSTILE))
            case "noise":
                data[at:at] = draw(st.binary(max_size=40))
    return bytes(data)


def of_path(read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    def written(data: bytes, path: Path) -> object:
        path.write_bytes(data)
        return read(path)

    return written


def of_bytes(read: Callable[[bytes], object]) -> Callable[[bytes, Path], object]:
    return lambda data, _: read(data)


def side(path: Path) -> object:
    return recorded.RecordedSide("tf", path)


def arrays(path: Path) -> object:
    return files.read_arrays(path, files.Expected("arrays", "write them again"), 1 << 20)


def calls(data: bytes) -> object:
    lines = call_streams.from_file(data.decode(errors="replace"))
    return [call_streams.parse_call(line) for line in lines]


@functools.cache
def good(kind: str) -> bytes:
    match kind:
        case "record":
            return (DATA / "record_small.json").read_bytes()
        case "side":
            head = {"format": recorded.FORMAT, "side": "tf", "replies": {"k": {"method": "environment", "value": {}}}}
            return save({"0/x": np.ones(3, np.float32)}, {recorded.METADATA_KEY: json.dumps(head)})
        case "arrays":
            return save({"x": np.ones((2, 3), np.float32), "n": np.arange(4)}, {"a": "b"})
        case "module":
            return next((DATA / "dumps/jax_proto").glob("*before*.pb")).read_bytes()
        case "map":
            return b'"encoder/dense" = "enc.linear"\n[more]\nb = "c"\n'
        case "calls":
            return b"x=f32[3,4], n=2\nx=f32[8,4], n=3, flag=True\n"
        case "graph":
            return next((DATA / "clustering").glob("*.pbtxt")).read_bytes()[:20_000]
        case "gpu":
            return b"gpu_device_info {\n  threads_per_warp: 32\n  core_count: 132\n}\n"
    raise AssertionError(kind)


READERS: dict[str, tuple[str, Callable[[bytes, Path], Any]]] = {
    "records": ("record", of_path(results_file.load)),
    "rows of figures": ("record", of_path(lambda path: kept_rows.kept(path.stem, path.parent))),
    "receipts": ("record", of_path(receipt.read)),
    "recorded sides": ("side", of_path(side)),
    "arrays": ("arrays", of_path(arrays)),
    "arrays of bug reports": ("arrays", of_path(bundle.load_arrays)),
    "modules": ("module", of_bytes(proto.read_module)),
    "maps of weights": ("map", of_path(weights._names)),
    "calls": ("calls", of_bytes(calls)),
    "dumped graphs": ("graph", of_path(graph_file.read_graph)),
    "GPUs": ("gpu", of_path(gpus.of_file)),
}


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    kind, read = READERS[name]
    said: list[str] = []

    @settings(max_examples=50, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # fmt: skip
    @given(damaged(good(kind)))
    def tried(data: bytes) -> None:
        said.append("")
        try:
            read(data, tmp_path / "file.json")
        except Foreseen as error:
            said[-1] = str(error)

    tried()
    lines = [line for line in said if line]
    assert len(said) >= 50
    assert lines
    assert [line for line in lines if not (line.isprintable() and "expected" in line and len(line) < 4000)] == []


def test_a_file_that_cannot_be_used_is_foreseen_wherever_it_is_read() -> None:
    assert issubclass(files.FileError, Foreseen)


def test_a_map_with_an_integer_of_too_many_digits_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    path.write_text(f"a = {'9' * 5000}")
    with pytest.raises(Foreseen, match="expected TOML"):
        weights._names(path)
