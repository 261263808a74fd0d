"""Errors that many rooms raise and one place catches: the command line prints them as one line."""

from __future__ import annotations

from workloads._errors import Foreseen as Foreseen

FORESEEN = (Foreseen, OSError)
"""What is said in one line, without a traceback: what a user can put right, and what the operating system refuses."""


class RequestError(Foreseen):
    """A request that cannot be carried out: one line with what was expected, found, and what to do."""
