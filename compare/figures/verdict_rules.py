"""Rules that compare our figures with those of a document; each gives a verdict and its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from compare.figures.row import Unread
from compare.record.figure_part import AGREES, DIFFERS, SAME_DIRECTION, UNDECIDED, Figure


@dataclass(frozen=True)
class Counts:
    """Numbers without an interval, each of which the document states.

    They agree where every one is the document's, to `within` of it. Of several the direction is the same where they
    rise and fall as the document's do.

    Attributes:
      stated: by name of our figure, the document's.
      within: the part of the document's by which ours may be off: 0 of exact counts.
    """

    stated: Mapping[str, float]
    within: float = 0.0

    def judge(self, ours: Mapping[str, Figure]) -> tuple[str, str]:
        """The verdict, and why.

        Raises:
          Unread: a figure is missing.
        """
        numbers = {name: number(ours, name) for name in self.stated}
        sentence = f"ours: {_list_numbers(list(numbers.values()))}, stated: {_list_numbers(list(self.stated.values()))}"
        if all(
            abs(numbers[name] - expected_number) <= self.within * expected_number
            for name, expected_number in self.stated.items()
        ):
            return AGREES, sentence if self.within == 0 else f"{sentence}; to {self.within:.0%} that is the same"
        if len(numbers) > 1 and _steps(list(numbers.values())) == _steps(list(self.stated.values())):
            return SAME_DIRECTION, sentence
        return DIFFERS, sentence


@dataclass(frozen=True)
class SpeedUp:
    """A factor of time with an interval: above 1 what the document recommends is faster.

    It agrees where the interval holds the document's figure, or any of its range, and not 1 as well.

    Attributes:
      figure: the name of ours.
      low: the document's figure, or the least of its range.
      high: the largest of its range; None of a single figure.
    """

    figure: str
    low: float
    high: float | None = None

    def judge(self, ours: Mapping[str, Figure]) -> tuple[str, str]:
        """The verdict, and why.

        Raises:
          Unread: the figure is missing.
        """
        value, high = number(ours, self.figure), self.low if self.high is None else self.high
        range_text = f"{self.low:.3g}x" if high == self.low else f"{self.low:.3g}x to {high:.3g}x"
        interval = ours[self.figure].ci95
        if interval is None or None in interval:
            return UNDECIDED, f"{value:.3g}x has no interval to hold {range_text} against"
        least, most = (float(end) for end in interval if end is not None)
        sentence = f"our interval is {least:.3g}x to {most:.3g}x, stated: {range_text}"
        holds_figure, holds_one = least <= high and self.low <= most, least <= 1 <= most
        if holds_one:
            return (UNDECIDED, f"{sentence}; it holds 1 too") if holds_figure else (DIFFERS, f"{sentence}; it holds 1")
        if holds_figure:
            return AGREES, sentence
        return (SAME_DIRECTION if (least > 1) == (self.low > 1) else DIFFERS), sentence


@dataclass(frozen=True)
class Faster:
    """A factor of time with an interval, where the document says which is faster, and not by how much."""

    figure: str

    def judge(self, ours: Mapping[str, Figure]) -> tuple[str, str]:
        """The verdict, and why.

        Raises:
          Unread: the figure is missing.
        """
        value, interval = number(ours, self.figure), ours[self.figure].ci95
        if interval is None or None in interval:
            return UNDECIDED, f"{value:.3g}x has no interval to hold 1 against"
        least, most = (float(end) for end in interval if end is not None)
        sentence = f"our interval is {least:.3g}x to {most:.3g}x"
        if least <= 1 <= most:
            return UNDECIDED, f"{sentence}; it holds 1"
        return (AGREES if least > 1 else DIFFERS), sentence


@dataclass(frozen=True)
class Less:
    """Two of our numbers, where the document says which is less, and not by how much."""

    figure: str
    than: str

    def judge(self, ours: Mapping[str, Figure]) -> tuple[str, str]:
        """The verdict, and why.

        Raises:
          Unread: a figure is missing.
        """
        value, other = number(ours, self.figure), number(ours, self.than)
        relation = "less than" if value < other else "as much as" if value == other else "more than"
        return (AGREES if value < other else DIFFERS), f"{self.figure} is {relation} {self.than}"


@dataclass(frozen=True)
class Within:
    """A number that the document gives by its size alone, as "seconds": it agrees from `low` to `high`."""

    figure: str
    low: float
    high: float
    unit: str = ""

    def judge(self, ours: Mapping[str, Figure]) -> tuple[str, str]:
        """The verdict, and why.

        Raises:
          Unread: the figure is missing.
        """
        value = number(ours, self.figure)
        sentence = f"ours: {value:.3g} {self.unit}".rstrip() + f", stated: {self.low:g} to {self.high:g}"
        return (AGREES if self.low <= value <= self.high else DIFFERS), f"{sentence} {self.unit}".rstrip()


def number(ours: Mapping[str, Figure], name: str) -> float:
    """A figure's number.

    Raises:
      Unread: the figure, or its number, is missing.
    """
    if name not in ours:
        raise Unread(f"the record has no {name}")
    figure = ours[name]
    if figure.value is None:
        raise Unread(f"{name}: {figure.reason or 'no number'}")
    return float(figure.value)


def _steps(numbers: Sequence[float]) -> list[int]:
    """For each number but the first, -1, 0 or 1: it is below, at or above the number before it."""
    return [(after > before) - (after < before) for before, after in pairwise(numbers)]


def _list_numbers(numbers: Sequence[float]) -> str:
    *first, last = (f"{value:,.2f}".removesuffix(".00") for value in numbers)
    return f"{', '.join(first)} and {last}" if first else last
