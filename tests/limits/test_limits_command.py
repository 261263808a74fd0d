"""`jaxport limits` in real workers: every statement comes out as it is declared, and a wrong declaration fails."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from compare import cli
from compare.limits import naming_limits, trying_limits
from workloads._spec import ArraySpec
from workloads.limits._limit import limits
from workloads.limits._statement import Raised, Statement, statements
from workloads.limits.recompilation import STREAMS

pytestmark = pytest.mark.process

THEMES = sorted({theme for theme, _ in statements().values()})


def test_every_statement_comes_out_as_declared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "limits.md"
    code = cli.main(["limits", *THEMES, "--json", "-o", str(page)])
    limits = json.loads(capsys.readouterr().out)["limits"]
    assert [(limit["name"], limit["unexpected"]) for limit in limits if limit["unexpected"]] == []
    assert code == 0 and [limit["name"] for limit in limits] == list(statements())
    assert all(f"| `{limit['name']}`:" in page.read_text() for limit in limits)


def test_a_wrong_declaration_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    theme, declared = statements()["while_loop"]
    wrong = dataclasses.replace(declared, seen={**declared.seen, "tf/jit": "raises"}, says={"tf/jit": "raises"})

    def planted() -> dict[str, tuple[str, Statement]]:
        return {**statements(), "while_loop": (theme, wrong)}

    monkeypatch.setattr(naming_limits, "statements", planted)
    monkeypatch.setattr(trying_limits, "statements", planted)
    assert cli.main(["limits", "while_loop"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "not as known: tf/jit: expected raises, found same" in shown
    assert "today: not known: tf/jit: expected raises, found same" in shown


def test_an_error_of_another_kind_is_not_the_stated_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    theme, declared = statements()["axis_from_a_loop"]
    wrong = dataclasses.replace(declared, raises={**declared.raises, "tf/jit": Raised("out of memory", "")})
    monkeypatch.setattr(trying_limits, "statements", lambda: {"axis_from_a_loop": (theme, wrong)})
    assert cli.main(["limits", "axis_from_a_loop", "--json"]) == 1
    (limit,) = json.loads(capsys.readouterr().out)["limits"]
    assert limit["agrees"] is None and limit["unexpected"].startswith("tf/jit: expected an error with 'out of memory'")


def test_what_is_computed_from_an_argument_differs_from_its_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["limits", "argmax_tensor"]) == 0
    assert "today: differs: tf/jit, stated: raises" in capsys.readouterr().out


def test_a_stream_and_a_pair_are_run_by_the_same_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["limits", "unknown_size", "too_few_operations", "--json"]) == 0
    stream, pair = json.loads(capsys.readouterr().out)["limits"]
    assert stream["ways"]["tf/jit"]["outcome"] == "1 trace, 3 compilations"
    assert pair["ways"]["tf/autocluster"]["outcome"] == "cut" and pair["agrees"]


def test_a_stream_whose_call_raises_is_not_called_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = dataclasses.replace(STREAMS["argmax"], calls=("x=f32[8,4], axis=7",))
    monkeypatch.setattr(trying_limits, "STREAMS", {"argmax": wrong})
    assert cli.main(["limits", "argmax"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "tf/jit not known: call 1: " in shown and "axis" in shown and "lost" not in shown
    assert "today: not known: call 1: " in shown


def test_a_pair_whose_function_raises_does_not_end_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    theme, pair = limits()["too_few_operations"]
    wrong = {"too_few_operations": (theme, dataclasses.replace(pair, inputs={**pair.inputs, "more": ArraySpec((3,))}))}
    monkeypatch.setattr(trying_limits, "limits", lambda: wrong)
    assert cli.main(["limits", "too_few_operations", "while_loop"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "tf/autocluster not known: TypeError" in shown and "lost" not in shown and "while_loop:" in shown


def test_a_worker_that_is_lost_makes_no_statement_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["limits", "unique", "--timeout", "0.2", "--json"]) == 1
    (limit,) = json.loads(capsys.readouterr().out)["limits"]
    assert limit["agrees"] is None and limit["ways"].keys() == {"tf/eager"}
    assert (
        limit["ways"]["tf/eager"]["lost"]
        and "--timeout" in limit["ways"]["tf/eager"]["told"]
        and "found nothing" in limit["unexpected"]
    )
