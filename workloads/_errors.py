"""The root of every error that a user can put right."""

from __future__ import annotations


class Foreseen(Exception):
    """Something was expected and not found: its text is one line that says both, and what to do."""
