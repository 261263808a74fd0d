"""The page of two programs in a browser: every control does what it says, and hostile names run nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from browsing import watched
from hlo_views import hostile, large, small
from pages import Page
from playwright import sync_api

from compare.report.hlo_page import write_hlo_page

pytestmark = pytest.mark.process

CHOSEN = ".row.chosen"


def opened(chromium: sync_api.Browser, path: Path, **more: Any) -> tuple[sync_api.Page, list[str]]:
    found, complaints = watched(chromium, path, **more)
    found.locator("#viewer").scroll_into_view_if_needed()
    return found, complaints


@pytest.fixture(scope="module")
def browser(chromium: sync_api.Browser) -> sync_api.Browser:
    return chromium


@pytest.fixture(scope="module")
def small_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hlo_page(small(), tmp_path_factory.mktemp("pages") / "new" / "hlo.html")


@pytest.fixture
def shown(browser: sync_api.Browser, small_page: Path) -> Any:
    """The page of the small pair; at the end, it must have been quiet."""
    found, complaints = opened(browser, small_page)
    yield found
    found.close()
    assert complaints == []


def rows(found: sync_api.Page) -> list[tuple[str, str]]:
    """The rows from top to bottom: the opcode on the left, on the right."""
    said = found.evaluate(
        """[...document.querySelectorAll('.row')].sort((a, b) => a.offsetTop - b.offsetTop).map((row) =>
           [...row.querySelectorAll('.half')].map((half) => half.querySelector('.opcode')?.textContent ?? ''))"""
    )
    return [(left, right) for left, right in said]


def chosen(found: sync_api.Page) -> list[str]:
    return [each or "" for each in found.locator(f"{CHOSEN} .key").all_text_contents()]


def press(found: sync_api.Page, name: str) -> None:
    found.locator(f"#classes button[data-class={name}]").click()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 1400), ("light", 800), ("dark", 400)])
def test_the_page_is_quiet_and_never_wider_than_its_window(
    browser: sync_api.Browser, small_page: Path, scheme: str, width: int
) -> None:
    found, complaints = opened(browser, small_page, scheme=scheme, width=width)
    assert found.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found.close()
    assert complaints == []


def test_partners_share_a_row_and_what_has_none_has_its_own(shown: sync_api.Page) -> None:
    assert rows(shown) == [
        ("parameter", "parameter"), ("constant", "constant"), ("multiply", "multiply"), ("power", ""), ("", "multiply"),
        ("add", "add"), ("while", "while"), ("", ""), ("parameter", "parameter"), ("tanh", ""), ("", "sine"),
        ("", "copy"),
    ]  # fmt: skip


def test_keys_lead_to_the_next_and_the_previous_difference(shown: sync_api.Page) -> None:
    places = []
    for key in "nnnnp":
        shown.keyboard.press(key)
        places.append(chosen(shown))
    # A run of differences is one stop; after the last one comes the first.
    assert places == [["1", "1"], ["3"], ["5.0.1"], ["1", "1"], ["5.0.1"]]
    assert shown.locator("#position").inner_text() == "3 of 3"


def test_the_pointer_marks_operands_users_and_partners_elsewhere(shown: sync_api.Page) -> None:
    shown.locator(".row", has_text="power").hover()
    assert shown.locator(".row.operand .opcode").all_text_contents() == ["parameter", "parameter"]
    assert shown.locator(".row.user .opcode").all_text_contents() == ["add", "add"]
    shown.locator(".row", has_text="copy").hover()
    assert shown.locator(".row.partner .opcode").all_text_contents() == ["multiply", "multiply"]


def test_a_click_on_an_operand_or_on_an_empty_half_leads_there(shown: sync_api.Page) -> None:
    shown.locator(".row", has_text="power").locator("a", has_text="%0").click()
    assert chosen(shown) == ["0", "0"]
    shown.locator(".row", has_text="copy").locator(".empty a").click()
    assert chosen(shown) == ["2", "2"]
    shown.locator(".row", has_text="copy").locator(".empty").click(position={"x": 300, "y": 8})
    assert chosen(shown) == ["2", "2"]


def test_a_place_of_the_frontier_leads_to_its_row(shown: sync_api.Page) -> None:
    shown.locator("#frontier a", has_text="/home/u/model.py:4").click()
    assert chosen(shown) == ["3"]
    assert shown.locator(CHOSEN).is_visible()
    assert shown.url.endswith("#left-3")


def test_details_show_both_sides_their_stacks_and_what_differs(shown: sync_api.Page) -> None:
    shown.locator(".row", has_text="constant").click()
    assert shown.locator("#details .differs dd").all_text_contents() == ["0.001", "literal", "0.00101"]
    shown.locator(".row").nth(2).click()
    said = shown.locator("#details").inner_text()
    for part in ("/home/u/model.py:3", "/home/u/train.py:8", "/home/u/port.py:7", "3 ULP", "transposed", "2.50 µs"):
        assert part in said


def test_ulps_and_times_have_columns(shown: sync_api.Page) -> None:
    assert shown.locator(".row").nth(2).locator(".ulp").inner_text() == "3"
    assert shown.locator(".row .time").all_text_contents()[:3] == ["", "", "2.50 µs"]
    assert shown.locator(".row", has_text="add").locator(".time").inner_text() == "〃"


@pytest.mark.parametrize(
    ("query", "count"),
    [("multiply", 2), ("op:add", 1), ("name:late", 1), ("model.py:4", 1), ("source:train.py", 1), ("[4,1]", 1),
     ("shape:f32[4,1] multiply", 1), ("%5.0.1", 2), ("nowhere", 0), ("source:multiply", 0)],
)  # fmt: skip
def test_the_search_looks_in_every_column_or_in_one(shown: sync_api.Page, query: str, count: int) -> None:
    shown.locator("#search").fill(query)
    assert shown.locator("#hits").inner_text() == f"0 of {count}"
    assert shown.locator(".row.hit").count() == count


def test_hits_are_walked_with_enter_and_can_be_all_that_is_shown(shown: sync_api.Page) -> None:
    shown.keyboard.press("/")
    shown.keyboard.type("op:i")
    walked = []
    for key in ("Enter", "Enter", "Enter", "Shift+Enter"):
        shown.keyboard.press(key)
        walked.append(chosen(shown))
    assert walked == [["2", "2"], ["3"], ["▾5", "5"], ["3"]]
    shown.locator("#only-hits").check()
    assert rows(shown) == [("multiply", "multiply"), ("", "multiply"), ("while", "while"), ("", "sine")]


def test_classes_can_be_left_out(shown: sync_api.Page) -> None:
    press(shown, "unchanged")
    assert rows(shown) == [
        ("constant", "constant"), ("power", ""), ("", "multiply"), ("add", "add"), ("tanh", ""), ("", "sine"),
    ]  # fmt: skip
    press(shown, "only-left")
    press(shown, "only-right")
    assert rows(shown) == [("constant", "constant"), ("add", "add")]
    press(shown, "rewritten")
    press(shown, "unchanged")
    assert ("add", "add") not in rows(shown) and ("while", "while") in rows(shown)


def test_rows_can_be_those_of_a_matcher_a_rule_or_of_doubtful_bits(shown: sync_api.Page) -> None:
    shown.locator("#matcher").select_option("value")
    assert rows(shown) == [("multiply", "multiply"), ("", "copy")]
    shown.locator("#matcher").select_option("")
    shown.locator("#rule").select_option("operands sorted")
    assert rows(shown) == [("add", "add")]
    shown.locator("#rule").select_option("")
    shown.locator("#numerics").check()
    assert rows(shown) == [("", "multiply")]


def test_a_jump_to_what_a_filter_hides_lets_go_of_the_filter(shown: sync_api.Page) -> None:
    press(shown, "only-left")
    shown.locator("#frontier a", has_text="power").click()
    assert chosen(shown) == ["3"]
    assert shown.locator("#classes [aria-pressed=false]").count() == 0


def test_regions_fold_and_unfold(shown: sync_api.Page) -> None:
    everything = rows(shown)
    folded = everything[:7] + everything[-1:]
    shown.locator("#fold").click()
    assert rows(shown) == folded
    shown.locator(".row", has_text="while").locator(".fold").click()
    assert rows(shown) == everything
    shown.locator(".row", has_text="while").locator(".opcode").first.click()
    shown.keyboard.press("o")
    assert rows(shown) == folded
    shown.evaluate("location.hash = '#left-5.0.1'")
    shown.wait_for_function("document.querySelector('.row.chosen .key').textContent === '5.0.1'")
    assert rows(shown) == everything


def test_a_region_without_a_difference_begins_folded(browser: sync_api.Browser, tmp_path: Path) -> None:
    same = small()
    for each in ("left", "right"):
        for inner in same[each]["nodes"][5]["regions"][0]["nodes"]:
            inner["class"] = "unchanged"
    found, _ = opened(browser, write_hlo_page(same, tmp_path / "hlo.html"))
    assert ("tanh", "") not in rows(found)
    found.close()


def test_the_rows_can_be_walked_by_key(shown: sync_api.Page) -> None:
    shown.locator("#scroller").focus()
    walked = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "Home"):
        shown.keyboard.press(key)
        walked.append(chosen(shown))
    assert walked == [["0", "0"], ["1", "1"], ["0", "0"], ["6"], ["0", "0"]]
    shown.keyboard.press("Escape")
    assert shown.locator(CHOSEN).count() == 0


def test_hostile_names_show_as_text_and_run_nothing(browser: sync_api.Browser, tmp_path: Path) -> None:
    path = write_hlo_page(hostile(small()), tmp_path / "hlo.html")
    Page(path.read_text())
    found, complaints = opened(browser, path)
    assert found.evaluate("window.hacked") is None
    assert found.locator("script").count() == 2
    assert found.locator("b").count() == 0
    for row in found.locator(".row").all():
        row.locator(".middle").click()
    assert "</script>" in found.locator("#details").inner_text()
    assert found.locator("b").count() == 0
    found.close()
    assert complaints == []


def test_ten_thousand_rows_load_in_three_seconds_and_stay_searchable(browser: sync_api.Browser, tmp_path: Path) -> None:
    path = write_hlo_page(large(10_000), tmp_path / "hlo.html")
    found = browser.new_page(viewport={"width": 1400, "height": 900})
    start = time.perf_counter()
    found.goto(path.as_uri())
    found.locator(".row").first.wait_for()
    assert time.perf_counter() - start < 3
    assert found.locator(".row").count() < 150
    found.locator("#search").fill("layer9876")
    assert found.locator("#hits").inner_text() == "0 of 1"
    found.locator("#search").press("Enter")
    assert chosen(found) == ["9876", "9876"]
    assert found.locator(CHOSEN).is_visible()
    found.close()
