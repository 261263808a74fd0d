"""Names the next command for each verdict of a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from compare.record.envelope import Record
from compare.record.vocabulary import FAIL, PASS
from compare.record.workload_part import Workload
from compare.report.overviews import OverviewRow

_FUNCTIONS = ("--tf", "--jax", "--input", "--dimension")
"""Options that name both functions of a run, and their inputs."""

_KEPT = ("--size", "--data", "--device", "--tf-python", "--jax-python")
"""Options that say what is judged, and where: every command takes them."""

_MOST = 3
"""Workloads of one verdict that are named: a suite of fifty that fails has one reason more often than fifty."""


def next_steps(record: Record, rows: Sequence[OverviewRow]) -> list[tuple[str, str]]:
    """Commands, each with what it answers, for the workloads that fail; where none does, for what was not asked yet."""
    failures = [row for row in rows if row.verdict == FAIL]
    if failures:
        return [
            step
            for row in failures[:_MOST]
            for step in _of_failure(record.workloads[row.name], _operands(record, row.name))
        ]
    passes = [row for row in rows if row.verdict == PASS][:_MOST]
    return [step for row in passes for step in _of_pass(row, record.workloads[row.name], _operands(record, row.name))]


def _of_failure(workload: Workload, operands: str) -> Iterator[tuple[str, str]]:
    if not operands:
        return
    if workload.parity is not None and any(place.operation for place in workload.parity.places):
        yield f"jaxport watch {operands} --fail-fast", "whether it holds, after each edit of the lines that differ"
        return
    yield f"jaxport locate {operands}", "which operation makes it differ, on which line, and why"
    if not operands.startswith("-"):
        yield f"jaxport next {operands}", "which part of the port fails first, layer by layer"


def _of_pass(row: OverviewRow, workload: Workload, operands: str) -> Iterator[tuple[str, str]]:
    if not operands:
        return
    if row.ratio is None:
        yield f"jaxport bench {operands}", f"how fast {row.name} is, beside every mode of TensorFlow"
    elif row.ratio.verdict == "slower":
        yield f"jaxport explain {operands}", f"why {row.name} is slower"
    if workload.alignment is None:
        yield f"jaxport hlo {operands}", "whether both programs are the same, value by value"


def _operands(record: Record, name: str) -> str:
    """The arguments that name a workload, as it was judged; empty if the record's command does not show them."""
    words = _split_options(record.command)
    if "--tf" in words:
        return shlex.join([*_select(words, _FUNCTIONS), *_select(words, _KEPT)])
    if words[1:2] == ["init"]:
        folder = next(iter(_select(words, ("-o", "--out"))[1:]), "")
        return shlex.quote(str(PurePath(folder, "port.py"))) if folder else ""
    subject = _find_subject(words[2:], name, len(record.workloads))
    return shlex.join([subject, *_select(words, _KEPT)]) if subject else ""


def _find_subject(words: Sequence[str], name: str, count: int) -> str:
    """The port file of a workload, or its name; empty where several files might be meant."""
    files = [word for word in words if PurePath(word).suffix == ".py"]
    by_name = [path for path in files if PurePath(path).stem == name]
    if by_name or name in words or not files:
        return (by_name or [name])[0]
    return files[0] if len(files) == count == 1 else ""


def _split_options(command: Sequence[str]) -> list[str]:
    """The words of a command, each option apart from its value."""
    return [
        part for word in command for part in (word.split("=", 1) if word.startswith("--") and "=" in word else [word])
    ]


def _select(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Some options with their values, in the order of the command."""
    places = [place for place, word in enumerate(words[:-1]) if word in options]
    return [word for place in places for word in words[place : place + 2]]
