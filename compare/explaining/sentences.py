"""The input and output of rules: a workload of a record, and sentences with the paths of their numbers in it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from compare.record.base import Number
from compare.record.envelope import Record
from compare.record.timing_part import Ratio, Timing
from compare.record.workload_part import Workload
from compare.report import numbers, tables
from workloads.core.modes import PORT, Mode, Pair

FASTER, SLOWER, EQUIVALENT = "faster", "slower", "equivalent"
DECIDED = (FASTER, SLOWER, EQUIVALENT)
"""Verdicts whose interval says which."""

ALWAYS_FIRST = float("inf")

CLUSTERS = "compilation clusters"
_NOT_REPORTED = ("explain", CLUSTERS)
"""Commands that show what report.html does not."""

_UNROLLING = ("run", "bench")
"""Commands that take --unroll."""


@dataclass(frozen=True)
class Figure:
    """A number of the record, and where it stands there: a JSON pointer (RFC 6901) into results.json."""

    place: str
    value: float


@dataclass(frozen=True)
class Sentence:
    """One measurement in words.

    Attributes:
      rule: which rule said it.
      text: the sentence; it states what was measured, and a cause only where an experiment shows one.
      figures: the numbers that it is made of.
      command: what shows them.
      sources: FILE:LINE of what it concerns, where that is known.
      seconds: of a call, that it is about; sentences about more of it come first.
    """

    rule: str
    text: str
    figures: tuple[Figure, ...]
    command: str
    sources: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Commands:
    """How what was measured is shown.

    Attributes:
      subject: what `jaxport bench` is given to measure the workload again; empty where that is not known.
      record: the results.json that all numbers stand in.
      clustered: the same for `jaxport compilation clusters`, which takes one function of TensorFlow; empty where
        `subject` will do.
      chosen: the option that names what was timed; empty where that is the default of these commands.
    """

    subject: str
    record: str
    clustered: str = ""
    chosen: str = ""

    def by(self, name: str) -> str:
        """The command of that name, or the one that shows the record where the workload cannot be named."""
        subject = (name == CLUSTERS and self.clustered) or self.subject
        if subject:
            takes_options = name != "explain" and (name in _UNROLLING or "--unroll" not in self.chosen)
            return (
                f"jaxport {name} {subject} {self.chosen}"
                if self.chosen and takes_options
                else f"jaxport {name} {subject}"
            )
        return f"jaxport {'explain' if name in _NOT_REPORTED else 'report'} {shlex.quote(self.record)}"


@dataclass(frozen=True)
class Case:
    """One workload of a record, as the rules read it."""

    record: Record
    name: str
    commands: Commands

    @property
    def part(self) -> Workload:
        """All that the record says of it."""
        return self.record.workloads[self.name]

    @property
    def timing(self) -> Timing:
        """Its times; empty where it has none."""
        return self.part.timing or Timing()

    @property
    def fastest(self) -> Mode | None:
        """The TensorFlow mode of the lowest median that was timed with the port."""
        row = tables.against_best(self.part)
        return row.pair.right if row and row.pair else None

    def ratio(self, left: Mode, right: Mode) -> Ratio | None:
        """Time of one mode over that of another; None where it is missing or withheld."""
        ratio = self.timing.ratios.get(str(Pair(left, right)))
        return None if ratio is None or ratio.withheld or numbers.finite(ratio.ratio) is None else ratio

    def verdict(self, left: Mode, right: Mode) -> str:
        """The figures of that ratio; empty where there is none."""
        ratio = self.ratio(left, right)
        return ratio.verdict if ratio else ""

    @property
    def comparable(self) -> Mode | None:
        """The fastest TensorFlow mode whose ratio to the port is not withheld."""
        fastest = self.fastest
        return fastest if fastest and self.ratio(PORT, fastest) else None

    def of_ratio(self, left: Mode, right: Mode) -> tuple[Figure, ...]:
        """The ratio and its interval."""
        ratio = self.ratio(left, right) or Ratio()
        place = ("timing", "ratios", str(Pair(left, right)))
        ends = enumerate(ratio.ci95 or ())
        figures = (self.figure(ratio.ratio, *place, "ratio"), *(self.figure(end, *place, "ci95", n) for n, end in ends))
        return present_figures(figures)

    def of_median(self, mode: Mode | str) -> tuple[Figure, ...]:
        """Seconds of a call in a mode."""
        return present_figures(
            (self.figure(tables.median(self.timing, mode), "timing", "modes", str(mode), "median_s"),)
        )

    def figure(self, value: Number, *keys: str | int) -> Figure | None:
        """A number of the workload's part; None where it is missing or not finite."""
        return figure(value, "workloads", self.name, *keys)


def figure(value: Number, *keys: str | int) -> Figure | None:
    """A number of the record; None where it is missing or not finite."""
    number = numbers.finite(value)
    return None if number is None else Figure(pointer(keys), number)


def pointer(keys: Sequence[str | int]) -> str:
    """The place as RFC 6901 writes it: "~" and "/" in a name are escaped."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def present_figures(figures: Sequence[Figure | None]) -> tuple[Figure, ...]:
    """The figures that are not None."""
    return tuple(figure for figure in figures if figure is not None)


def ratio_text(ratio: Ratio) -> str:
    """A ratio with its interval and verdict: "1.31x [1.20, 1.42], slower"."""
    return f"{numbers.ratio(ratio.ratio)} {numbers.interval(ratio.ci95)}, {ratio.verdict}"
