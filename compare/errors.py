"""Errors that many rooms raise and one place catches: the command line prints them as one line."""

from __future__ import annotations

from workloads.core.errors import Foreseen as Foreseen

FORESEEN = (Foreseen, OSError)
"""Errors that end in one line, without a traceback: a user can correct them, or the operating system refused."""


class RequestError(Foreseen):
    """A request that cannot be carried out: one line with what was expected, found, and what to do."""
