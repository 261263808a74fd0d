"""A document's figure beside ours: each verdict, and that the other figure turns it round."""

import pytest

from compare.figures.row import Unread
from compare.figures.verdict_rules import Counts, Faster, Less, SpeedUp, Within
from compare.record.figure_part import AGREES, DIFFERS, SAME_DIRECTION, UNDECIDED, Figure

FEWER = Counts({"graph": 4, "jit": 1})


def counts(**values: float) -> dict[str, Figure]:
    return {name: Figure(name, "", value) for name, value in values.items()}


def faster(value: float, interval: tuple[float, float] | None) -> dict[str, Figure]:
    return {"jit": Figure("jit", "x", value, interval)}


@pytest.mark.parametrize(
    ("graph", "jit", "verdict"),
    [(4, 1, AGREES), (4, 3, SAME_DIRECTION), (9, 2, SAME_DIRECTION), (4, 4, DIFFERS), (1, 4, DIFFERS), (3, 5, DIFFERS)],
)
def test_kernels_agree_only_where_every_count_is_the_stated_one(graph: int, jit: int, verdict: str) -> None:
    found, why = FEWER.judge(counts(graph=graph, jit=jit))
    assert found == verdict and why == f"ours: {graph} and {jit}, stated: 4 and 1"


def test_a_count_alone_has_no_direction() -> None:
    assert Counts({"files": 18}).judge(counts(files=22))[0] == DIFFERS
    assert Counts({"files": 18}).judge(counts(files=18))[0] == AGREES


@pytest.mark.parametrize(("found", "verdict"), [(1500, AGREES), (1275, AGREES), (1270, DIFFERS), (1730, DIFFERS)])
def test_a_round_number_agrees_within_its_part(found: int, verdict: str) -> None:
    assert Counts({"operations": 1500}, 0.15).judge(counts(operations=found))[0] == verdict


@pytest.mark.parametrize(
    ("value", "interval", "verdict"),
    [
        (1.8, (1.6, 2.0), AGREES),
        (1.3, (1.2, 1.4), SAME_DIRECTION),
        (5.0, (4.0, 6.0), SAME_DIRECTION),
        (0.7, (0.6, 0.8), DIFFERS),
        (1.1, (0.9, 1.3), DIFFERS),
        (1.5, (0.9, 2.5), UNDECIDED),
        (1.8, None, UNDECIDED),
    ],
)
def test_a_factor_is_held_by_its_interval(value: float, interval: tuple[float, float] | None, verdict: str) -> None:
    assert SpeedUp("jit", 1.8).judge(faster(value, interval))[0] == verdict


@pytest.mark.parametrize(
    ("value", "interval", "verdict"),
    [
        (1.2, (1.1, 1.3), AGREES),
        (0.7, (0.6, 0.8), DIFFERS),
        (1.2, (0.9, 1.5), UNDECIDED),
        (1.0, (1.0, 1.0), UNDECIDED),
        (1.8, None, UNDECIDED),
    ],
)
def test_faster_by_no_stated_factor_is_what_the_interval_excludes_1_for(
    value: float, interval: tuple[float, float] | None, verdict: str
) -> None:
    assert Faster("jit").judge(faster(value, interval))[0] == verdict


def test_a_range_agrees_where_the_interval_reaches_into_it() -> None:
    garden = SpeedUp("jit", 1.3, 1.9)
    assert garden.judge(faster(2.0, (1.85, 2.2))) == (AGREES, "our interval is 1.85x to 2.2x, stated: 1.3x to 1.9x")
    assert garden.judge(faster(2.1, (2.0, 2.2)))[0] == SAME_DIRECTION
    assert garden.judge(faster(1.2, (1.1, 1.29)))[0] == SAME_DIRECTION


@pytest.mark.parametrize(("seconds", "verdict"), [(1.9, AGREES), (0.2, DIFFERS), (90.0, DIFFERS)])
def test_a_size_is_held_by_its_bounds(seconds: float, verdict: str) -> None:
    assert Within("compile", 1, 60, "s").judge(counts(compile=seconds))[0] == verdict


def test_what_is_missing_is_said_and_is_no_verdict() -> None:
    with pytest.raises(Unread, match="the record has no jit"):
        FEWER.judge(counts(graph=4))
    with pytest.raises(Unread, match="jit: withheld: noisy"):
        SpeedUp("jit", 1.8).judge({"jit": Figure("jit", "x", reason="withheld: noisy")})


@pytest.mark.parametrize(
    ("graph", "jit", "verdict", "relation"),
    [(4, 1, AGREES, "less than"), (4, 4, DIFFERS, "as much as"), (1, 4, DIFFERS, "more than")],
)
def test_what_should_take_less_takes_less(graph: int, jit: int, verdict: str, relation: str) -> None:
    assert Less("jit", "graph").judge(counts(graph=graph, jit=jit)) == (verdict, f"jit is {relation} graph")
    with pytest.raises(Unread, match="the record has no jit"):
        Less("jit", "graph").judge(counts(graph=graph))
