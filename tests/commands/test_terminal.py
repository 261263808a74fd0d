"""What is printed: no foreign string steers a terminal, adds a line or reads as markup; JSON is the record alone."""

from __future__ import annotations

import ast
import io
import json
import linecache
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import decoded
from places import ROOT
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare import cli
from compare.api import departures
from compare.bundles.distance import Difference
from compare.bundles.replaying import Compared, Replayed
from compare.commands import _replay_tables, tune
from compare.history.moves import Recurrence
from compare.hlo.locate import Departure, OperationPlace
from compare.progress import Bars, Countdown, Lines
from compare.prove import locating as locating
from compare.report import terminal
from compare.report.alignments import print_alignments
from compare.report.changes import print_changes
from compare.report.console import print_overview
from compare.report.dump_pages import print_modules
from compare.tuning.option_search import Row
from compare.tuning.tuner import Tuned
from workloads.core import registry
from workloads.core.spec import Workload

STEERING = "\x1b]0;title\x07\x1b[2J\x1b[1A\x9b2K\x08\x0c\r\u202eold\u2066\u200f\x85\u2028\x00"
EVIL = f"[red]e[/red] :boom: {STEERING}\nforged line"
RICHS_OWN = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AGK])|\r")
"""Colours, and how a bar of progress is drawn again."""


def plain_console(**how: Any) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return terminal.PlainConsole(file=file, width=400, **how), file


def harmless(printed: str) -> None:
    """Nothing but printable text is left, the markup is told as it stands, and nobody made a line of their own."""
    left = RICHS_OWN.sub("", printed) if "\x1b[" in printed else printed
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", left), ascii(left)
    assert "[red]e[/red] :boom:" in left
    assert not [line for line in left.splitlines() if line.strip().startswith("forged")]


def overview(console: Console) -> None:
    gate = {"verdict": "fail", "comparisons": [], "reason": EVIL}
    failure = {"side": EVIL, "doing": EVIL, "reason": EVIL}
    workload = {"parity": {"verdict": "fail", "gates": {"structure": gate}}, "failures": [failure], "size": EVIL}
    print_overview(decoded({"workloads": {EVIL: workload}}), console)


def changes(console: Console) -> None:
    print_changes([Recurrence(EVIL, EVIL, EVIL, False, (), (), EVIL)], console)


def alignments(console: Console) -> None:
    place = dict.fromkeys(("side", "op", "name", "reason", "source"), EVIL)
    reason = {"kind": "rule", "name": EVIL, "meaning": EVIL, "places": 1, "sides": {EVIL: 1}, "sources": [EVIL]}
    level: dict[str, Any] = dict.fromkeys(("matched", "left", "right", "results", "results_equal"), 2)
    level |= {"equal": False, "assumes": [EVIL], "headline": EVIL, "unequal": [EVIL], "reasons": [reason]}
    level |= {"frontier": [place | {"explanation": None}]}
    levels = {"raw": level, EVIL: {"reason": EVIL}}
    made = {"tf@jax": {"bound_by": EVIL, "notes": [EVIL], "library_calls": {EVIL: 1}}, "jax@jax": {"reason": EVIL}}
    targets = {EVIL: made | {"differences": [EVIL]}}
    print_alignments({"pairs": [{"name": EVIL, "level": "raw", "levels": levels, "targets": targets}]}, console)


def modules(console: Console) -> None:
    problem = {"file": EVIL, "reason": EVIL}
    module = {"function": EVIL, "framework": EVIL, "number": EVIL, "problems": [problem]}
    print_modules({"modules": [module], "unknown": [{"path": EVIL, "bytes": EVIL}]}, console)


def located(console: Console) -> None:
    place = OperationPlace("jax", EVIL, f"{EVIL}:3", EVIL, EVIL)
    departure = Departure("changed", EVIL, place, place, EVIL, EVIL, EVIL, None, inside=(EVIL,))
    found = locating.Located(locating.DEPARTS, "float64", (departure,), (), (EVIL,), (1, 1), EVIL, {f"{EVIL}:3": EVIL})
    departures.show({EVIL: {"forward": found}}, console)


def replayed(console: Console) -> None:
    result = Compared(EVIL, (2,), "float32", {EVIL: Difference(0.0, 0.0, None, True, 0.0)})
    _replay_tables.show([Replayed(EVIL, EVIL, EVIL, (result,), {EVIL: EVIL})], console)


def tuned(console: Console) -> None:
    found = Tuned(EVIL, EVIL, "cpu", {EVIL: 1}, {}, 1, [Row(EVIL, {}, EVIL, EVIL)], None, {}, "", EVIL)
    tune.show(EVIL, found, console)


def progressing(console: Console) -> None:
    with Bars(console) if console.is_terminal else Lines(console) as reporter:
        reporter.stage(EVIL, 2)
        reporter.step(EVIL)
        reporter.detail(EVIL)
        reporter.result(EVIL)


PRINTERS = (overview, changes, alignments, modules, located, replayed, tuned, progressing)


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "pipe"])
@pytest.mark.parametrize("show", PRINTERS, ids=lambda show: show.__name__)
def test_no_foreign_string_steers_adds_a_line_or_reads_as_markup(
    show: Callable[[Console], None], is_terminal: bool
) -> None:
    console, file = plain_console(force_terminal=is_terminal)
    show(console)
    harmless(file.getvalue())


