"""Reads the kernels of one call from JAX's profiler."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax

from workloads.protocol.event_statistics import HLO, OF_GRAPH, ON_GPU
from workloads.protocol.framework import KernelRun


def profile_call(call: Callable[[], object]) -> list[KernelRun]:
    """Profile one call: its HLO instructions in the order in which they started; on a GPU, its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=_without_python()):
            call()
        (trace,) = Path(folder).rglob("*.xplane.pb")
        return kernels(jax.profiler.ProfileData.from_file(str(trace)))


def _without_python() -> jax.profiler.ProfileOptions:
    """Python's own calls are not traced: of an eager training step they are nine tenths of a profile."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    return options


def kernels(data: Any) -> list[KernelRun]:
    """The kernels of a profile, by the HLO instruction that each computes where XLA tells it."""
    lines = [line for plane in data.planes for line in plane.lines]
    traced = [(event, dict(event.stats), thread) for thread, line in enumerate(lines) for event in line.events]
    on_gpu = [run for run in traced if ON_GPU in run[1]]
    runs = sorted(on_gpu or filter(_is_hlo, traced), key=lambda run: run[0].start_ns)
    first = runs[0][0].start_ns if runs else 0.0
    return [
        KernelRun(
            str(event.name if OF_GRAPH in stats else stats.get(HLO, event.name)),
            index if on_gpu else thread,
            (event.start_ns - first) * 1e-9,
            event.duration_ns * 1e-9,
        )
        for index, (event, stats, thread) in enumerate(runs)
    ]


def _is_hlo(traced: tuple[Any, Mapping[str, Any], int]) -> bool:
    event, stats, _ = traced
    return HLO in stats and not event.name.startswith("end: ")
