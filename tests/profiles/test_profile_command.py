"""`jaxport explain profile`: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded_profiles import FILE, TANH, Event, space, step_kernels, step_profile, written

from compare import cli


@pytest.fixture(autouse=True)
def run_here(programs_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module of the training step is compiled in this process; files are written to a folder of the test."""
    monkeypatch.chdir(tmp_path)


def test_it_names_the_slow_kernel_and_writes_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    slow = step_kernels()[0]
    written(Path("logs"), step_profile(slow))
    assert cli.main(["explain", "profile", "logs", "--rows", "1"]) == 0
    said = capsys.readouterr().out
    assert f"the longest is {slow}, 300 µs" in said and "more, on the page" in said
    assert said.splitlines()[-1] == "jaxport-profile/profile.html"
    page = Path("jaxport-profile/profile.html").read_text()
    assert slow in page and FILE in page and "optimizer: " in page
    assert json.loads(Path("jaxport-profile/profile.json").read_text())["kernels"][0]["name"] == slow


def test_a_line_gives_its_kernels_or_says_that_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    path = written(Path("logs"), step_profile())
    assert cli.main(["explain", "profile", str(path), "--line", f"{FILE}:{TANH}"]) == 0
    assert f"from {FILE}:{TANH}" in capsys.readouterr().out
    assert cli.main(["explain", "profile", str(path), "--line", f"{FILE}:1"]) == 1
    assert f"no kernel comes from {FILE}:1: of {FILE}, kernels come from line" in capsys.readouterr().out
    assert cli.main(["explain", "profile", str(path), "--line", f"{FILE}:1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["schema"]


def test_a_name_from_a_file_steers_neither_the_terminal_nor_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J<script>\nx"
    written(Path("logs"), space({"python": [Event("a", 0, 1, {"hlo_op": hostile, "hlo_module": hostile})]}))
    assert cli.main(["explain", "profile", "logs"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said and "<script> x" in said
    assert "<script>" not in Path("jaxport-profile/profile.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent"], "expected a profile at absent, found no such file"),
        (["empty"], "expected a file *.xplane.pb in empty, found none"),
        (["notes.txt"], "expected a profile that jax.profiler or tf.profiler wrote at notes.txt, found no XSpace"),
        (["nothing.xplane.pb"], "at nothing.xplane.pb, found an XSpace in which nothing was recorded: name a file"),
        (["logs", "--dump", "empty"], "expected modules dumped by XLA in empty, found nothing"),
        (["logs", "--line", "model.py"], "expected FILE:LINE such as model.py:41, found 'model.py'"),
    ],
)
def test_what_cannot_be_read_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    Path("notes.txt").write_text("no profile")
    Path("nothing.xplane.pb").touch()
    written(Path("logs"), step_profile())
    assert cli.main(["explain", "profile", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line and "internal error" not in line
    assert not Path("jaxport-profile").exists()
