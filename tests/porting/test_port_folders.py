"""A port is written whole or not at all, and over another one only once it is whole."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compare import cli, leftovers
from compare.api import port_writing
from compare.commands import init
from compare.errors import RequestError
from compare.porting.port_folders import KEEPING, README, SCRIPT, check_folder, find_files_of_user, written_anew
from compare.run import whole_run
from compare.writing import UnwrittenError

FILES = ("port.py", "model_jax.py", "weights.safetensors")
NEW = {"port.py": "new", "model_jax.py": "new"}


def seen(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_the_block_adds_stands_beside_the_texts_and_what_was_there_of_a_port_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "a b" / "port é"
    with written_anew(folder, FILES, NEW) as staged:
        (staged / "weights.safetensors").write_text("weights")
        (staged / "__pycache__").mkdir()
    assert seen(folder) == NEW | {"weights.safetensors": "weights"}
    (folder / "mine.txt").write_text("mine")
    with written_anew(folder, FILES, {"port.py": "newer"}):
        pass
    assert seen(folder) == {"port.py": "newer", "mine.txt": "mine"}


def test_a_readme_and_a_script_of_the_users_stay_and_those_of_a_port_are_replaced(tmp_path: Path) -> None:
    files, new = (README, SCRIPT, "port.py"), {README: f"new {KEEPING}", SCRIPT: f"new {KEEPING}", "port.py": "new"}
    (tmp_path / README).write_text("mine")
    (tmp_path / SCRIPT).write_text(f"old {KEEPING}")
    assert find_files_of_user(tmp_path, files) == (README,)
    with written_anew(tmp_path, files, new):
        pass
    assert seen(tmp_path) == new | {README: "mine"}
    (tmp_path / SCRIPT).write_text("changed, without the line")
    with written_anew(tmp_path, files, {"port.py": "newer"}):
        pass
    assert seen(tmp_path) == {README: "mine", SCRIPT: "changed, without the line", "port.py": "newer"}


def test_a_link_and_a_folder_under_the_name_of_a_readme_are_the_users(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text(KEEPING)
    (tmp_path / README).symlink_to("elsewhere.md")
    (tmp_path / SCRIPT).mkdir()
    assert find_files_of_user(tmp_path, (README, SCRIPT)) == (README, SCRIPT)
    assert find_files_of_user(tmp_path, ("port.py",)) == ()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RequestError("weights that do not fit")])
def test_an_interrupted_port_leaves_no_folder_and_the_port_before_as_it_was(
    tmp_path: Path, error: BaseException | type[BaseException]
) -> None:
    before = {"port.py": "old", "weights.safetensors": "old"}
    (tmp_path / "old").mkdir()
    for name, text in before.items():
        (tmp_path / "old" / name).write_text(text)
    for folder in (tmp_path / "old", tmp_path / "new" / "port"):
        with pytest.raises((KeyboardInterrupt, RequestError)), written_anew(folder, FILES, NEW):
            raise error
    assert seen(tmp_path / "old") == before
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_port_that_was_killed_while_it_was_written_is_swept(tmp_path: Path) -> None:
    with leftovers.folder_beside(tmp_path / "port.py") as living:
        with pytest.raises(RequestError, match="found files in it"):
            check_folder(tmp_path, anew=False)
        assert living.exists(), "somebody else writes there"
    left = tmp_path / ".port.py.killed"
    left.mkdir()
    (left / leftovers.MARK).touch()
    check_folder(tmp_path, anew=False)
    assert not left.exists()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UnwrittenError, match=r"expected to write .*file/port, found"),
        written_anew(tmp_path / "file" / "port", FILES, NEW),
    ):
        pass


def test_who_interrupts_the_judging_is_told_that_the_port_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def before(_: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    def main(_: argparse.Namespace) -> int:
        options = argparse.Namespace(tf_python=None, jax_python=None, timeout=60.0, json=True)
        port: Any = SimpleNamespace(folder=tmp_path / "port")
        return init._judge(options, port, tmp_path / "port" / "port.py")

    monkeypatch.setattr(whole_run, "run", interrupted)
    monkeypatch.setattr(port_writing.port_files, "get_each", lambda _: [])
    monkeypatch.setattr(init, "main", main)
    assert cli.main(["init", "model.keras", "-o", str(tmp_path / "port")]) == 130
    assert capsys.readouterr().err == f"jaxport: interrupted; {tmp_path / 'port'} was written, and not judged\n"
    monkeypatch.setattr(init, "main", before)
    assert cli.main(["init", "model.keras", "-o", str(tmp_path / "port")]) == 130
    assert capsys.readouterr().err == "jaxport: interrupted; nothing was written\n"
