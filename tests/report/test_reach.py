"""How far an input may go, on the page: rows, map and key, and nothing where nothing was swept."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from pages import workload_of

from compare.plain_json import to_json
from compare.record.parity_part import Break, Call, Reach, Span
from compare.record.workload_part import Workload
from compare.report import reach

BROKEN = Break(
    "positive, up to ", 88.7, "y", (3,), float("inf"), 88.7, 88.7, float("inf"), 1e-6, "log", "port.py:4", "o.py:2"
)
CALLS = (Call(1.0, "holds"), Call(128.0, "port breaks"), Call(1e30, "both break"))
FAILS = Reach(
    "x", "forward", "fail", (Span("positive, up to ", 1e-37, 88.3, CALLS, (BROKEN,)),), BROKEN, float("inf"), "x breaks"
)
HOLDS = Reach("y", "gradients", "pass", (Span("around ", 4.0, 1e16, (Call(4.0, "port is better"),)),))


def workload(*swept: Reach) -> Workload:
    return workload_of({"parity": {"reach": to_json(swept)}})


def test_a_break_is_told_with_both_values_and_lines() -> None:
    (row,) = reach.rows(workload(FAILS))
    assert (row.input, row.pass_, row.verdict) == ("x", "forward", "fail")
    assert row.said == ("positive, up to 88.7: jax inf, tf 88.7 (holds at 88.3)",)
    assert (row.operation, row.original) == ("log at port.py:4", "o.py:2")


def test_what_holds_is_told_with_its_ends() -> None:
    (row,) = reach.rows(workload(HOLDS))
    assert (row.said, row.operation) == (("nowhere from 4 to 1e+16",), "")


def test_the_map_has_a_row_for_each_pattern_and_a_key_of_what_is_on_it() -> None:
    drawn = reach.chart(workload(FAILS, HOLDS))
    assert "x positive, up to" in drawn and "y around" in drawn
    assert [sentence for _, sentence in reach.key(workload(FAILS, HOLDS))] == [
        "both hold",
        "the port breaks, TensorFlow holds",
        "the port holds, TensorFlow breaks",
        "both break",
    ]


def test_a_break_without_a_holding_magnitude_names_none() -> None:
    nowhere = replace(FAILS, spans=(replace(FAILS.spans[0], low=None, high=None),))
    assert reach.rows(workload(nowhere))[0].said == ("positive, up to 88.7: jax inf, tf 88.7",)


@pytest.mark.parametrize(
    "part", [{}, {"parity": None}, {"parity": {"reach": [None, {"spans": [None, {"calls": [None]}]}]}}]
)
def test_what_is_missing_is_left_out(part: dict[str, Any]) -> None:
    holed = workload_of(part)
    assert reach.chart(holed) == ""
    assert reach.key(holed) == []
    assert all(row.said for row in reach.rows(holed))
