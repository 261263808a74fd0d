"""Reading a file from elsewhere runs nothing that is in it or that it names: watched by what Python tells of itself."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_fuzzed_readers import READERS, good

from compare.bundles import bundle
from compare.errors import Foreseen
from compare.record import results_file
from workloads.core import foreign

EXECUTES = (
    "exec", "compile", "import", "marshal.loads", "pickle.find_class", "os.system", "os.exec", "os.fork",
    "os.forkpty", "os.posix_spawn", "os.spawn", "subprocess.Popen", "ctypes.dlopen", "ctypes.dlsym", "code.__new__",
)  # fmt: skip
PARSED = "<unknown>"
"""The file that ast.literal_eval names, by which NumPy reads a head: it parses, and runs nothing."""

OF_RECORDS = ("rows of figures", "receipts")
"""Readers that are given a record in place of their own file, and refuse it."""

PROGRAM = "__import__('os').system('touch executed')"


class _Watch:
    """One hook for all: Python keeps it until it ends."""

    def __init__(self) -> None:
        self.told: list[str] | None = None
        self.installed = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.told is None or not (event in EXECUTES or event.startswith("socket.")):
            return
        if event == "compile" and len(arguments) > 1 and arguments[1] == PARSED:
            return
        self.told.append(f"{event} {arguments!r:.200}")


WATCH = _Watch()


@contextmanager
def watched() -> Iterator[list[str]]:
    """What is executed, imported or connected to meanwhile."""
    if not WATCH.installed:
        sys.addaudithook(WATCH)
        WATCH.installed = True
    WATCH.told = told = []
    try:
        yield told
    finally:
        WATCH.told = None


def test_what_is_executed_is_seen() -> None:
    with watched() as told:
        exec("1 + 1")
        compile("2", "here", "eval")
    assert [each.partition(" ")[0] for each in told] == ["compile", "exec", "compile"]


@pytest.mark.parametrize("name", READERS)
def test_a_good_file_is_read_and_nothing_executed(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, read = READERS[name]
    if kind == "bundle":
        request.getfixturevalue("programs_here")
    # The folder of the file, as the current one and as one of those that are searched: what lies there is not imported.
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def tried(path: Path) -> None:
        try:
            read(good(kind), path)
        except (Foreseen, foreign.Unusable):
            assert name in OF_RECORDS, "a good file was refused"

    tried(tmp_path / "first.json")  # jaxport's own modules that are imported when they are first needed
    with watched() as told:
        tried(tmp_path / "file.json")
    assert told == []


@pytest.mark.parametrize(
    "head", [PROGRAM, "{'descr': 'O', 'fortran_order': False, 'shape': (1,)}", "{'shape': " + "(" * 300 + "}"]
)
def test_the_head_of_an_array_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str) -> None:
    monkeypatch.chdir(tmp_path)
    text = head.encode().ljust(503) + b"\n"
    np.savez(tmp_path / "x.npz", n=np.arange(3))
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\x80\x04N.")
    with watched() as told, pytest.raises(foreign.Unusable, match=r"broken array|objects in"):
        foreign.npz(tmp_path / "x.npz", ["x"], 1 << 20)
    assert told == []
    assert not (tmp_path / "executed").exists()


def test_names_in_a_record_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')\n")
    record = json.loads(good("record"))
    record["workloads"] = {"evil:it": record["workloads"].popitem()[1], "evil.py:it": {"size": PROGRAM}}
    (tmp_path / "r.json").write_text(json.dumps(record))
    results_file.load(tmp_path / "r.json")
    with watched() as told:
        results_file.load(tmp_path / "r.json")
    assert told == []
    assert "evil" not in sys.modules


@pytest.mark.parametrize("twice", ["bundle.json", "programs/tf.mlirbc"])
def test_of_a_name_that_a_zip_has_twice_one_file_is_read(tmp_path: Path, twice: str, programs_here: object) -> None:
    (tmp_path / "b.zip").write_bytes(good("bundle"))
    before = sorted(each.name for each in tmp_path.iterdir())
    with zipfile.ZipFile(tmp_path / "b.zip", "a") as archive:
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(twice, "something else")
        archive.writestr(twice.upper(), "another")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(Foreseen, match="expected"):
        bundle.modules(tmp_path / "b.zip", scratch)
    assert sorted(each.name for each in tmp_path.iterdir()) == [*before, "scratch"]
