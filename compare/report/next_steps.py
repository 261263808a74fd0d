"""What to do after a run: for each verdict the command that goes on from it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath

from compare.record.envelope import Record
from compare.record.vocabulary import FAIL, PASS
from compare.record.workload_part import Workload
from compare.report.overviews import OverviewRow

_FUNCTIONS = ("--tf", "--jax", "--input")
"""Options that name both functions of a run, and their inputs."""

_MOST = 3
"""Workloads of one verdict that are named: a suite of fifty that fails has one reason more often than fifty."""


def next_steps(record: Record, rows: Sequence[OverviewRow]) -> list[tuple[str, str]]:
    """Commands, each with what it answers, for the workloads that fail; where none does, for what was not asked yet.

    Args:
      record: of the run.
      rows: its overview.
    """
    failures = [row for row in rows if row.verdict == FAIL]
    if failures:
        return [step for row in failures[:_MOST] for step in _of_failure(_operands(record.command, row.name))]
    passes = [row for row in rows if row.verdict == PASS][:_MOST]
    return [step for row in passes for step in _of_pass(row, record.workloads[row.name], record.command)]


def _of_failure(operands: str) -> Iterator[tuple[str, str]]:
    yield f"jaxport locate {operands}", "which operation makes it differ, on which line, and why"
    if not operands.startswith("-"):
        yield f"jaxport next {operands}", "which part of the port fails first, layer by layer"


def _of_pass(row: OverviewRow, workload: Workload, command: Sequence[str]) -> Iterator[tuple[str, str]]:
    operands = _operands(command, row.name)
    if row.ratio is None:
        yield f"jaxport bench {operands}", f"how fast {row.name} is, beside every mode of TensorFlow"
    elif row.ratio.verdict == "slower":
        yield f"jaxport explain {operands}", f"why {row.name} is slower"
    if workload.alignment is None:
        yield f"jaxport hlo {operands}", "whether both programs are the same, value by value"


def _operands(command: Sequence[str], name: str) -> str:
    """What names a workload on the command line: its port file, both functions, or its name."""
    words = list(command[2:])
    if "--tf" in words:
        pairs = [(option, word) for option, word in pairwise(words) if option in _FUNCTIONS]
        return shlex.join([word for pair in pairs for word in pair])
    paths = [word for word in words if PurePath(word).suffix == ".py" and PurePath(word).stem == name]
    return shlex.quote(paths[0] if paths else name)
