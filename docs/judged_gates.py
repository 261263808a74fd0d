"""How the gates of one judged port came out, for the pages of docs/results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def of_record(record: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The verdict of each gate, and all comparisons."""
    (part,) = json.loads(record.read_text())["workloads"].values()
    gates = part["parity"]["gates"]
    held = [comparison for gate in gates.values() for comparison in gate["comparisons"]]
    return {gate: told["verdict"] for gate, told in gates.items()}, held


def failing(held: list[dict[str, Any]]) -> list[str]:
    """What is said of the comparisons that fail."""
    return [comparison["message"] for comparison in held if comparison["verdict"] == "fail"]
