"""The last line of a command and its exit code say the same thing."""

from __future__ import annotations

import argparse
import importlib
import io
import typing
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from command_ends import SCENARIOS
from concluding import REASON, left, searched, whole
from rich.text import Text

from compare import cli
from compare.commands._conclusion import Conclusion, conclude
from compare.commands._names import module_of
from compare.prove.locating import NONE
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report.verdicts import WORDS

ENDS = [(command, end) for command, ends in SCENARIOS.items() for end in ends]


def disagreement(command: str, main: Callable[[argparse.Namespace], Any], patch: pytest.MonkeyPatch) -> str:
    """How the last line of a command and its exit code disagree; empty where they say the same, or no line is said."""
    patch.setattr(cli, "parse_options", lambda _: argparse.Namespace(command=command, json=False))
    patch.setattr(cli, "_module", lambda _: SimpleNamespace(main=main))
    output = io.StringIO()
    patch.setattr("sys.stdout", output)
    code = cli.main([command])
    last = output.getvalue().splitlines()[-1:] or [""]
    word = next((verdict for verdict, word in WORDS.items() if last[0].startswith(f"{word} ")), "")
    if not word:
        return "" if code == 0 else f"exit code {code} after {last[0]!r}, which is no verdict"
    return "" if (code == 0) == (word == PASS) else f"exit code {code} after {last[0]!r}"


@pytest.mark.parametrize(("command", "end"), ENDS)
def test_the_last_line_and_the_exit_code_say_the_same(command: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reach, verdict = SCENARIOS[command][end]
    conclusion = reach()
    assert (conclusion and conclusion.verdict) == verdict
    assert disagreement(command, lambda _: conclusion, monkeypatch) == ""


PLANTED: dict[str, Callable[[argparse.Namespace], Any]] = {
    "says pass, and is not judged": lambda _: Lying(NOT_JUDGED, "of a gate"),
    "says nothing, and fails": lambda _: Silent(FAIL, "of a gate"),
}


class Lying(Conclusion):
    """A conclusion whose line is another verdict's."""

    @property
    def line(self) -> Text:
        return Conclusion(PASS, self.sentence).line


class Silent(Conclusion):
    """A conclusion whose line is a path."""

    @property
    def line(self) -> Text:
        return Text("jaxport-report/report.html")


@pytest.mark.parametrize("planted", PLANTED)
def test_a_disagreement_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert disagreement("run", PLANTED[planted], monkeypatch).startswith("exit code 1 after ")


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_that_can_fail_gives_a_conclusion_and_no_other_does(command: str) -> None:
    module = importlib.import_module(module_of(command))
    gives = typing.get_type_hints(module.main)["return"]
    judges = Conclusion in (gives, *typing.get_args(gives))
    assert judges == bool(module.HELP.fails) == (command in SCENARIOS)
    assert judges or gives is type(None)


@pytest.mark.parametrize("command", SCENARIOS)
def test_every_command_that_can_fail_is_seen_to_hold_and_not_to(command: str) -> None:
    verdicts = {verdict for _, verdict in SCENARIOS[command].values()}
    assert verdicts & {PASS, None} and verdicts - {PASS, None}


def test_places_are_counted_and_named() -> None:
    assert left(PASS).sentence == "2 places are left to write in model_jax.py: a (Lambda); b (Lambda)"


def test_the_rest_that_was_judged_is_no_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    left(PASS)
    assert "pass Parity holds in 1 of 1 workload; rest.py was judged" in capsys.readouterr().err
    assert whole(PASS).sentence.startswith("the port is written whole, and every gate holds")


def test_the_reason_of_a_pass_that_was_not_searched_is_in_the_last_line() -> None:
    assert searched(NONE, NONE) == Conclusion(NOT_JUDGED, f"2 of 2 passes could not be searched: {REASON}")


def test_nothing_is_printed_beside_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert conclude(Conclusion(NOT_JUDGED, REASON), quiet=True) == 1
    assert capsys.readouterr().out == ""
