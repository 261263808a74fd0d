"""The page of two programs without a browser: partners beside each other, every name only text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hlo_views import hostile, large, node, side, small, view
from hypothesis import given
from hypothesis import strategies as st
from pages import Page

from compare.report.hlo_page import join_values, page, payload, write_hlo_page
from compare.report.showable import printable


def keys(rows: Any) -> list[tuple[str | None, str | None]]:
    return [(left and left["id"], right and right["id"]) for left, right in rows]


def test_partners_stand_beside_each_other_and_the_left_order_is_kept() -> None:
    left = side(
        "tf", node("0", "parameter"), node("1", "sine", "0"), node("2", "cosine", "0"), node("3", "add", "1", "2")
    )
    right = side(
        "jax", node("0", "parameter"), node("1", "cosine", "0"), node("2", "tanh", "1"), node("3", "sine", "0")
    )
    assert keys(join_values(left, right, {"0": "0", "1": "3", "2": "1"})) == [
        ("0", "0"), ("1", "3"), ("2", "1"), ("3", None), (None, "2"),
    ]  # fmt: skip


def test_a_constant_of_the_right_stands_before_what_reads_it() -> None:
    left = side("tf", node("0", "parameter"), node("1", "sine", "0"), node("2", "add", "1"))
    right = side(
        "jax", node("0", "parameter"), node("9", "constant"), node("1", "sine", "0"), node("2", "add", "1", "9")
    )
    assert keys(join_values(left, right, {"0": "0", "1": "1", "2": "2"})) == [
        ("0", "0"), ("1", "1"), (None, "9"), ("2", "2"),
    ]  # fmt: skip


@st.composite
def pairs_of_programs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    sides = []
    for label in ("tf", "jax"):
        count = draw(st.integers(1, 12))
        operands = [draw(st.lists(st.integers(0, at - 1), max_size=2)) if at else [] for at in range(count)]
        sides.append(side(label, *(node(str(at), "add", *map(str, each)) for at, each in enumerate(operands))))
    places = [draw(st.permutations([each["id"] for each in each_side["nodes"]])) for each_side in sides]
    several = draw(st.integers(0, min(map(len, places))))
    return sides[0], sides[1], dict(zip(places[0][:several], places[1][:several], strict=True))


@given(pairs_of_programs())
def test_every_value_has_one_row_beside_its_partner_whatever_is_matched(programs: Any) -> None:
    left, right, partners = programs
    rows = keys(join_values(left, right, partners))
    assert sorted(one for one, _ in rows if one is not None) == sorted(each["id"] for each in left["nodes"])
    assert sorted(two for _, two in rows if two is not None) == sorted(each["id"] for each in right["nodes"])
    assert {one: two for one, two in rows if one is not None and two is not None} == partners


@given(pairs_of_programs())
def test_operands_stand_above_their_users_where_the_matches_allow_it(programs: Any) -> None:
    left, right, _ = programs
    in_order = {each["id"]: each["id"] for each, _ in zip(left["nodes"], right["nodes"], strict=False)}
    rows = keys(join_values(left, right, in_order))
    for number, each_side in enumerate((left, right)):
        places = {row[number]: at for at, row in enumerate(rows)}
        for each in each_side["nodes"]:
            assert all(places[operand] < places[each["id"]] for operand in each["operands"])


def test_a_string_is_embedded_once_however_often_it_is_used() -> None:
    data = payload(large(100))
    assert len(data["strings"]) == len(set(data["strings"]))
    assert data["strings"].count("f32[4]") == 1
    assert all(left == right or -1 in (left, right) for left, right, *_ in data["rows"])
    assert len(data["rows"]) == 100 + 2


def test_what_needs_no_script_is_on_the_page_without_one() -> None:
    parsed = Page(page(small()))
    said = " ".join(parsed.text.split())
    told = ("/home/u/model.py:4", "/home/u/port.py:7", "no power of these operands in jax", "square", "not run",
            "x ** 2 is x * x", "! may differ", "loss", "fusion.1", "2.50 µs",
            "the result is not equal; the programs differ in 1 place for 1 reason",
            "square 1 place (1 in tf)")  # fmt: skip
    for part in told:
        assert part in said
    assert {"#left-3", "#right-2", "#left-kernel-fusion.1", "#left-5"} <= set(parsed.values("href"))


def test_places_stand_under_their_reason_and_those_without_one_come_last_and_open() -> None:
    pair = small()
    (place,) = pair["frontier"]
    pair["frontier"].append(place | {"name": "odd.7", "explanation": None})
    unknown = {"kind": None, "name": "no reason known", "meaning": "", "places": 1, "sides": {"tf": 1}, "sources": []}
    pair["reasons"].append(unknown)
    pair["results"].append(pair["results"][0] | {"name": "weight", "equal": True})
    said = " ".join(Page(page(pair)).text.split())
    assert said.index("square 1 place") < said.index("power.3") < said.index("no reason known") < said.index("odd.7")
    assert said.count("power.3") == said.count("odd.7") == 1
    assert "results that are not equal: loss" in said


@pytest.mark.parametrize("changed", [{"kind": "formula"}, {"name": "cube"}, {"meaning": "x ** 3 is x * x * x"}])
def test_a_place_stands_under_no_reason_but_its_own(changed: dict[str, str]) -> None:
    pair = small()
    pair["frontier"][0]["explanation"] = pair["frontier"][0]["explanation"] | changed
    assert "power.3" not in Page(page(pair)).text


def test_an_equal_pair_says_so() -> None:
    one, two = side("tf", node("0", "parameter")), side("jax", node("0", "parameter"))
    levels = {"structural": {"matched": 1, "left": 1, "right": 1, "equal": True}}
    assert "tf and jax are the same program" in " ".join(Page(page(view(one, two, levels=levels))).text.split())


def test_nothing_is_written_where_the_page_cannot_be_made(tmp_path: Path) -> None:
    broken = small()
    broken["matches"][1]["ulp"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_hlo_page(broken, tmp_path / "hlo.html")
    assert list(tmp_path.iterdir()) == []


def test_the_json_within_the_page_is_what_was_packed_and_cannot_end_early() -> None:
    evil = printable(hostile(small()))
    text = page(evil).partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(text) == json.loads(json.dumps(payload(evil)))
    assert not set("<>&") & set(text)


def test_the_longest_kernels_of_a_training_step_stand_under_their_phase() -> None:
    shown = small()
    shown["left"]["kernels"] = {"fusion.1": 1e-6, "dot": 3e-6}
    times = [{"name": "fusion.1", "phase": "forward"}, {"name": "dot", "phase": "backward"}]
    text = Page(page(shown | {"compiled": {"tf@tf": {"times": times}}})).text
    assert text.index("tf, backward: 3.00 µs, 75 %") < text.index("tf, forward: 1.00 µs, 25 %")
