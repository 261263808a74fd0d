"""Errors that many rooms raise and one place catches: the command line prints them as one line."""

from __future__ import annotations

from workloads._errors import Foreseen as Foreseen


class RequestError(Foreseen):
    """A request that cannot be carried out: one line with what was expected, found, and what to do."""
