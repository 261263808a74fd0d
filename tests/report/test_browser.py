"""The page in a real browser: quiet, offline, and deaf to whatever a record carries."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import watched
from history_records import trend
from pages import decoded
from places import DATA
from playwright.sync_api import Browser

from compare.record.results_file import load_plain
from compare.report import page_html
from compare.report import trend as drawn_trend
from compare.report.html import write_report

pytestmark = pytest.mark.process

RECORD = DATA / "record_small.json"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the small record, hostile strings and all."""
    return write_report(decoded(load_plain(RECORD)), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def pages(report: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same, the page of the record that has every part, and that of a history of three runs."""
    record = load_plain(DATA / "record_full.json")
    folder = tmp_path_factory.mktemp("pages")
    history = trend({1: record, 2: record, 3: record | {"environment": {"cpu": "another"}}})
    return {
        "small": report,
        "full": write_report(decoded(record), folder),
        "history": page_html.write_page(drawn_trend.page(history), folder / "trend.html"),
    }


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>throw new Error('broken')</script>", "page error: broken"),
        ("<script>console.error('broken')</script>", "console error: broken"),
        ("<script>alert(1)</script>", "dialog: 1"),
        ("<img src='http://127.0.0.1:9/pixel.png'>", "request: http://127.0.0.1:9/pixel.png"),
    ],
)
def test_the_watch_complains_of_a_page_that_is_not_quiet(
    chromium: Browser, tmp_path: Path, body: str, complaint: str
) -> None:
    path = tmp_path / "loud.html"
    path.write_text(f"<!DOCTYPE html><title>loud</title><link rel='icon' href='data:,'>{body}")
    page, complaints = watched(chromium, path)
    page.close()
    assert complaint in complaints


@pytest.mark.parametrize("which", ["small", "full", "history"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 1400), ("light", 800), ("dark", 400)])
def test_the_page_is_quiet_and_never_wider_than_its_window(
    chromium: Browser, pages: dict[str, Path], which: str, scheme: str, width: int
) -> None:
    page, complaints = watched(chromium, pages[which], scheme, width)
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
    assert complaints == []


@pytest.mark.parametrize("which", ["small", "full"])
def test_no_table_scrolls_sideways_in_a_window_of_1300_pixels(
    chromium: Browser, pages: dict[str, Path], which: str
) -> None:
    page, _ = watched(chromium, pages[which], width=1300)
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    wide = "[...document.querySelectorAll('.wide')].filter(table => table.scrollWidth > table.clientWidth).length"
    assert page.evaluate(wide) == 0
    page.evaluate(
        "for (const cell of document.querySelectorAll('[aria-label^=compared] td')) cell.style.whiteSpace = 'nowrap'"
    )
    assert page.evaluate(wide) > 0 or which == "full"
    page.close()


def test_hostile_strings_show_as_text_and_run_nothing(chromium: Browser, report: Path) -> None:
    page, complaints = watched(chromium, report)
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert page.locator(".summary", has_text="<script>alert(1)</script>").is_visible()
    assert page.locator(".program", has_text="</pre></script><script>window.hacked=1</script>").is_visible()
    assert page.locator(".chart svg text", has_text="tf/<script>alert(1)</script>").is_visible()
    page.close()
    assert complaints == []


def test_the_policy_stops_a_script_that_were_not_escaped(chromium: Browser, report: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report.read_text().replace("<main>", "<main><script>window.hacked = 1</script>"))
    page, complaints = watched(chromium, path)
    assert page.evaluate("window.hacked") is None
    page.close()
    assert any("Content Security Policy" in complaint for complaint in complaints)


def test_the_page_is_whole_without_scripts(chromium: Browser, report: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".chart svg").first.is_visible()
    assert page.locator("#workload-running_example").is_visible()
    assert not page.locator("#filter").is_visible()
    context.close()


def test_the_filter_keeps_what_matches_a_name_or_a_verdict(chromium: Browser, report: Path) -> None:
    page, _ = watched(chromium, report)
    page.locator("#filter").fill("fail")
    assert page.locator("section.workload:visible").count() == 2
    page.locator("#filter").fill("running")
    assert page.locator("#overview tbody tr:has(th > a):visible").count() == 1
    page.locator("#filter").fill("")
    assert page.locator("section.workload:visible").count() == 4
    page.close()


def test_the_panes_of_a_program_scroll_together(chromium: Browser, report: Path) -> None:
    page, _ = watched(chromium, report)
    page.add_style_tag(content=".pane { height: 60px; }")
    panes = page.locator("#workload-running_example .comparison .pane")
    panes.nth(0).evaluate("pane => { pane.scrollTop = 40; }")
    page.wait_for_function("pane => pane.scrollTop > 0", arg=panes.nth(1).element_handle())
    assert panes.nth(1).evaluate("pane => pane.scrollTop") == 40
    page.close()


@pytest.mark.parametrize(("scheme", "ink"), [("light", "rgb(29, 33, 38)"), ("dark", "rgb(227, 230, 234)")])
def test_charts_follow_the_colours_of_the_page(chromium: Browser, report: Path, scheme: str, ink: str) -> None:
    page, _ = watched(chromium, report, scheme)
    label = page.locator(".chart svg text", has_text="tf/autocluster").first
    assert label.evaluate("text => getComputedStyle(text).fill") == ink
    page.close()


def test_the_lines_of_a_pane_stand_beside_their_numbers(chromium: Browser, report: Path) -> None:
    page, _ = watched(chromium, report)
    pane = page.locator("#workload-running_example .comparison .pane").first
    heights = [pane.locator(part).evaluate("pre => pre.clientHeight") for part in (".gutter", ".program")]
    lines = pane.locator(".program").inner_text().rstrip("\n").count("\n") + 1
    assert pane.locator(".gutter").inner_text().split()[-1] == str(lines)
    assert heights[0] == heights[1]
    page.close()
