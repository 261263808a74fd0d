"""The page of blocks: charts, the advice in words, what is missing said, nothing of the record read as markup."""

from __future__ import annotations

import pytest
from pages import HOSTILE, Page

from compare.record.block_part import BlockAdvice, BlockRun, BlockSeries, ChainsInBlocks
from compare.record.crossing_part import SizeRatio
from compare.record.vocabulary import FAIL, PASS
from compare.report import block_page, terminal
from compare.report.page_console import print_page
from compare.report.page_html import render

GRAPH, EAGER, JAX = block_page.BLOCKED


def run(block: int, factor: float) -> BlockRun:
    ratio = SizeRatio(pairs=8, ratio=factor, interval=(factor / 1.02, factor * 1.02), verdict="slower")
    modes = (*block_page.BLOCKED, *block_page.WHOLE)
    return BlockRun(
        block=block,
        parity=PASS,
        bit_equal={GRAPH: True, EAGER: False},
        error={GRAPH: 0.0, EAGER: 2e-7},
        kernels=dict.fromkeys(modes, 16),
        seconds=dict.fromkeys(modes, 1e-4 * factor),
        over_whole=dict.fromkeys(block_page.BLOCKED, ratio),
        over_graph=dict.fromkeys(modes, ratio),
    )


SERIES = BlockSeries(
    name="chain",
    summary="16 layers",
    level=0.9875,
    least_gain=0.05,
    runs=(run(0, 3.0), run(1, 2.0), run(4, 1.3), run(16, 1.0)),
    advice=(BlockAdvice(GRAPH, 4, True), BlockAdvice(EAGER, 16, False), BlockAdvice(JAX, None)),
)


def test_the_advice_is_said_and_charts_have_every_mode() -> None:
    page = Page(render(block_page.page(ChainsInBlocks(series=(SERIES,), threads=1))))
    assert "compile blocks of at least 4 layers: from there on compiling all at once gains less than 5 %" in page.text
    assert "at least 16 layers: from there on compiling all at once gains nothing that the intervals tell" in page.text
    assert "jax/eager, blocks called from Python, JAX: no block is large enough" in page.text
    assert page.tags.count("svg") == 2 and "bit for bit" in page.text and "to 2.0e-07" in page.text
    assert "98.75 % each of 4" in page.text and "1 thread" in page.text and "remark" not in page.text
    assert page.text.count("the base") == 1
    drawn = block_page.times(SERIES)
    assert all(f">{mode}</text>" in drawn for mode in (*block_page.BLOCKED, *block_page.WHOLE))
    assert "tf/graph, nothing compiled" in drawn and "whole gains 5 %" in block_page.ratios(SERIES)


@pytest.mark.parametrize("series", [(), (BlockSeries(),), (BlockSeries(runs=(BlockRun(),)),)])
def test_a_record_with_holes_is_shown(series: tuple[BlockSeries, ...]) -> None:
    record = ChainsInBlocks(series=series, interrupted=True)
    assert "Interrupted" in Page(render(block_page.page(record))).text
    print_page(block_page.page(record), terminal.console())


def test_what_was_not_timed_says_why() -> None:
    missing = BlockSeries(name="c", runs=(BlockRun(block=2, parity=FAIL, reason="fails at block=2"),))
    page = Page(render(block_page.page(ChainsInBlocks(series=(missing,)))))
    assert "not timed: fails at block=2" in page.text and "svg" not in page.tags


def test_nothing_of_a_record_is_markup() -> None:
    hostile = BlockRun(block=4, reason=HOSTILE, parity=FAIL)
    series = BlockSeries(name=HOSTILE, summary=HOSTILE, runs=(hostile, *SERIES.runs))
    page = Page(render(block_page.page(ChainsInBlocks(series=(series,)))))
    assert "b" not in page.tags and not [name for name, _ in page.attributes if name.startswith("on")]
