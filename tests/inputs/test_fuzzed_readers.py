"""Readers of files that anyone may have made, given hundreds of damaged ones: read, or refused in one line.

test_damaged.py damages what the files say; here their bytes are flipped, cut, repeated, swapped and replaced.
"""

from __future__ import annotations

import functools
import io
import json
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import damaged_bundles
import damaged_profiles
import numpy as np
import pytest
from damaged import zipped
from fuzzed_bytes import MOST_S, said_of_damaged
from places import DATA
from safetensors.numpy import save

from compare import files
from compare.bundles import bundle
from compare.clusters import graph_file, log_lines
from compare.commands import weights
from compare.devices import gpus
from compare.errors import Foreseen
from compare.figures import kept_rows
from compare.hlo import proto
from compare.hlo.artifacts import hlo_of_file
from compare.hlo.dumps import buffers, llvm, vector_code
from compare.inputs import call_streams, port_files
from compare.profiles import traced
from compare.record import results_file
from compare.sides import recorded
from workloads.core import foreign


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
        case "positions":
            return save({"0": np.ones((2, 3), np.float32), "1": np.arange(4)})
        case "module":
            return next((DATA / "dumps/jax_proto").glob("*before*.pb")).read_bytes()
        case "HLO text":
            return next((DATA / "dumps/jax").glob("*steps.before*.txt")).read_bytes()
        case "bytecode":
            return (DATA / "running_example_tf.mlirbc").read_bytes()
        case "port":
            return b"""from workloads import ArraySpec, Workload
sizes = {"smoke": {"batch": 2}, "default": {"batch": 8}}
port = Workload(
    name="p", tf="m.py:f", jax="m.py:g", inputs={"x": ArraySpec(("batch", 3), "float32", -1.0, 1.0)}, sizes=sizes,
    summary="a sum", builds=False,
)
"""
        case "map":
            return b'"encoder/dense" = "enc.linear"\nb = "c"\n'
        case "calls":
            return b"x=f32[3,4], n=2\nx=f32[8,4], n=3, flag=True\n"
        case "graph":
            return next((DATA / "clustering").glob("*.pbtxt")).read_bytes()[:20_000]
        case "npz":
            return zipped({"x.npy": npy(np.ones((3, 2), np.float32)), "n.npy": npy(np.arange(3))})
        case "profile":
            return damaged_profiles.profile()
        case "bundle":
            return bug_report()
        case "log":
            return next((DATA / "clustering").glob("*.log")).read_bytes()[:20_000]
        case "buffers":
            return next((DATA / "dumps").rglob("*buffer-assignment.txt")).read_bytes()
        case "llvm":
            return next((DATA / "dumps").rglob("*.ll")).read_bytes()[:20_000]
        case "gpu":
            return gpus.config(gpus.GPUS["H100"]).encode()
    raise AssertionError(kind)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def bug_report() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        damaged_bundles.bug_report(Path(name) / "b")
        found = [each for each in (Path(name) / "b").rglob("*") if each.is_file()]
        # Stored, as some programs zip: what is flipped is then in the files too, not in what is packed alone.
        with zipfile.ZipFile(Path(name) / "b.zip", "w", zipfile.ZIP_STORED) as archive:
            for each in found:
                archive.write(each, each.relative_to(Path(name) / "b"))
        return (Path(name) / "b.zip").read_bytes()


def in_bundle(path: Path) -> object:
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        return bundle.modules(path, Path(scratch))


def profile(path: Path) -> object:
    named = path.with_name("h.xplane.pb")
    path.rename(named)
    return traced.read([named])


def text(read: Callable[[str], object]) -> Callable[[bytes, Path], object]:
    return lambda data, _: read(data.decode(errors="replace"))


TAKES_ANY_TEXT = ("logs of clustering", "buffers of a dump", "LLVM of a dump")
"""Readers that find what they know in a text, whatever else it holds."""

READERS: dict[str, tuple[str, Callable[[bytes, Path], Any]]] = {
    "records": ("record", of_path(results_file.load)),
    "rows of figures": ("record", of_path(lambda path: kept_rows.load_row(path.stem, path.parent))),
    "recorded sides": ("side", of_path(side)),
    "arrays": ("arrays", of_path(arrays)),
    "arrays of bug reports": ("positions", of_path(bundle.load_arrays)),
    "modules": ("module", of_bytes(proto.read_module)),
    "maps of weights": ("map", of_path(weights._names)),
    "calls": ("calls", of_bytes(calls)),
    "dumped graphs": ("graph", of_path(graph_file.read_graph)),
    "GPUs": ("gpu", of_path(gpus.of_file)),
    "data": ("npz", of_path(lambda path: foreign.npz(path, ["x", "n"], 1 << 20))),
    "profiles": ("profile", of_path(profile)),
    "bug reports in zips": ("bundle", of_path(in_bundle)),
    "files of programs": ("module", of_bytes(hlo_of_file)),
    "logs of clustering": ("log", text(lambda log: log_lines.read_log(log.splitlines()))),
    "buffers of a dump": ("buffers", text(lambda told: buffers.from_texts({"m": told}))),
    "LLVM of a dump": ("llvm", text(lambda code: (llvm.read_code("f", code, len(code)), vector_code.of_llvm(code)))),
}


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_in_one_line(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kind, read = READERS[name]
    if kind == "bundle":
        request.getfixturevalue("programs_here")

    def tried(data: bytes) -> None:
        began = time.thread_time()
        try:
            read(data, tmp_path / "file.json")
        finally:
            assert time.thread_time() - began < MOST_S

    lines = [line for line in said_of_damaged(good(kind), tried, (Foreseen, foreign.Unusable)) if line]
    assert bool(lines) != (name in TAKES_ANY_TEXT)
    # What `foreign` finds is put into a line by whoever asked for the file.
    begins = "" if name == "data" else "expected"
    assert [line for line in lines if not (line.isprintable() and begins in line and len(line) < 4000)] == []


@pytest.mark.process
@pytest.mark.parametrize("kind", ["HLO text", "bytecode"])
def test_a_damaged_program_is_read_or_refused_in_one_line_by_a_process_of_its_own(kind: str) -> None:
    lines = [line for line in said_of_damaged(good(kind), hlo_of_file, Foreseen) if line]
    assert len(lines) > 10
    assert [line for line in lines if "Traceback" in line or len(line) > 4000] == []


@pytest.mark.process
def test_a_damaged_port_file_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "port.py"

    def tried(data: bytes) -> None:
        path.write_bytes(data)
        port_files.get(str(path))

    lines = [line for line in said_of_damaged(good("port"), tried, Foreseen, 60) if line]
    assert len(lines) > 30
    assert [line for line in lines if "\n" in line or "expected" not in line or "internal" in line] == []


def test_a_file_that_cannot_be_used_is_foreseen_wherever_it_is_read() -> None:
    assert issubclass(files.FileError, Foreseen)


def test_a_map_with_an_integer_of_too_many_digits_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    path.write_text(f"a = {'9' * 5000}")
    with pytest.raises(Foreseen, match="expected TOML"):
        weights._names(path)
