"""Whole themes of the catalogue, tried by the gates."""

from __future__ import annotations

from compare.gotchas.trying import Trial, try_all
from compare.progress import Silent
from workloads.gotchas import _catalogue

LAST_OF_FIRST_HALF = "l"
"""Two files of tests share the themes, for two processes."""


def themes(first_half: bool) -> list[str]:
    """The themes of one half, by their first letter."""
    return [theme for theme in _catalogue.themes() if (theme[0] <= LAST_OF_FIRST_HALF) == first_half]


def not_as_said(theme: str) -> list[str]:
    """What came out otherwise than a theme's entries say, a line each."""
    entries = [entry for entry in _catalogue.entries() if entry.theme == theme]
    return [_told(trial) for trial in try_all(entries, Silent(), 300) if not trial.holds]


def _told(trial: Trial) -> str:
    return f"{trial.entry.id}: naive {trial.naive}, right {trial.right}"
