"""Whole themes of the catalogue, tried by the gates: two files of tests share them, for two processes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from math import ceil

from runs import ZOO

from compare.gotchas.trying import Trial, try_all
from compare.progress import Silent
from workloads.gotchas import _catalogue
from workloads.gotchas._catalogue import Entry

AT_ONCE = 4
"""Themes that one pair of workers tries: to start a pair takes ten seconds of a core."""

DEAR: Mapping[str, int] = {
    "attention": 12,
    "dtypes": 4,
    "metrics": 5,
    "normalization": 7,
    "optimizers": 10,
    "randomness": 6,
    "recurrent": 18,
    "resizing": 6,
    "signal": 5,
    "state": 5,
}
"""Seconds of a core that a port of a theme takes, where they are many more than CHEAP."""

CHEAP = 2
"""Seconds of a core that a port of any other theme takes."""

OF_A_THEME = 20
"""About how many seconds of a core the ports of a theme may take: one entry of several is tried, two at least.

`make zoo` tries each.
"""


def themes(half: int) -> list[str]:
    """The themes of half 0 or 1: the dearest first, each in the half that had less to do before it."""
    costs = {theme: seconds(theme) for theme in _catalogue.themes()}
    halves: tuple[list[str], list[str]] = ([], [])
    for theme in sorted(costs, key=costs.__getitem__, reverse=True):
        min(halves, key=lambda themes: sum(costs[theme] for theme in themes)).append(theme)
    return halves[half]


def seconds(theme: str) -> int:
    """About how many seconds of a core the ports of a theme take that a session tries."""
    return _seconds(theme, tried_entries((theme,)))


def tried_entries(themes: Collection[str]) -> list[Entry]:
    """The entries of some themes that a session tries, in the order of the catalogue."""
    return [entry for theme in _catalogue.themes() if theme in themes for entry in _tried_of(theme)]


def _tried_of(theme: str) -> list[Entry]:
    entries = [entry for entry in _catalogue.entries() if entry.theme == theme]
    step = min(ceil(_seconds(theme, entries) / OF_A_THEME), ceil(len(entries) / 2))
    return entries if ZOO else entries[::step]


def _seconds(theme: str, entries: Collection[Entry]) -> int:
    ports = sum(1 if entry.gotcha.is_control else 2 for entry in entries)
    return ports * DEAR.get(theme, CHEAP)


def not_as_said(theme: str, chosen: tuple[str, ...]) -> list[str]:
    """What came out otherwise than a theme's entries say, a line each.

    Args:
      theme: is tried together with those beside it.
      chosen: the themes that are to be tried in this process, in their order.
    """
    first = chosen.index(theme) // AT_ONCE * AT_ONCE
    trials = _tried(chosen[first : first + AT_ONCE])
    return [_told(trial) for trial in trials if trial.entry.theme == theme and not trial.holds]


@cache
def _tried(group: tuple[str, ...]) -> list[Trial]:
    """Every entry of some themes, tried by one pair of workers."""
    return try_all(tried_entries(group), Silent(), 300)


def _told(trial: Trial) -> str:
    return f"{trial.entry.id}: naive {trial.naive}, right {trial.right}"
