"""What XLA ran in one call, as JAX's profiler saw it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from workloads._framework import KernelRun


def profiled(call: Callable[[], object]) -> list[KernelRun]:
    """The HLO instructions that one call ran, in the order in which they started."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            call()
        (trace,) = Path(folder).rglob("*.xplane.pb")
        data = jax.profiler.ProfileData.from_file(str(trace))
    lines = [line for plane in data.planes for line in plane.lines]
    events = [(event, thread) for thread, line in enumerate(lines) for event in line.events if _is_hlo(event)]
    events.sort(key=lambda pair: pair[0].start_ns)
    first = events[0][0].start_ns if events else 0.0
    return [
        KernelRun(event.name, thread, (event.start_ns - first) * 1e-9, event.duration_ns * 1e-9)
        for event, thread in events
    ]


def _is_hlo(event: Any) -> bool:
    return not event.name.startswith("end: ") and any(name == "hlo_op" for name, _ in event.stats)
