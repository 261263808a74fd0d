"""Every page forbids all scripts but its own, by the digest of their text: whatever a record holds, none of it runs."""

from __future__ import annotations

import re

import pytest
from places import ROOT

TEMPLATES = [
    path for path in sorted((ROOT / "compare/report/templates").glob("*.j2")) if "<html" in path.read_text().lower()
]
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def test_there_are_pages() -> None:
    assert TEMPLATES


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_page_forbids_scripts_that_are_not_its_own(template: object) -> None:
    text = (ROOT / "compare/report/templates" / str(template)).read_text()
    (policy,) = POLICY.findall(text)
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("script-src", "'sha256-{{ script_hash }}'") == "'sha256-{{ script_hash }}'"
    assert rules == {"style-src": "'unsafe-inline'", "img-src": "data:"}
    # A policy that comes after what it forbids forbids nothing.
    assert "<script" not in text[: text.index("Content-Security-Policy")]
