"""Pages of devices in a real browser: quiet, offline, and never wider than their window."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import watched
from pages import hostile
from playwright.sync_api import Browser
from target_views import cell, pair, target

from compare.report.target_pages import write_target_pages

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An ordinary page, and one of long and hostile strings."""
    folder = tmp_path_factory.mktemp("pages")
    ordinary = write_target_pages(pair(H100=target()), folder)[0]
    long = target(**{"tf@jax": cell(notes=["x" * 500]), "description": "y" * 500, "differences": ["z" * 500]})
    evil = hostile({"name": "evil" * 60, "targets": {f"<script>alert(1)</script>{'n' * 200}": long}})
    return {"ordinary": ordinary, "hostile": write_target_pages(evil, folder)[0]}


@pytest.mark.parametrize("which", ["ordinary", "hostile"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 800), ("light", 400)])
def test_the_page_is_quiet_and_never_wider_than_its_window(
    chromium: Browser, pages: dict[str, Path], which: str, scheme: str, width: int
) -> None:
    page, complaints = watched(chromium, pages[which], scheme, width)
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
    assert complaints == []


def test_a_launch_opens_without_a_script(chromium: Browser, pages: dict[str, Path]) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["ordinary"].as_uri())
    text = page.locator("pre.program", has_text=".version 8.8")
    assert not text.is_visible()
    page.locator("#jax-1 + .below summary").click()
    assert text.is_visible()
    context.close()


def test_what_a_launch_opens_to_is_as_wide_as_the_window(chromium: Browser, pages: dict[str, Path]) -> None:
    page, _ = watched(chromium, pages["ordinary"], width=500)
    page.locator("#jax-1 + .below summary").click()
    box = page.locator(".pane", has_text=".version 8.8").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 500
    page.close()