def test_the_list_shows_what_packages_say_of_their_workloads_as_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = Workload("evil", "m:f", "m:g", {}, summary=EVIL, source=EVIL, sizes={"smoke": {EVIL: 1}})
    monkeypatch.setattr(registry, "names", lambda: [EVIL])
    monkeypatch.setattr(registry, "get", lambda _: evil)
    monkeypatch.setenv("COLUMNS", "400")
    for asked in (["list"], ["list", EVIL]):
        assert cli.main(asked) == 0
        harmless(capsys.readouterr().out)


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["line", "traceback"])
def test_a_refusal_quotes_what_it_was_given_as_text(capsys: pytest.CaptureFixture[str], debug: list[str]) -> None:
    for asked in (["run", EVIL], ["report", f"{EVIL}.json"], ["hlo", f"./{EVIL}", "./b"], ["replay", EVIL], [EVIL]):
        assert cli.main([*asked, *debug]) == 2
        out, err = capsys.readouterr()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", err), ascii(err)
        assert out == ""
        assert debug or len([line for line in err.splitlines() if not line.startswith("[")]) == 1


def test_only_richs_own_codes_are_control_codes() -> None:
    console, file = plain_console(force_terminal=True)
    table = Table("head", title=Text(EVIL))
    table.add_row(Text(EVIL, style="bold red"))
    console.print(table, EVIL, Text(EVIL))
    harmless(file.getvalue())
    assert "\x1b[1;31m" in file.getvalue()


def test_what_is_said_is_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say(Path("a  b"), "c\nd\x1b[2J")
    terminal.complain("e\r\nf\x9b")
    out, err = capsys.readouterr()
    assert out.splitlines() == ["a  b", "c d\ufffd[2J"]
    assert err.splitlines() == ["jaxport: e  f\ufffd"]


def test_json_is_what_every_parser_takes(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_json({"a": [math.nan, math.inf, -math.inf, 1e308], "b": EVIL})
    printed = capsys.readouterr().out

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads(printed, parse_constant=refuse)
    assert found == {"a": ["nan", "inf", "-inf", 1e308], "b": EVIL}
    assert printed.isascii() and printed.count("\n") == 1


def test_nothing_is_printed_past_the_one_place() -> None:
    past = []
    for path in sorted((ROOT / "compare").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                foreign = not all(isinstance(each, ast.Constant) for each in node.args)
                past += [path.name] if node.func.id == "Console" or (node.func.id == "print" and foreign) else []
    # What interprets a module in a process of its own is read by the process that started it; the schema is a file;
    # what runs an export is not run here; cli.py says that Rich is missing without Rich.
    assert set(past) == {"cli.py", "terminal.py", "interpreting.py", "json_schema.py", "run_exported.py"}


def test_a_log_is_never_silent_for_long_while_steps_go_on() -> None:
    now = [0.0]
    console, file = plain_console(force_terminal=False)
    reporter = Lines(console, lambda: now[0])
    reporter.stage("port: parity", 4)
    for now[0], step in ((3.0, "tf/jit forward"), (12.5, "jax/jit forward"), (13.0, "sweep"), (41.0, "training")):
        reporter.step(step)
    assert [line.strip() for line in file.getvalue().splitlines()] == [
        "[   0.0 s] port: parity",
        "[  12.5 s] port: parity: jax/jit forward, step 2 of 4",
        "[  41.0 s] port: parity: training, step 4 of 4",
    ]


def test_the_time_left_follows_from_the_shares_of_the_steps_that_are_done() -> None:
    """After 20 s a third is done: too early for an estimate. After 60 s two thirds are, so that all ends at 90 s."""
    now = [0.0]
    console, file = plain_console(force_terminal=False)
    reporter = Lines(console, lambda: now[0])
    reporter.stage("port: parity", {"forward pass": 1.0, "gradients": 1.0, "gates": 1.0})
    for now[0], step in ((0.0, "forward pass"), (20.0, "gradients"), (60.0, "gates")):
        reporter.step(step)
    for now[0] in (75.0, 95.0):
        reporter.detail("tf/jit")
    assert [line.partition("] ")[2] for line in file.getvalue().splitlines()] == [
        "port: parity",
        "port: parity: gradients, step 2 of 3",
        "port: parity: gates, step 3 of 3 (about 30 s to the end)",
        "port: parity: tf/jit, step 3 of 3 (about 15 s to the end)",
        "port: parity: tf/jit, step 3 of 3",
    ]


def test_a_long_step_says_how_far_it_is_and_how_long_the_rest_takes() -> None:
    now = iter(range(0, 10_000, 11))
    console, file = plain_console(force_terminal=False)
    reporter = Lines(console, lambda: float(next(now)))
    reporter.stage("port: parity", 4)
    seconds = iter([0.0, 0.0, 10.0, 300.0])
    countdown = Countdown(reporter, "sweep", 40, lambda: next(seconds))
    for done in (0, 4, 20):
        countdown.show(done)
    assert [line.partition("] ")[2] for line in file.getvalue().splitlines()] == [
        "port: parity",
        "port: parity: sweep, 0 of 40",
        "port: parity: sweep, 4 of 40, about 90 s left",
        "port: parity: sweep, 20 of 40, about 5 min left",
    ]


def test_a_text_stays_a_text_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a kernel does
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *_: pytest.fail("shown in the cell"))
    assert terminal.text_of(lambda console: console.print("line", style="bold")) == "line"


def test_a_line_of_a_notebooks_cell_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = "/tmp/ipykernel_1/2.py"
    monkeypatch.setitem(linecache.cache, cell, (9, None, ["x = 1\n", "  y = 2\n"], cell))
    assert [locating.text(f"{cell}:{line}") for line in (1, 2, 3)] == ["x = 1", "y = 2", ""]
