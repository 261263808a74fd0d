"""A function that is tried in one mode, whatever comes of it: what is called around it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

AROUND = "around_"
"""Before the name of a function: what is not compiled around it, if that is more than a call."""

Stage = Callable[..., Callable[..., Any]]
"""Gives the function as a mode runs it; names and values are passed on to what compiles it."""


def around(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls the function in a stage: stage and arrays -> results.

    It is the function of the same module that is named so, and may stage more than once, or pass other arguments.
    """
    name = f"{AROUND}{function.__name__}"
    return getattr(sys.modules[function.__module__], name, _call)


def _call(stage: Stage, *arrays: Any) -> Any:
    return stage()(*arrays)
