"""`jaxport explain`: a record is read at once, anything else is measured first; what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from places import DATA

from compare import cli
from compare.explaining import further_evidence
from compare.record.results_file import load
from compare.run import whole_run
from compare.run.whole_run import Request, RunResult

FULL, ADD = DATA / "record_full.json", DATA / "record_add.json"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Request]:
    """What was asked of a run, which answers with a real record."""
    found: list[Request] = []

    def instead(request: Request, _: object) -> RunResult:
        found.append(request)
        return RunResult(load(ADD))

    monkeypatch.setattr(whole_run, "run", instead)
    monkeypatch.setattr(further_evidence, "gather", lambda record, *_: record)
    monkeypatch.chdir(tmp_path)
    return found


def told(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.main(["explain", *map(str, words)]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.main(["explain", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


def test_a_record_is_explained_without_measuring(capsys: pytest.CaptureFixture[str], asked: list[Request]) -> None:
    lines = told(capsys, ADD).splitlines()
    assert lines[0] == "add: jax/jit is slower than tf/eager, the fastest TensorFlow mode"
    assert lines[2].startswith(" 1. jax/jit takes 1.73x of the time of tf/eager")
    assert lines[3] == "    $ jaxport bench add"
    assert any("handed one of 1,024 to another thread" in line for line in lines)
    assert lines[-1] == f"record: {ADD}" and not asked


def test_what_was_measured_before_an_interruption_is_explained_and_does_not_pass(
    capsys: pytest.CaptureFixture[str], asked: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_run, "run", lambda *_: RunResult(load(ADD), interrupted=True))
    assert cli.main(["explain", "add"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("add: jax/jit is slower than tf/eager")
    assert err.endswith("jaxport: interrupted while it measured; the sentences are of what was measured before\n")


def test_every_workload_is_explained_or_the_one_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    every = told(capsys, FULL)
    assert all(f"\n{name}: " in f"\n{every}" for name in ("mnist_mlp", "withheld", "behind"))
    one = told(capsys, FULL, "--workload", "behind")
    assert one.startswith("behind: ") and "mnist_mlp: " not in one


def test_json_has_every_number_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    plain: Any = json.loads(told(capsys, ADD, "--json"))
    (workload,) = plain["workloads"]
    first = workload["sentences"][0]
    assert (plain["schema"], plain["record"], workload["name"]) == (1, str(ADD), "add")
    assert first["rule"] == "against_the_fastest" and first["seconds"] == "inf"
    assert first["figures"][0]["place"] == "/workloads/add/timing/ratios/jax~1jit vs tf~1eager/ratio"
    assert first["figures"][0]["value"] == pytest.approx(1.73, abs=0.01)


def test_a_workload_is_measured_first_with_what_the_rules_need(
    capsys: pytest.CaptureFixture[str], asked: list[Request], tmp_path: Path
) -> None:
    out = told(capsys, "add", "--size", "default", "-o", "here")
    (request,) = asked
    assert [workload.name for workload in request.workloads] == ["add"]
    assert [(plan.pairs, plan.most_pairs) for plan in request.plans] == [(5, 5)]
    assert request.extras.handover and request.extras.limits and not request.extras.peers
    assert "$ jaxport bench add --size default" in out
    assert load(tmp_path / "here" / "results.json") == load(ADD) and (tmp_path / "here" / "report.html").is_file()


def test_functions_are_named_to_each_command_in_its_own_words(
    capsys: pytest.CaptureFixture[str], asked: list[Request], tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("")
    shown = told(capsys, "--tf", "a.py:f", "--jax", "a.py:g", "--input", "x=f32[B,4]", "--dimension", "B=2")
    assert "$ jaxport bench --tf a.py:f --jax a.py:g --input 'x=f32[B,4]' --dimension B=2" in shown
    assert "$ jaxport compilation clusters a.py:f --input 'x=f32[B,4]' --dimension B=2" in shown


def test_without_a_target_the_last_record_is_read(
    capsys: pytest.CaptureFixture[str], asked: list[Request], tmp_path: Path
) -> None:
    assert "jaxport-report/results.json" in refused(capsys)
    (tmp_path / "jaxport-report").mkdir()
    (tmp_path / "jaxport-report" / "results.json").write_text(ADD.read_text())
    assert told(capsys) == told(capsys, "jaxport-report")
    assert not asked


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["absent.json"], "absent.json"),
        ([FULL, "--workload", "lstm"], "one of mnist_mlp, withheld, behind"),
        ([FULL, "--size", "smoke"], "drop --size"),
        ([FULL, "--tf", "f.py:f", "--jax", "f.py:g"], "drop --tf"),
        (["add", "--workload", "add"], "drop --workload"),
        (["addd"], "addd"),
        (["--tf", "f.py:f"], "name both functions"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], asked: list[Request], words: list[Any], complaint: str
) -> None:
    assert complaint in refused(capsys, *words)
    assert not asked


@pytest.mark.parametrize(
    ("command", "size", "shown"),
    [
        (["jaxport", "run", "add", "--size", "smoke"], "smoke", "jaxport bench add --size smoke"),
        (["jaxport", "run", "my ports/add.py"], "tour", "jaxport bench 'my ports/add.py'"),
        (["jaxport", "run", "--tf", "a.py:f", "--jax", "b.py:g"], "tour", "jaxport report"),
        (["jaxport", "run", "one.py", "two.py"], "tour", "jaxport report"),
    ],
)
def test_commands_name_what_the_record_says_was_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str], size: str, shown: str
) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(json.loads(ADD.read_text()) | {"command": command, "size": size}))
    assert f"\n    $ {shown}" in told(capsys, path)
