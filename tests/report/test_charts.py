"""Charts: well formed, the same every time, in the page's colours, and honest about what is not there."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from pages import workload_of
from places import DATA

from compare.record.results_file import load_plain
from compare.record.workload_part import Workload
from compare.report import charts
from compare.report.drawing import JAX_COLOR, TF_COLOR
from compare.report.page_html import TEMPLATES

RECORD = load_plain(DATA / "record_small.json")


@pytest.fixture
def record() -> dict[str, Any]:
    """A whole copy, to be changed at will."""
    return copy.deepcopy(RECORD)


@pytest.fixture
def honest(record: dict[str, Any]) -> dict[str, Any]:
    """The workload that has every part."""
    return record["workloads"]["running_example"]


DRAWINGS = (charts.timing, charts.ratios, charts.losses)


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_chart_is_well_formed_deterministic_and_keeps_hostile_names_as_text(
    record: dict[str, Any], draw: Any
) -> None:
    drawn = draw(workload_of(record["workloads"]["mnist_mlp"]))
    assert draw(workload_of(record["workloads"]["mnist_mlp"])) == drawn
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawn).iter()}
    assert tags <= {"svg", "g", "path", "text", "line", "rect"}


@pytest.mark.parametrize("draw", DRAWINGS)
def test_the_style_sheet_knows_every_colour_of_a_chart(record: dict[str, Any], draw: Any) -> None:
    style = (TEMPLATES / "report.css").read_text()
    painted = set(re.findall(r'(?:fill|stroke)="#[0-9a-f]+"', draw(workload_of(record["workloads"]["mnist_mlp"]))))
    assert painted
    assert all(f"[{paint}]" in style for paint in painted)


def test_the_timing_chart_labels_every_mode_that_was_timed(honest: dict[str, Any]) -> None:
    drawn = charts.timing(workload_of(honest))
    assert all(f">{mode}<" in drawn for mode in honest["timing"]["modes"])
    assert ">3.40 ms<" in drawn


def test_the_ratio_chart_leaves_out_what_was_withheld_and_shows_the_null(record: dict[str, Any]) -> None:
    drawn = charts.ratios(workload_of(record["workloads"]["mnist_mlp"]))
    assert ">jax/jit vs tf/jit<" not in drawn
    assert ">jax/jit vs itself (identical code)<" in drawn


def test_nothing_to_draw_draws_nothing() -> None:
    assert [draw(Workload()) for draw in DRAWINGS] == ["", "", ""]


def test_loss_curves_of_both_sides_lie_over_one_another() -> None:
    modes = ("tf/jit", "tf/keras", "jax/jit", "jax/donated", "jax/tuned")
    drawn = charts.losses(workload_of({"trajectory": {mode: {"loss": [2.0, 1.0, 0.5]} for mode in modes}}))
    curves = re.findall(r'<path[^>]*aria-roledescription="line mark"[^>]*>', drawn)
    shown = [
        (re.findall(r'stroke="([^"]+)"', curve)[0], re.findall(r'stroke-width="([^"]+)"', curve)[0]) for curve in curves
    ]
    assert shown == [(TF_COLOR, "6")] * 2 + [(JAX_COLOR, "1.5")] * 3
    assert len({re.findall(r' d="([^"]+)"', curve)[0] for curve in curves}) == 1


@pytest.mark.parametrize(
    ("tf", "jax", "error", "step"),
    [
        ([2.0, 1.0, 0.5], [2.0, 1.0, 0.5], 0.0, 1),
        ([2.0, 1.0, 0.5], [2.0, 1.1, 0.5], 0.1 / 1.1, 2),
        ([2.0, 1.0], [2.0, "nan"], float("inf"), 2),
        ([2.0, "nan"], [2.0, "nan"], 0.0, 1),
    ],
)
def test_the_largest_gap_between_losses_is_found(tf: list[Any], jax: list[Any], error: float, step: int) -> None:
    (gap,) = charts.loss_gaps(workload_of({"trajectory": {"tf/jit": {"loss": tf}, "jax/jit": {"loss": jax}}}))
    assert (gap.error, gap.step) == (pytest.approx(error), step)
