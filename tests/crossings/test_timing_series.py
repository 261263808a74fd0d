"""A slowdown that is planted beyond a size moves the crossing there: processes whose times the test owns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from owned_sides import NoPool, Owned
from pages import texts

from compare.crossings import size_series, sized_times, timing_series
from compare.crossings.sized_times import Asked
from compare.inputs.request import Plan
from compare.measure import timed_sets
from compare.progress import Silent
from compare.record.crossing_part import Crossings
from compare.record.parity_part import AtSize
from compare.record.vocabulary import FAIL, PASS
from compare.report import crossing_page
from compare.sides._side import SIDES
from compare.sides.pool import Source
from workloads._small_operations import OPERATIONS

SIZES = (64, 256, 1024, 4096, 16384)
OF_JIT, OF_JAX = timing_series.RATIOS
JIT, JAX = str(OF_JIT), str(OF_JAX)


@pytest.fixture(autouse=True)
def owned(monkeypatch: pytest.MonkeyPatch) -> None:
    def passes(pool: object, prepared: object, dimensions: Mapping[str, int], *_: object) -> tuple[AtSize, None]:
        return AtSize(dimensions, PASS, ""), None

    monkeypatch.setattr(timed_sets, "LiveSide", Owned)
    monkeypatch.setattr(sized_times, "Pool", NoPool)
    monkeypatch.setattr(timing_series, "judged_at", passes)
    for name, value in (("slow_beyond", math.inf), ("second", 1.0), ("raising", ""), ("started", 0)):
        monkeypatch.setattr(Owned, name, value)


def surveyed(folder: Path, pairs: int = 6) -> Crossings:
    sizes = size_series.parse(f"elements={','.join(map(str, SIZES))}")
    series = [size_series.of(OPERATIONS["reduction"], sizes)]
    plan = Plan(pairs, pairs, budget_s=1e-4)
    asked = Asked({name: Source() for name in SIDES}, plan)
    return timing_series.survey(series, asked, folder, Silent())


def found(record: Crossings, ratio: str) -> list[tuple[tuple[int, ...], str]]:
    return [(each.between, each.becomes) for each in record.series[0].crossings if each.ratio == ratio]


@pytest.mark.parametrize("place", range(len(SIZES) - 1))
def test_a_slowdown_beyond_a_size_moves_the_crossing_there(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Owned, "slow_beyond", SIZES[place])
    record = surveyed(tmp_path)
    (series,) = record.series
    assert found(record, JIT) == [(SIZES[place : place + 2], "slower")] and found(record, JAX) == []
    (crossing,) = series.crossings
    # From half to twice as long, a straight line between logarithms crosses 1 in the middle.
    assert crossing.at == pytest.approx(math.sqrt(SIZES[place] * SIZES[place + 1]), rel=0.05)
    told = crossing_page.sentence(series, OF_JIT)
    assert told.startswith("tf/jit against tf/graph: slower from about elements=")
    assert "no crossing in the range: faster from 64 to 16,384" in crossing_page.sentence(series, OF_JAX)


def test_without_the_slowdown_nothing_crosses(tmp_path: Path) -> None:
    record = surveyed(tmp_path)
    assert record.series[0].crossings == ()
    assert {run.ratios[JIT].verdict for run in record.series[0].runs} == {"faster"}
    assert [run.ratios[JIT].ratio for run in record.series[0].runs] == pytest.approx([0.5] * 5, rel=0.05)


def test_identical_code_that_differs_leaves_every_size_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Owned, "slow_beyond", SIZES[1])
    monkeypatch.setattr(timed_sets.pairs, "spawn_order", lambda names, *_: tuple(names))
    monkeypatch.setattr(Owned, "second", 1.5)
    record = surveyed(tmp_path)
    (series,) = record.series
    assert series.crossings == () and all("A/A check failed" in run.ratios[JIT].withheld for run in series.runs)
    assert crossing_page.sentence(series, OF_JIT).endswith("undecided at every size")


def test_too_few_pairs_decide_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Owned, "slow_beyond", SIZES[1])
    (series,) = surveyed(tmp_path, pairs=2).series
    assert series.crossings == () and all(run.ratios[JIT].interval is None for run in series.runs)


def test_a_mode_that_fails_is_told_and_the_other_ratio_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Owned, "raising", "tf/jit")
    (series,) = surveyed(tmp_path).series
    for run in series.runs:
        assert run.ratios[JIT].withheld and run.ratios[JAX].verdict == "faster"
        assert any(failure.reason == "planted" for failure in run.failures)


def test_what_is_not_the_same_at_a_size_is_not_timed_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(pool: object, prepared: object, dimensions: Mapping[str, int], *_: object) -> tuple[AtSize, None]:
        wrong = dimensions["elements"] > SIZES[2]
        return AtSize(dimensions, FAIL if wrong else PASS, "planted" if wrong else ""), None

    monkeypatch.setattr(timing_series, "judged_at", differs)
    (series,) = surveyed(tmp_path).series
    assert [bool(run.seconds) for run in series.runs] == [True, True, True, False, False]
    assert [row[-1] for row in texts(crossing_page.runs(series))][3:] == ["not timed: planted"] * 2
    assert "faster from 64 to 1,024, undecided from 4,096 to 16,384" in crossing_page.sentence(series, OF_JIT)


@pytest.mark.parametrize("sets", [0, 6])
def test_who_interrupts_keeps_what_was_complete(sets: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = timed_sets.pairs.measure

    def interrupted(*arguments: Any, seed: int, **options: Any) -> Any:
        if seed == sets:
            raise KeyboardInterrupt
        return honest(*arguments, seed=seed, **options)

    monkeypatch.setattr(timed_sets.pairs, "measure", interrupted)
    monkeypatch.setattr(Owned, "slow_beyond", SIZES[1])
    if not sets:
        with pytest.raises(KeyboardInterrupt):
            surveyed(tmp_path, pairs=8)
        return
    record = surveyed(tmp_path, pairs=8)
    assert record.interrupted and found(record, JIT) == [(SIZES[1:3], "slower")]
    assert any("Interrupted" in note for note in crossing_page.notes(record))
