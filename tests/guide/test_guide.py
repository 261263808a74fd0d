"""Every page of the guide does what it says; test_built_pages.py has the notebooks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

PAGES = [*sorted((ROOT / "docs/guide").glob("*.md")), ROOT / "docs/dumps.md", ROOT / "docs/index.md"]
"""The guide, a page of the reference with commands that are carried out, and the start page."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path) -> None:
    script = ROOT / "tests/support/guide_page.py"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, str(script), str(page)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
