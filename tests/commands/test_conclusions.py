"""The last verdict that a command prints and its exit code say the same thing."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compare.commands import init, locate
from compare.commands import next as next_
from compare.commands._conclusion import LEFT, code_of, conclude
from compare.commands._output import exit_code, told
from compare.prove.locating import AGREES, DEPARTS, FAILED, NONE, Located
from compare.record.envelope import Record
from compare.record.parity_part import Gate, Parity
from compare.record.rung_part import NOT_REACHED, Ladder, Rung
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.record.workload_part import Failure, Workload
from compare.report import terminal
from compare.report.verdicts import INCOMPLETE, WORDS

REASON = "XLA has no kernel for MaxPoolWithArgmax"
NO_GRADIENT = "tf: program gradients float32: TensorFlow has no gradient of Floor"


def run(*verdicts: str | None, failures: tuple[Failure, ...] = ()) -> int:
    """`jaxport run` of workloads whose semantics gate says so."""
    workloads = {
        f"port{at}": Workload(
            parity=None if verdict is None else Parity(verdict, {"semantics": Gate(verdict, reason=REASON)}),
            failures=failures,
        )
        for at, verdict in enumerate(verdicts)
    }
    record = Record(schema=1, workloads=workloads)
    terminal.write(told(record))
    return exit_code(record)


def searched(*verdicts: str, reason: str = REASON) -> int:
    """`jaxport locate` of passes of which so much is said."""
    passes = {f"pass{at}": Located(verdict, reason=reason) for at, verdict in enumerate(verdicts)}
    locate.show({"port": passes}, terminal.console())
    return conclude(*locate.concluded({"port": passes}))


def climbed(*verdicts: str) -> int:
    """`jaxport next` of rungs that say so."""
    rungs = tuple(Rung(f"rung{at}", verdict) for at, verdict in enumerate(verdicts))
    fails = next((rung.name for rung in rungs if rung.verdict == FAIL), "")
    return conclude(*next_.concluded(Ladder("port", fails, rungs)))


def whole(gates: str) -> int:
    """`jaxport init` of a port that is written whole, which the gates judge so."""
    options: Any = argparse.Namespace(no_run=False, json=False, timeout=1, tf_python=None, jax_python=None)
    port: Any = SimpleNamespace(folder=Path(), file=Path("port.py"), unwritten=(), findings=())
    workload = Workload(parity=Parity(gates, {"semantics": Gate(gates, reason=REASON)}))
    result = SimpleNamespace(record=Record(schema=1, workloads={"port": workload}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(init.port_files, "get_each", lambda _: [])
        patch.setattr(init.whole_run, "run", lambda *_: result)
        patch.setattr(init, "deliver", lambda *_: None)
        outcome = init._outcome(options, port)
    assert outcome is not None
    return conclude(*outcome)


def left(gates: str) -> int:
    """`jaxport init` of a port with two places, whose rest the gates judge so."""
    options: Any = argparse.Namespace(no_run=False, json=False)
    port: Any = SimpleNamespace(
        folder=Path(), file=Path("port.py"), rest=Path("rest.py"), unwritten=("a (Lambda)", "b (Lambda)"), findings=()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(init, "_judged", lambda *_: run(gates))
        return conclude(*init._left(options, port))


OUTCOMES: dict[str, tuple[Callable[[], int], str]] = {
    "run: pass": (lambda: run(PASS, PASS), PASS),
    "run: fail": (lambda: run(PASS, FAIL), FAIL),
    "run: not judged": (lambda: run(PASS, NOT_JUDGED), NOT_JUDGED),
    "run: fail beside not judged": (lambda: run(NOT_JUDGED, FAIL), FAIL),
    "run: nothing was judged": (lambda: run(PASS, None), INCOMPLETE),
    "run: a result is missing": (lambda: run(PASS, failures=(Failure("jax", "profile", "lost"),)), INCOMPLETE),
    "locate: agrees": (lambda: searched(AGREES, AGREES), PASS),
    "locate: departs": (lambda: searched(AGREES, DEPARTS), FAIL),
    "locate: departs beside not searched": (lambda: searched(NONE, DEPARTS), FAIL),
    "locate: not searched": (lambda: searched(NONE, NONE), NOT_JUDGED),
    "locate: agrees beside not searched": (lambda: searched(AGREES, NONE), NOT_JUDGED),
    "locate: agrees beside a program that fails": (lambda: searched(AGREES, FAILED), NOT_JUDGED),
    "locate: agrees, without a gradient": (lambda: searched(AGREES, NONE, reason=NO_GRADIENT), PASS),
    "locate: nothing but a gradient that is none": (lambda: searched(NONE, reason=NO_GRADIENT), NOT_JUDGED),
    "locate: no pass": (searched, NOT_JUDGED),
    "next: pass": (lambda: climbed(PASS, NOT_APPLICABLE, PASS), PASS),
    "next: fail": (lambda: climbed(PASS, FAIL, NOT_REACHED), FAIL),
    "next: not judged": (lambda: climbed(PASS, NOT_JUDGED, PASS), NOT_JUDGED),
    "next: fail beside not judged": (lambda: climbed(NOT_JUDGED, FAIL), FAIL),
    "init: written whole, and it holds": (lambda: whole(PASS), PASS),
    "init: written whole, and a gate fails": (lambda: whole(FAIL), FAIL),
    "init: written whole, and a gate is not judged": (lambda: whole(NOT_JUDGED), NOT_JUDGED),
    "init: places are left, and the rest holds": (lambda: left(PASS), LEFT),
    "init: places are left, and the rest fails": (lambda: left(FAIL), LEFT),
    "init: places are left, and the rest is not judged": (lambda: left(NOT_JUDGED), LEFT),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_last_line_and_the_exit_code_say_the_same(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, verdict = OUTCOMES[name]
    code = command()

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"{WORDS[verdict]} ")
    assert code == code_of(verdict) == (0 if verdict == PASS else 1)


def test_places_are_counted_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    left(PASS)

    assert "2 places are left to write in model_jax.py: a (Lambda); b (Lambda)" in capsys.readouterr().out


def test_the_reason_of_a_pass_that_was_not_searched_is_in_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    searched(NONE, NONE)

    assert capsys.readouterr().out.splitlines()[-1] == f"not judged 2 of 2 passes could not be searched: {REASON}"


def test_nothing_is_printed_beside_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert conclude(NOT_JUDGED, REASON, quiet=True) == 1
    assert capsys.readouterr().out == ""
