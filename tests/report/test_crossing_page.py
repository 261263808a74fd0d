"""The page of sizes: charts with the crossing marked, what is missing said, nothing of the record read as markup."""

from __future__ import annotations

import pytest
from pages import HOSTILE, Page, texts

from compare.record.crossing_part import CrossingPoint, Crossings, SizedRun, SizeRatio, SizeSeries
from compare.record.vocabulary import FAIL, PASS
from compare.report import crossing_page, terminal
from compare.report.page_console import print_page
from compare.report.page_html import render

JIT, JAX = crossing_page.RATIOS


def run(size: int, jit: float, jax: float) -> SizedRun:
    def ratio(value: float) -> SizeRatio:
        verdict = "faster" if value < 1 else "slower"
        return SizeRatio(pairs=8, ratio=value, interval=(value / 1.1, value * 1.1), verdict=verdict)

    seconds = {"tf/graph": 1e-4, "tf/jit": 1e-4 * jit, "jax/jit": 1e-4 * jax}
    return SizedRun(size=size, parity=PASS, seconds=seconds, ratios={JIT: ratio(jit), JAX: ratio(jax)})


SERIES = SizeSeries(
    name="softmax",
    summary="softmax over rows",
    dimension="elements",
    level=0.975,
    runs=(run(64, 2.0, 0.5), run(4096, 0.5, 0.4)),
    crossings=(CrossingPoint(ratio=JIT, at=512.0, between=(64, 4096), becomes="faster", undecided=(256,)),),
)


def test_the_crossing_is_said_and_marked() -> None:
    page = Page(render(crossing_page.page(Crossings(series=(SERIES,), threads=2))))
    assert "faster from about elements=510 on (between 64 and 4,096, undecided between them)" in page.text
    assert "no crossing in the range: faster from 64 to 4,096" in page.text
    assert page.tags.count("svg") == 2 and "2 threads" in page.text
    assert ">510</text>" in crossing_page.ratios(SERIES)
    assert "97.50 % each of 2" in page.text and "remark" not in page.text


def test_a_size_that_was_not_timed_says_why() -> None:
    missing = SizedRun(size=16, parity=FAIL, reason="fails at n=16: planted")
    series = SizeSeries(name="f", dimension="n", level=0.95, runs=(missing,))
    page = Page(render(crossing_page.page(Crossings(series=(series,), interrupted=True))))
    assert "not timed: fails at n=16: planted" in page.text and "undecided at every size" in page.text
    assert "svg" not in page.tags and "Interrupted" in page.text
    assert crossing_page.times(series) == crossing_page.ratios(series) == ""


@pytest.mark.parametrize("series", [(), (SizeSeries(),), (SizeSeries(runs=(SizedRun(),)),)])
def test_a_record_with_holes_is_shown(series: tuple[SizeSeries, ...], capsys: pytest.CaptureFixture[str]) -> None:
    record = Crossings(series=series)
    page = Page(render(crossing_page.page(record)))
    print_page(crossing_page.page(record), terminal.console(width=200))
    told = capsys.readouterr().out
    for note in crossing_page.notes(record):
        assert note in page.text and note in " ".join(told.split())
    assert "svg" not in page.tags


def test_nothing_of_a_record_is_markup() -> None:
    run = SizedRun(size=4, reason=HOSTILE, parity=FAIL)
    series = SizeSeries(name=HOSTILE, summary=HOSTILE, dimension=HOSTILE, runs=(run, *SERIES.runs))
    page = Page(render(crossing_page.page(Crossings(series=(series,)))))
    assert "b" not in page.tags and not [name for name, _ in page.attributes if name.startswith("on")]


def test_withheld_ratios_are_told_once_a_size() -> None:
    held = SizeRatio(verdict="inconclusive", withheld="A/A check failed")
    series = SizeSeries(runs=(SizedRun(size=4, parity=PASS, seconds={"tf/graph": 1.0}, ratios={JIT: held, JAX: held}),))
    (row,) = texts(crossing_page.runs(series))
    assert row[-1] == "withheld: A/A check failed"
