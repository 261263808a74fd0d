"""What a killed program left is removed by the next one, and nothing that a living one uses or somebody else made."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from compare import leftovers, writing
from compare.sides import processes

HOLDS = """
import os, sys, tempfile
from pathlib import Path
from compare import leftovers, writing
from compare.sides import processes
tempfile.tempdir = sys.argv[1]
with processes.scratch_folder() as folder, leftovers.folder_beside(Path(sys.argv[1], "out")):
    file, _ = writing._partial(Path(sys.argv[1]))
    print(folder.name, flush=True)
    input()
"""


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def begun(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDS, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline().startswith(processes.PREFIX)
    return process


def use(folder: Path) -> None:
    """What a later program does there."""
    with processes.scratch_folder(), leftovers.folder_beside(folder / "out"):
        writing._clean_folders.clear()
        writing.write_atomically(folder / "results.json", "{}")


@pytest.mark.process
def test_only_what_a_killed_program_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with begun(tmp_path) as living:
        held = names(tmp_path)
        assert len(held) == 3
        with begun(tmp_path) as killed:
            assert len(names(tmp_path)) == 6
            killed.kill()
        use(tmp_path)
        assert names(tmp_path) == sorted([*held, "results.json"])
        living.communicate("\n")


def test_folders_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / leftovers.MARK).touch()
    for name in ("jaxport-report", "jaxport-whatever", ".out.12345678"):
        (tmp_path / name).mkdir()  # a user's own, whatever their name: nobody has marked them
    (tmp_path / "jaxport-linked0").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "jaxport-pipe").mkdir()
    os.mkfifo(tmp_path / "jaxport-pipe" / "pipe")
    (tmp_path / "jaxport-pipe" / leftovers.MARK).symlink_to(tmp_path / "jaxport-pipe" / "pipe")
    before = names(tmp_path)
    use(tmp_path)
    assert names(tmp_path) == sorted([*before, "results.json"])
    assert names(tmp_path / "elsewhere") == [leftovers.MARK]


def test_a_folder_that_is_no_longer_used_goes(tmp_path: Path) -> None:
    folder = tmp_path / "jaxport-12345678"
    folder.mkdir()
    marked = leftovers.mark(folder)
    assert marked is not None
    leftovers.sweep_folders(tmp_path, processes.PREFIX)
    assert folder.exists()
    marked.close()
    leftovers.sweep_folders(tmp_path, processes.PREFIX)
    assert not folder.exists()


def test_a_file_that_was_swept_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    mkstemp = tempfile.mkstemp

    def swept_once(**how: object) -> tuple[int, str]:
        handle, name = mkstemp(**how)  # type: ignore[call-overload]
        made.append(name)
        if len(made) == 1:
            os.unlink(name)
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", swept_once)
    writing.write_atomically(tmp_path / "x", "all")
    assert (len(made), names(tmp_path), (tmp_path / "x").read_text()) == (2, ["x"], "all")


def test_what_another_program_sweeps_before_a_whole_file_has_its_name_is_not_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def swept_before(name: str, path: Path) -> None:
        leftovers.sweep_files(tmp_path, writing.PARTIAL)
        replace(name, path)

    monkeypatch.setattr(os, "replace", swept_before)
    writing.write_atomically(tmp_path / "x", "all")
    assert (names(tmp_path), (tmp_path / "x").read_text()) == (["x"], "all")


@pytest.mark.parametrize("name", [".jaxport.toml", ".jaxport.swp", ".results.json.swp"])
def test_a_users_hidden_file_beside_the_output_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("the user's")
    (tmp_path / f"{writing.PARTIAL}half").write_text("half")
    writing.write_atomically(tmp_path / "results.json", "{}")
    assert names(tmp_path) == sorted([name, "results.json"])
