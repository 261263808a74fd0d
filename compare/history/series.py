"""Ratios over the runs of a history, with a break wherever a run is unlike the one before it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from compare.bench.stats import Interval
from compare.history.likeness import Difference, differences
from compare.history.moves import ratio_names, recurring, row_of
from compare.record.envelope import Environment, Record


@dataclass(frozen=True)
class Point:
    """One ratio of one run. `ratio` is None where it was withheld, with the reason.

    Points of one `segment` are of like runs and may be joined by a line.
    """

    run: int
    created: str
    jaxport: str
    segment: int
    ratio: float | None
    ci95: Interval | None
    withheld: str = ""


@dataclass(frozen=True)
class Break:
    """The first run of a new segment, and in what it differs from the one before."""

    run: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Line:
    """One ratio of one workload through all runs; `verdict` is what the last two runs say against those before."""

    workload: str
    ratio: str
    points: tuple[Point, ...]
    breaks: tuple[Break, ...]
    verdict: str
    confirmed: bool


@dataclass(frozen=True)
class Trend:
    """A history as lines, in the order in which workloads and ratios were first met."""

    runs: tuple[int, ...]
    lines: tuple[Line, ...]


def trend(history: Mapping[int, Record]) -> Trend:
    """Every ratio of every workload, by run number, oldest first."""
    records = list(history.values())
    workloads = dict.fromkeys(name for record in records for name in record.workloads)
    lines = tuple(_line(history, name, ratio) for name in workloads for ratio in ratio_names(records, name))
    return Trend(tuple(history), lines)


def _line(history: Mapping[int, Record], workload: str, ratio: str) -> Line:
    having = {number: record for number, record in history.items() if workload in record.workloads}
    breaks = _breaks(having, workload)
    starts = [first.run for first in breaks]
    points = tuple(
        _point(number, record, workload, ratio, sum(start <= number for start in starts))
        for number, record in having.items()
    )
    recurrence = recurring(list(having.values()), workload, ratio)
    return Line(
        workload, ratio, tuple(point for point in points if point), breaks, recurrence.verdict, recurrence.confirmed
    )


def _breaks(history: Mapping[int, Record], workload: str) -> tuple[Break, ...]:
    breaks = []
    for before, after in pairwise(history):
        unlike = differences(history[before], history[after], [workload])
        if unlike:
            breaks.append(Break(after, unlike))
    return tuple(breaks)


def _point(number: int, record: Record, workload: str, ratio: str, segment: int) -> Point | None:
    row = row_of(record, workload, ratio)
    if row is None:
        return None
    low, high = map(_finite, row.ci95 or (None, None))
    return Point(
        run=number,
        created=record.created,
        jaxport=(record.environment or Environment()).jaxport,
        segment=segment,
        ratio=_finite(row.ratio),
        ci95=None if low is None or high is None else (low, high),
        withheld=row.withheld,
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
