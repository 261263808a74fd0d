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


WHOLE = (*_registry.TOUR, "lstm_cell")
"""Judged in every mode, with programs, cells and profiles: small enough that it takes seconds."""
FAST_MODES = ("tf/jit", "jax/donated")
"""Those that the parity of a larger model is judged in, beside the reference and the port itself.

Every mode of every workload, with its programs: `jaxport run --size smoke --no-timing`, within half an hour.
"""


@pytest.fixture(scope="session")
def zoo() -> dict[str, Any]:
    """Every registered workload at size smoke, judged and not timed."""
    larger = [name for name in _registry.names() if name not in WHOLE]
    whole = record_of(*WHOLE, size="smoke", plans=())["workloads"]
    lean = record_of(*larger, size="smoke", plans=(), modes=FAST_MODES, parity_only=True)["workloads"]
    return whole | lean
