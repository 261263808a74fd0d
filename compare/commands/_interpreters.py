"""The options for the Python interpreter of each side."""

from __future__ import annotations

import argparse

from compare.sides._side import SIDES
from compare.sides.sources import check_interpreter


def interpreters(options: argparse.Namespace) -> dict[str, str | None]:
    """By side, the interpreter that was asked for; None is this one.

    Raises:
      RequestError: one does not exist.
    """
    pythons = {side: getattr(options, f"{side}_python") for side in SIDES}
    for side, python in pythons.items():
        check_interpreter(python, f"--{side}-python")
    return pythons
