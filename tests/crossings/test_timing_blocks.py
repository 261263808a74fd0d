"""A cost that is planted in every call of a compiled function moves the advice to larger blocks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from owned_sides import NoPool, OwnedBlocks
from pages import texts

from compare.crossings import block_evidence, size_series, sized_times, timing_blocks
from compare.crossings.block_evidence import Seen
from compare.crossings.sized_times import Asked
from compare.errors import RequestError
from compare.inputs.request import Plan
from compare.measure import timed_sets
from compare.progress import Silent
from compare.record.block_part import ChainsInBlocks
from compare.record.parity_part import AtSize
from compare.record.vocabulary import FAIL, PASS
from compare.report import block_page
from compare.sides._side import SIDES
from compare.sides.pool import Source
from workloads._layer_chain import CHAINS
from workloads.core import registry

MODES = ("tf/eager", "tf/graph", "jax/eager")


@pytest.fixture(autouse=True)
def owned(monkeypatch: pytest.MonkeyPatch) -> None:
    def passes(pool: object, prepared: object, dimensions: Mapping[str, int], *_: object) -> tuple[AtSize, None]:
        return AtSize(dimensions, PASS, ""), None

    monkeypatch.setattr(timed_sets, "LiveSide", OwnedBlocks)
    monkeypatch.setattr(sized_times, "Pool", NoPool)
    monkeypatch.setattr(timing_blocks, "judge_at", passes)
    monkeypatch.setattr(
        timing_blocks, "collect", lambda *_: Seen(kernels={"tf/graph": 3}, bit_equal={"tf/graph": True})
    )
    monkeypatch.setattr(OwnedBlocks, "call_s", 1e-5)
    monkeypatch.setattr(OwnedBlocks, "started", 0)


def surveyed(folder: Path, pairs: int = 6) -> ChainsInBlocks:
    asked = Asked({name: Source() for name in SIDES}, Plan(pairs, pairs, budget_s=1e-4))
    chain = size_series.in_blocks(CHAINS["elementwise_chain"], (), None)
    return timing_blocks.survey([chain], asked, folder, Silent())


# In blocks of k, 16 layers of 10 us take 160 us and 16 / k calls; whole they take one call. It gains less than 5 %
# where (16 / k - 1) * call is less than 5 % of it all.
@pytest.mark.parametrize(("call_s", "layers"), [(1e-7, 1), (8e-7, 2), (4e-6, 8), (1e-5, 16), (1e-3, 16)])
def test_a_planted_cost_of_a_call_moves_the_advice(
    call_s: float, layers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OwnedBlocks, "call_s", call_s)
    (series,) = surveyed(tmp_path).series
    assert [run.block for run in series.runs] == [0, 1, 2, 4, 8, 16]
    assert {each.mode: each.layers for each in series.advice} == dict.fromkeys(MODES, layers)
    assert all(each.shown for each in series.advice)
    told = block_page.sentences(series)
    assert all(f"compile blocks of at least {layers} layer" in line and "less than 5 %" in line for line in told)


def test_times_over_the_graph_go_through_the_whole(tmp_path: Path) -> None:
    (series,) = surveyed(tmp_path).series
    by_block = {run.block: run for run in series.runs}
    # 480 us without a compiled function, 160 + 160, 160 + 40 and 160 + 10 us with them.
    for block, seconds in ((0, 480), (1, 320), (4, 200), (16, 170)):
        ratio = by_block[block].over_graph["tf/graph"]
        assert ratio.ratio == pytest.approx(seconds / 480, rel=0.02) and ratio.interval is not None
    assert by_block[4].over_whole["jax/eager"].ratio == pytest.approx(200 / 170, rel=0.02)
    assert by_block[4].seconds["tf/graph"] == pytest.approx(200e-6, rel=0.02)


def test_too_few_pairs_give_no_advice(tmp_path: Path) -> None:
    (series,) = surveyed(tmp_path, pairs=2).series
    assert all(each.layers is None for each in series.advice)
    assert all(line.endswith("undecided: the largest blocks have no interval") for line in block_page.sentences(series))


def test_a_size_that_is_not_the_same_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(pool: object, prepared: object, dimensions: Mapping[str, int], *_: object) -> tuple[AtSize, None]:
        wrong = dimensions["block"] == 16
        return AtSize(dimensions, FAIL if wrong else PASS, "planted" if wrong else ""), None

    monkeypatch.setattr(timing_blocks, "judge_at", differs)
    (series,) = surveyed(tmp_path).series
    assert not series.runs[-1].seconds and series.runs[-2].seconds
    assert all(each.layers is None for each in series.advice)
    rows = [row for row in texts(block_page.modes(series)) if row[0] == "tf/graph"]
    assert rows[-1][-1] == "not timed: planted" and rows[0][1] == "none"


def test_results_that_are_not_the_bits_of_the_whole_are_told_how_far() -> None:
    whole = {"y": np.array([1.0, 4.0], np.float32)}
    assert block_evidence._error({"y": np.array([1.0, 4.2], np.float32)}, whole) == pytest.approx(0.05, rel=1e-5)
    assert block_evidence._error(whole, whole) == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("add", "expected a dimension `block` of add"), ("mnist_mlp", "expected a forward pass, found mnist_mlp")],
)
def test_what_is_no_chain_is_refused(name: str, expected: str) -> None:
    with pytest.raises(RequestError, match=expected):
        size_series.in_blocks(registry.get(name), (1, 2), None)
