"""What several specifications look at: runs of real sides, made once a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from compare import records
from compare.run import run
from compare.run.progress import Silent
from workloads import _registry

# The same examples every time: a suite that fails one day in ten proves nothing on the other nine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

ROOT = Path(__file__).parents[1]


def record_of(*references: str, **asked: Any) -> dict[str, Any]:
    """The record of a run, as it would be read back from results.json."""
    workloads = [_registry.get(reference) for reference in references]
    return records.to_json(run.run(run.Request(workloads, **asked), Silent()))


@pytest.fixture(scope="session")
def zoo() -> dict[str, Any]:
    """Every registered workload at size smoke, judged and not timed."""
    return record_of(*_registry.names(), size="smoke", plans=())["workloads"]
