"""Limits as they are shown: what is stated, what was seen, and where the two part."""

from __future__ import annotations

from msgspec.structs import replace

from compare.record.limit_part import Limit, LimitWay
from compare.report.limit_tables import described, page, summary, verdict

LIMIT = Limit(
    name="dynamic",
    theme="known_issues",
    kind="statement",
    summary="an array that grows",
    statement="It cannot be compiled.",
    source="A document",
    port="scan",
    says={"tf/jit": "raises"},
    ways={
        "tf/jit": LimitWay(outcome="other", told="result 0 is of shape [0], was [8]"),
        "jax/port": LimitWay(outcome="same", bit_equal=True),
    },
    agrees=False,
    command="jaxport limits dynamic",
)


AGREEING = replace(LIMIT, agrees=True)
LOST = replace(LIMIT, agrees=None)


def test_a_difference_names_the_way_and_what_is_stated() -> None:
    assert verdict(LIMIT) == "differs: tf/jit, stated: raises"
    assert verdict(Limit(agrees=True)) == "agrees"
    counted = Limit(says={"tf/jit": "raises"}, ways={"tf/jit": LimitWay(outcome="1 trace, 3 compilations")})
    assert verdict(replace(counted, agrees=False)) == "differs: tf/jit, stated: raises"
    other = replace(counted, unexpected="tf/jit: expected an error with 'Where', found 'OutOfMemory'")
    assert verdict(other) == f"not known: {other.unexpected}"
    assert verdict(replace(counted, says={})) == "no outcome follows from the statement"
    assert verdict(Limit()) == "not run"
    assert verdict(replace(LOST, ways={"tf/eager": LimitWay(told="died", lost=True)})) == "not known: a worker was lost"
    assert verdict(replace(LOST, ways={"tf/jit": LimitWay(told="call 1: TypeError")})) == "not known: call 1: TypeError"


def test_how_a_function_came_out_is_one_line() -> None:
    assert described(LimitWay(outcome="same", error=1.2e-7, outside=("Unique",))) == (
        "same, to 1.2e-07, outside of clusters: Unique"
    )
    assert described(LimitWay(told="the worker died", lost=True)) == "lost: the worker died"
    assert described(LimitWay(told="no graph was logged")) == "not known: no graph was logged"
    raised = LimitWay(outcome="raises", told=f"{'long ' * 20}end. More.", place="a.py:1", code="x = 1")
    assert described(raised).endswith("end. (a.py:1  x = 1)")


def test_the_summary_counts_what_agrees() -> None:
    assert summary([LIMIT, AGREEING]) == "2 limits: 1 agree with the document today, 1 differ"
    assert summary([LIMIT, LOST]) == "2 limits: 0 agree with the document today, 1 differ, 1 not known"
    assert summary([LIMIT, replace(LIMIT, says={}, agrees=None)]).endswith("1 from which no outcome follows")
    ours = replace(AGREEING, source="measured")
    assert summary([LIMIT, ours]) == (
        "2 limits: 0 agree with the document today, 1 differ, 1 from measurements and from no document"
    )
    assert summary([replace(AGREEING, unexpected="tf/jit: ...")]).endswith("0 differ; 1 not as known")


def test_the_page_has_a_column_for_each_way_that_was_run_and_shows_markup_as_text() -> None:
    shown = page([LIMIT])
    assert "| limit | the document | jit_compile=True | JAX, the port | today | command |" in shown
    assert r"other: result 0 is of shape \[0\], was \[8\]" in shown
    assert "same, bit-equal. scan | differs: tf/jit, stated: raises | `jaxport limits dynamic` |" in shown
