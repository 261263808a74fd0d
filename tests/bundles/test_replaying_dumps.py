"""Every module of a dump alone: what cannot be read, run, or comes out otherwise when optimized costs its own row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from places import DATA

from compare import cli
from compare.bundles import replaying_dumps
from compare.bundles.replaying_dumps import is_dump, reads_back, replay_dump
from compare.hlo import standalone
from compare.hlo.bindings import UnreadableProgram
from compare.progress import Silent
from compare.record.replay_part import ReplayedModule

TEXT = """HloModule m
ENTRY e {{ x = f32[8] parameter(0) ROOT y = f32[8] {}(x) }}
"""


@pytest.fixture(autouse=True)
def run_here(programs_here: None) -> None:
    """The modules of this file are run in this process."""


def dumped(folder: Path, name: str, before: str, after: str = "", number: int = 0) -> None:
    stem = folder / f"module_{number:04}.jit_{name}"
    for stage, text in (("before_optimizations", before), ("cpu_after_optimizations", after or before)):
        Path(f"{stem}.{stage}.txt").write_text(text)


def rows(folder: Path) -> list[ReplayedModule]:
    return list(replay_dump(folder, 0, None, Silent()).modules)


@pytest.mark.parametrize("name", ["jax_proto", "tf_autocluster", "tf_jit"])
def test_a_dump_of_either_framework_is_read_run_and_agrees(name: str) -> None:
    for row in rows(DATA / "dumps" / name):
        assert row.read_back and row.optimized_agrees and not row.failure and not row.not_finite
        assert row.results and row.compile_s and row.run_s and row.stage == "before_optimizations"


def test_an_optimized_module_that_computes_something_else_fails(tmp_path: Path) -> None:
    dumped(tmp_path, "wrong", TEXT.format("sine"), TEXT.format("cosine"))
    dumped(tmp_path, "right", TEXT.format("sine"), number=1)
    wrong, right = rows(tmp_path)
    assert wrong.optimized_agrees is False and "gives other results: by" in wrong.failure
    assert right.optimized_agrees is True and not right.failure


def test_a_module_that_is_read_back_as_another_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sine, cosine = (TEXT.format(op).encode() for op in ("sine", "cosine"))
    assert reads_back(sine, standalone.artifact_of_file(sine))
    assert not reads_back(sine, standalone.artifact_of_file(cosine))
    dumped(tmp_path, "f", TEXT.format("sine"))
    monkeypatch.setattr(replaying_dumps, "reads_back", lambda data, artifact: False)
    assert "it computes other values" in rows(tmp_path)[0].failure


def test_what_is_not_finite_is_counted_and_no_failure(tmp_path: Path) -> None:
    dumped(tmp_path, "f", TEXT.format("log"))
    (row,) = rows(tmp_path)
    assert (row.not_finite, row.results, row.failure) == (1, 1, "")


def test_a_module_that_cannot_be_read_costs_its_own_row(tmp_path: Path) -> None:
    dumped(tmp_path, "broken", "HloModule m\nENTRY e {")
    dumped(tmp_path, "elided", "HloModule m\nENTRY e { ROOT c = f32[9] constant({...}) }", number=1)
    dumped(tmp_path, "whole", TEXT.format("sine"), number=2)
    broken, elided, whole = rows(tmp_path)
    assert broken.failure and "all constants spelled out" in elided.failure
    assert broken.results is elided.results is None and not whole.failure


def test_inputs_that_are_too_large_are_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying_dumps, "MOST_INPUT_BYTES", 31)
    dumped(tmp_path, "f", TEXT.format("sine"))
    assert "expected inputs of up to 31 bytes, found 32" in rows(tmp_path)[0].failure


def test_an_optimized_module_alone_is_run_itself(tmp_path: Path) -> None:
    (tmp_path / "module_0000.jit_f.cpu_after_optimizations.txt").write_text(TEXT.format("sine"))
    (row,) = rows(tmp_path)
    assert row.stage == "after_optimizations" and row.optimized_agrees is None and not row.failure


def test_a_folder_without_modules_and_a_bug_report_are_no_dump(tmp_path: Path) -> None:
    (tmp_path / "module_0000.jit_f.html").write_text("a page of `jaxport dump`")
    assert not is_dump(tmp_path) and not is_dump(tmp_path / "absent")
    dumped(tmp_path, "f", TEXT.format("sine"))
    assert is_dump(tmp_path)
    (tmp_path / "bundle.json").write_text("{}")
    assert not is_dump(tmp_path)
    with pytest.raises(UnreadableProgram):
        replay_dump(tmp_path / "absent", 0, None, Silent())


def test_the_command_prints_a_row_a_module_and_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dumped(tmp_path, "right", TEXT.format("sine"))
    assert cli.main(["replay", str(tmp_path)]) == 0
    assert "1 module run again on inputs of seed 0, none failed" in capsys.readouterr().out
    dumped(tmp_path, "wrong", TEXT.format("sine"), TEXT.format("cosine"), number=1)
    assert cli.main(["replay", str(tmp_path), "--seed", "3"]) == 1
    said = capsys.readouterr().out
    assert "failed: 1 wrong: the optimized module of the dump gives other results" in said
    assert "2 modules run again on inputs of seed 3, 1 failed" in said
    assert cli.main(["replay", str(tmp_path), "--json"]) == 1
    assert [row["optimized_agrees"] for row in json.loads(capsys.readouterr().out)["modules"]] == [True, False]


@pytest.mark.parametrize("option", [["--compilers", "here,jax"], ["--xla", "a=1"], ["--inputs", "x"]])
def test_options_of_compilers_are_refused(
    tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    dumped(tmp_path, "f", TEXT.format("sine"))
    assert cli.main(["replay", str(tmp_path), *option]) == 2
    assert f"expected no {option[0]} for a dump directory" in capsys.readouterr().err
