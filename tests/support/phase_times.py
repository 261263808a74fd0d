"""What a worker says of the phases of a mode."""

from __future__ import annotations

from typing import Any

from compare.bench import phases
from compare.files import convert_plain
from compare.record.cost_parts import Stages


def told(**changed: Any) -> dict[str, Any]:
    """What a worker says of a mode that times its stages apart."""
    return {
        "import_s": 1.0,
        "load_s": 0.5,
        "trace_s": 0.1,
        "lower_s": 0.2,
        "compile_s": 0.4,
        "run_s": 0.05,
        "steady_s": 0.01,
        "baseline_rss_bytes": 100,
        "peak_rss_bytes": 300,
        "analysis": {"lower_s": None, "memory": None},
    } | changed


def process_of(told: dict[str, Any]) -> Stages:
    """What is made of it."""
    return phases.process_of(convert_plain(told, phases.Start))


def parts(process: Stages) -> float:
    return sum(each or 0.0 for each in (process.trace_s, process.lower_s, process.compile_s))
