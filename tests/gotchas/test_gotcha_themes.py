"""The themes are shared by two processes, and what fails is told by the test of its own theme."""

from __future__ import annotations

from collections.abc import Sequence

import gotcha_themes
import pytest

from compare.gotchas.trying import Attempt, Trial
from workloads.gotchas import _catalogue
from workloads.gotchas._catalogue import Entry


def test_two_files_share_all_themes_and_have_as_much_to_do() -> None:
    halves = [gotcha_themes.themes(half) for half in (0, 1)]
    seconds = [sum(map(gotcha_themes.seconds, half)) for half in halves]
    assert sorted(halves[0] + halves[1]) == _catalogue.themes()
    assert min(seconds) > 0.9 * max(seconds)


def test_themes_are_tried_together_and_each_tells_of_its_own_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[set[str]] = []

    def nothing_holds(entries: Sequence[Entry], *_: object) -> list[Trial]:
        tried.append({entry.theme for entry in entries})
        return [Trial(entry, None, Attempt("fail")) for entry in entries]

    monkeypatch.setattr(gotcha_themes, "try_all", nothing_holds)
    gotcha_themes._tried.cache_clear()
    chosen = tuple(_catalogue.themes()[:6])
    told = {theme: gotcha_themes.not_as_said(theme, chosen) for theme in chosen}
    gotcha_themes._tried.cache_clear()

    assert tried == [set(chosen[:4]), set(chosen[4:])]
    for theme, lines in told.items():
        assert len(lines) == len(gotcha_themes.tried_entries((theme,)))
        assert all(line.startswith(f"{theme}/") for line in lines)
