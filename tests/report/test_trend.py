"""The page of a history: plots that break where runs are unlike, verdicts in words, and strings that stay text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from pages import HOSTILE, Page

from compare.history.likeness import Difference
from compare.history.series import Break, Line, Point, Trend
from compare.report import drawing, page_html, trend
from compare.report.page_html import TEMPLATES
from compare.report.showable import each_string


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts cost most of the time, and the tests of charts draw them."""
    monkeypatch.setattr(drawing, "svg", lambda chart: "<svg></svg>")


def point(run: int, ratio: float | None, segment: int = 0, withheld: str = "") -> Point:
    ci95 = None if ratio is None else (ratio * 0.97, ratio * 1.03)
    return Point(run, "2026-11-20", "0.1.0", segment, ratio, ci95, withheld)


def shown(history: Trend) -> str:
    return page_html.render(trend.page(history))


def history(**changes: Any) -> Trend:
    """A trend: one workload, two ratios, a break before run 5, a withheld point."""
    line = Line(
        workload="add",
        ratio="jax/jit vs tf/jit",
        points=(point(1, 0.6), point(2, 0.61), point(5, 0.7, 1), point(6, None, 1, "the null missed 1")),
        breaks=(Break(5, (Difference("cpu", "A", "B"), Difference("size", "smoke", "default", ("add",)))),),
        verdict="not compared",
        confirmed=False,
    )
    other = replace(line, ratio="tf/jit vs tf/eager", breaks=(), verdict="regression confirmed", confirmed=True)
    return Trend((1, 2, 5, 6), (replace(line, **changes), other))


def test_the_trend_has_a_plot_a_ratio_and_breaks_the_line_with_the_keys_that_differ() -> None:
    drawn = trend.chart(history().lines)
    assert ">jax/jit vs tf/jit: not compared<" in drawn and ">tf/jit vs tf/eager: regression confirmed<" in drawn
    assert ">cpu, size<" in drawn
    # Runs 1 and 2 are joined; run 5 is of another machine.
    joined = [path.count("L") for path in re.findall(r'd="(M[^"Z]*)" stroke="#2463b0"', drawn)]
    assert joined == [1]


def test_the_trend_in_the_colours_of_the_page_and_the_same_every_time() -> None:
    drawn = trend.chart(history().lines)
    style = (TEMPLATES / "report.css").read_text()
    assert all(f"[{paint}]" in style for paint in re.findall(r'(?:fill|stroke)="#[0-9a-f]+"', drawn))
    assert trend.chart(history().lines) == drawn


def test_the_page_of_a_history_says_what_differs_and_what_is_confirmed() -> None:
    text = " ".join(Page(shown(history())).text.split())
    assert "1 confirmed regression" in text
    assert "from run 5: cpu: A, then B; size of add: smoke, then default" in text
    assert "the null missed 1" in text
    calm = replace(history(), lines=history().lines[:1])
    assert "No confirmed regression" in Page(shown(calm)).text


def test_every_string_of_a_history_is_escaped(undrawn: None) -> None:
    evil = each_string(history(), lambda text: f"{text}{HOSTILE}")
    html = shown(evil)
    assert not {"b", "i", "script"} & set(Page(html).tags)
    assert Page(html).text.count("<b onclick='x'>&amp;") >= 10
    assert "\x1b" not in html


def test_a_history_whose_every_ratio_was_withheld_has_no_chart() -> None:
    points = (point(1, None, withheld="the null missed 1"),)
    lines = tuple(replace(line, points=points) for line in history().lines)
    assert trend.chart(lines) == ""
    assert "Every ratio was withheld." in shown(Trend((1,), lines))


@pytest.mark.parametrize("empty", [Trend((), ()), Trend((1,), (Line("add", "a vs b", (), (), "", False),))])
def test_a_history_without_a_ratio_has_a_page(empty: Trend) -> None:
    assert Page(shown(empty)).tags
