"""Places where programs like to fail: `make trials` tries all of them, some here. See docs/environments.md."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from places import ROOT
from trials import LIVE, QUICK, Trial, in_table, tried, updated

FEW = (
    "standard error closed, and a refusal", "standard output on a full disk", "standard error on a full disk",
    "LC_ALL=C, no UTF-8 mode", "a path with spaces, quotes, a line break and an emoji", "warnings are errors",
    "output on a full disk", "TMPDIR on a full disk", "a read-only current folder", "no /dev/shm",
)  # fmt: skip

FEW_LIVE = ("run: LC_ALL=C, HOME unset, odd folder", "run: `python -O`")


@pytest.mark.process
@pytest.mark.parametrize("trial", [each for each in QUICK if each.name in FEW], ids=lambda trial: trial.name)
def test_it_works_or_says_in_one_line_why_not(trial: Trial, tmp_path: Path) -> None:
    if trial.root and os.geteuid() != 0:
        pytest.skip("takes root")
    ended = tried(trial, tmp_path)
    assert ended.is_right(trial), ended


@pytest.mark.process
@pytest.mark.parametrize(("command", "code"), [("list", 0), ("report $record -o out", 1)])
def test_a_reader_that_went_away_changes_no_exit_code(command: str, code: int, tmp_path: Path) -> None:
    ended = tried(Trial("gone", f"set -o pipefail; $jaxport {command} | true", (code,)), tmp_path)
    assert (ended.code, ended.said) == (code, "")


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("trial", [each for each in LIVE if each.name in FEW_LIVE], ids=lambda trial: trial.name)
def test_both_frameworks_judge_there(trial: Trial, tmp_path: Path) -> None:
    ended = tried(trial, tmp_path)
    assert ended.is_right(trial), ended


def test_each_trial_is_named_once_and_told_of() -> None:
    named = [each.name for each in (*QUICK, *LIVE)]
    assert len(named) == len(set(named)) and {*FEW, *FEW_LIVE} <= set(named)
    page = (ROOT / "docs/environments.md").read_text()
    assert [name for name in named if f"| {in_table(name)} |" not in page] == []


def test_rows_that_were_run_take_the_place_of_those_on_the_page() -> None:
    page = "before\n| where | exit code |\n|---|---|\n| HOME unset | old |\n| gone since | old |\n\nafter\n"
    shown = updated(page, {"TERM=dumb": "| TERM=dumb | new |", "HOME unset": "| HOME unset | new |"})
    assert shown == "before\n| where | exit code |\n|---|---|\n| HOME unset | new |\n| TERM=dumb | new |\n\nafter\n"
    assert updated(page, {}) == page.replace("| gone since | old |\n", "")
