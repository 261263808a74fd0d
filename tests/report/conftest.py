"""What the specifications of pages share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from browsing import QUIET
from playwright.sync_api import Browser, sync_playwright


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's chromium; without one the tests are skipped, except where CI promises one."""
    executable = shutil.which("chromium")
    if executable is None:
        missing = "expected chromium on the PATH, found none: install it to test the page in a browser"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=list(QUIET))
        yield launched
        launched.close()
