"""Where ratios cross 1: a planted change of sides is found where it was planted, and none where there is none."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.bench.crossing_points import Point, crossings
from compare.bench.stats import FASTER, INCONCLUSIVE, SLOWER, interval_at, level_together, ratio

SIZES = tuple(4**power for power in range(1, 11))
WIDTHS = st.floats(1.0, 3.0)
LOGS = st.floats(-3.0, 3.0)


def point(size: int, value: float, width: float = 1.01) -> Point:
    return Point(size, value, (value / width, value * width))


@st.composite
def points(draw: st.DrawFn) -> list[Point]:
    """Ratios of any size, some withheld."""
    sizes = sorted(draw(st.sets(st.integers(1, 10**9), min_size=1, max_size=12)))
    drawn = [point(size, math.exp(draw(LOGS)), draw(WIDTHS)) for size in sizes]
    return [Point(each.size) if draw(st.integers(0, 4)) == 0 else each for each in drawn]


@given(st.floats(math.log(5), math.log(SIZES[-1] / 1.3)), st.floats(0.2, 2.0))
def test_ratios_on_a_straight_line_cross_where_the_line_does(where: float, slope: float) -> None:
    drawn = [point(size, math.exp(slope * (where - math.log(size))), 1 + 1e-9) for size in SIZES]
    (found,) = crossings(drawn)
    assert found.becomes == FASTER and found.at == pytest.approx(math.exp(where))
    assert found.between[0] <= found.at * (1 + 1e-6) and found.at <= found.between[1] * (1 + 1e-6)


@given(points())
def test_a_crossing_lies_between_its_sizes_and_sides_alternate(drawn: list[Point]) -> None:
    found = crossings(drawn)
    sides = [each.side for each in drawn if each.side != INCONCLUSIVE]
    assert len(found) == sum(one != other for one, other in itertools.pairwise(sides))
    for each in found:
        low, high = each.between
        assert low * (1 - 1e-9) <= each.at <= high * (1 + 1e-9)
        assert each.undecided == tuple(one.size for one in drawn if low < one.size < high)
    becomes = [each.becomes for each in found]
    assert all(one != other for one, other in itertools.pairwise(becomes))


@given(points())
def test_the_ratio_the_other_way_round_crosses_at_the_same_sizes(drawn: list[Point]) -> None:
    turned = [
        replace(each, ratio=1 / each.ratio, interval=(1 / each.interval[1], 1 / each.interval[0]))
        if each.ratio and each.interval
        else each
        for each in drawn
    ]
    one, other = crossings(drawn), crossings(turned)
    assert [each.between for each in one] == [each.between for each in other]
    assert [each.at for each in one] == pytest.approx([each.at for each in other])
    assert all(each.becomes != twin.becomes for each, twin in zip(one, other, strict=True))


@given(points(), st.floats(1.0, 4.0))
def test_wider_intervals_decide_no_more(drawn: list[Point], factor: float) -> None:
    wider = [
        replace(each, interval=(each.interval[0] / factor, each.interval[1] * factor)) if each.interval else each
        for each in drawn
    ]
    assert len(crossings(wider)) <= len(crossings(drawn))


def test_undecided_sizes_lie_between_and_the_last_crossing_of_the_estimates_counts() -> None:
    drawn = [point(1, 2.0), point(10, 0.9, 1.5), Point(30), point(100, 1.1, 1.5), point(1000, 0.5)]
    (found,) = crossings(drawn)
    assert (found.between, found.undecided, found.becomes) == ((1, 1000), (10, 30, 100), FASTER)
    assert 100 < found.at < 1000


def test_a_size_without_an_interval_decides_nothing() -> None:
    assert Point(8, 0.1).side == INCONCLUSIVE
    assert crossings([point(1, 2.0), Point(2, 0.1, (0.0, math.inf))]) == []
    assert [point(1, 2.0).side, point(1, 0.5).side] == [SLOWER, FASTER]


def test_sizes_that_do_not_rise_are_refused() -> None:
    with pytest.raises(ValueError, match="expected sizes that rise, found"):
        crossings([point(2, 1.0), point(2, 1.0)])


@given(st.integers(1, 50), st.floats(0.5, 0.99))
def test_a_level_for_several_intervals_lies_above_that_of_one(count: int, level: float) -> None:
    each = level_together(level, count)
    assert level <= each < 1 and (1 - each) * count == pytest.approx(1 - level)


def test_an_interval_at_95_percent_is_that_of_the_ratio() -> None:
    rounds = [[1.0 + 0.01 * pair + 0.002 * turn for turn in range(6)] for pair in range(6)]
    found = ratio(rounds, [[1.0] * 6] * 6)
    assert interval_at(found, 0.95) == pytest.approx(found.ci95)
    low, high = interval_at(found, level_together(0.95, 7))
    assert low < found.ci95[0] and high > found.ci95[1]
