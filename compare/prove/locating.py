"""Locates where a port departs from its original: runs both programs of every pass on the same arrays."""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.locate import DOUBLE, SINGLE, Case, Departure, Findings, OperationPlace, Precision, locate
from compare.hlo.promote import PromotionError
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_both
from compare.progress import Reporter
from compare.prove.oracle import promote_program
from compare.prove.subjects import cases, subjects
from compare.sides import requests
from compare.sides._side import SIDES, SideError, Unavailable
from compare.sides.pool import Pool
from workloads.core.declared import AnyWorkload
from workloads.protocol.framework import PASSES, Program, is_kinks

AGREES, DEPARTS, NONE, FAILED = "agrees", "departs", "none", "failed"
"""The verdict on a pass: none where the workload has no such pass, failed where a program is missing or fails."""

_SMALLEST = "smoke"
_MOST_TEXT = 160


@dataclass(frozen=True)
class Located:
    """One pass: its departures, and in which float type they show ("float64" of promoted programs, or "float32")."""

    verdict: str
    dtype: str = ""
    departures: tuple[Departure, ...] = ()
    again: tuple[Departure, ...] = ()
    """Departures on a line that an earlier pass has named already."""
    results: tuple[str, ...] = ()
    cascade: tuple[int, int] = (0, 0)
    reason: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    """By "file:line", the text of the line."""


@dataclass(frozen=True)
class Choice:
    """The passes of a workload to locate in (all by default), at its smallest size unless another is chosen."""

    passes: Sequence[str] = PASSES
    size: str | None = None
    data: Path | None = None


def locate_each(
    pool: Pool, workloads: Sequence[AnyWorkload], choice: Choice, scratch: Path, reporter: Reporter
) -> dict[str, dict[str, Located]]:
    """By workload and pass, where JAX's program departs. If one of several cannot be examined, the others are.

    Raises:
      RequestError, SideError: a single workload cannot be looked at.
    """
    located_of: dict[str, dict[str, Located]] = {}
    for workload in workloads:
        try:
            located_of[workload.name] = locate_workload(pool, workload, choice, scratch, reporter)
        except (RequestError, SideError) as error:
            if len(workloads) == 1:
                raise
            located_of[workload.name] = {choice.passes[0]: Located(FAILED, reason=str(error))}
    return located_of


def locate_workload(
    pool: Pool, workload: AnyWorkload, choice: Choice, scratch: Path, reporter: Reporter
) -> dict[str, Located]:
    """By pass, where JAX's program departs from TensorFlow's.

    Raises:
      RequestError: the workload has no such size or pass.
      SideError: a side cannot be started, or has no such function.
    """
    pool.renew()
    size = choice.size or (_SMALLEST if _SMALLEST in workload.sizes else None)
    instance, _ = prepare_both(workload, size, choice.data, scratch)
    modes = [requests.load(pool.get(side), instance.loading) for side in SIDES]
    passes = [pass_ for pass_ in choice.passes if all(pass_ in mode for mode in modes)]
    if not passes:
        raise RequestError(
            f"expected a pass of {workload.name} ({', '.join(modes[1])}), found {', '.join(choice.passes)}: "
            "choose another --pass"
        )
    reporter.stage(f"{workload.name}: locating", len(passes))
    located_of: dict[str, Located] = {}
    for pass_ in passes:
        reporter.step(pass_)
        lines = {_line(one) for earlier in located_of.values() for one in earlier.departures} - {""}
        located_of[pass_] = _once(_pass(pool, instance, pass_), lines)
    return located_of


def _pass(pool: Pool, instance: Prepared, pass_: str) -> Located:
    try:
        left, right = (requests.program(pool.get(side), pass_, "float32") for side in SIDES)
    except SideError as error:
        if error.lost:
            raise
        return Located(NONE if isinstance(error, Unavailable) else FAILED, reason=str(error))
    try:
        return locate_programs(left, right, instance)
    except UnreadableProgram as error:
        return Located(FAILED, reason=str(error))


def locate_programs(left: Program, right: Program, instance: Prepared, case: str = "") -> Located:
    """One pass of a workload from its two programs.

    First both are promoted to float64, where no departure is rounding. Without a departure they run as written.

    Args:
      case: the case in which they differ; empty: the first case, and those of kinks.

    Raises:
      UnreadableProgram: a program cannot be read, or run by this process's XLA.
    """
    try:
        doubles = promote_program(left), promote_program(right)
    except PromotionError as error:
        return _locate(left, right, instance, case, "float32", SINGLE, f"float64: {error}")
    in_float64 = _locate(*doubles, instance, case, "float64", DOUBLE)
    return in_float64 if in_float64.departures else _locate(left, right, instance, case, "float32", SINGLE)


def _locate(
    left: Program, right: Program, instance: Prepared, case: str, dtype: str, precision: Precision, reason: str = ""
) -> Located:
    names = instance.loading.cases
    arguments = cases(left, right, instance, most=len(names))
    # One random case distinguishes values as well as three do; cases of kinks show what no random case can.
    positions = [position for position, name in enumerate(names) if position == 0 or is_kinks(name)]
    if case in names:
        # Beside a case of kinks one without: that they agree there tells what is to blame.
        positions = [0, names.index(case)] if is_kinks(case) else [names.index(case)]
    samples = [Case(*arguments[position], smooth=not is_kinks(names[position])) for position in positions]
    return _describe(locate(*subjects(left, right), samples, precision), dtype, reason)


def _describe(findings: Findings, dtype: str, reason: str) -> Located:
    places = [
        place
        for departure in findings.departures
        for place in (departure.left, departure.right)
        if place and place.source
    ]
    texts = {place.source: text(place.source) for place in places}
    verdict = DEPARTS if findings.departures else AGREES
    return Located(verdict, dtype, findings.departures, (), findings.results, findings.cascade, reason, texts)


def _once(part: Located, lines: set[str]) -> Located:
    """The departures of a pass without those on lines that an earlier pass has named."""
    again = tuple(departure for departure in part.departures if _line(departure) in lines)
    return dataclasses.replace(
        part, departures=tuple(departure for departure in part.departures if departure not in again), again=again
    )


def _line(departure: Departure) -> str:
    """The line of the port, or the original's where the port has none."""
    return source_line(departure.right or departure.left)


def source_line(place: OperationPlace | None) -> str:
    """FILE:LINE of an operation; empty where nothing tells it."""
    return place.source if place else ""


def describe_proof(departure: Departure, departures: int) -> str:
    """Why an operation is to blame.

    Args:
      departures: how many are to blame.
    """
    if departure.by_change:
        return "with what the cause says changed, every result agrees"
    if departure.confirmed and departures > 1:
        return f"given TensorFlow's values at these {departures} operations, every result agrees"
    if departure.confirmed:
        return "given TensorFlow's value here, every result agrees"
    return "none: no single value makes the results agree; check the line and its consumers"


def text(source: str) -> str:
    """The text at "file:line"; "" if the file cannot be read. Python knows the cells of a notebook as files."""
    file, _, line = source.rpartition(":")
    try:
        lines = Path(file).read_text(errors="replace").splitlines()
    except OSError:
        lines = linecache.getlines(file)
    return lines[int(line) - 1].strip()[:_MOST_TEXT] if 0 < int(line) <= len(lines) else ""


def record(located_of: Mapping[str, Mapping[str, Located]]) -> dict[str, Any]:
    """Plain data of all workloads, for scripts."""
    return {
        "workloads": {
            name: {pass_: dataclasses.asdict(one) for pass_, one in passes.items()}
            for name, passes in located_of.items()
        }
    }
