"""The report: rendered from results.json, never measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compare.records import write_atomically
from compare.report.console import print_overview
from compare.report.html import render

__all__ = ["print_overview", "render", "write_report"]


def write_report(record: Mapping[str, Any], folder: Path) -> Path:
    """Write report.html into the folder, making the folder where there is none; returns its path."""
    page = render(record)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    write_atomically(path, page)
    return path
