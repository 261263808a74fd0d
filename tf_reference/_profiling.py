"""What TensorFlow ran in one call, as its profiler saw it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import tensorflow as tf

from tf_reference import _private
from tf_reference._private import TracedEvent
from workloads._framework import KernelRun


def profiled(call: Callable[[], object], eager: bool) -> list[KernelRun]:
    """The kernels of one call in the order in which they started: TF operations and HLO instructions.

    On a GPU they are what it ran, in every mode: one operation may be several kernels. Elsewhere the time of an
    operation that runs eagerly is that of its whole call, dispatch included.
    """
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            call()
        (trace,) = Path(folder).rglob("*.xplane.pb")
        return kernels(trace.read_bytes(), eager)


def kernels(xplane: bytes, eager: bool) -> list[KernelRun]:
    """The kernels of a profile.

    Args:
      xplane: a serialized XSpace.
      eager: whether operations ran one by one, not as a graph.
    """
    events = _private.events(xplane)
    named = _of_gpu(events) or _of_host(events, eager)
    first = named[0][1].start_s if named else 0.0
    return [KernelRun(name, event.thread, event.start_s - first, event.seconds) for name, event in named]


def _of_gpu(events: Sequence[TracedEvent]) -> list[tuple[str, TracedEvent]]:
    """What a GPU ran, by the HLO instruction that it computes where XLA tells it."""
    return [(event.instruction or event.name, event) for event in events if event.on_gpu]


def _of_host(events: Sequence[TracedEvent], eager: bool) -> list[tuple[str, TracedEvent]]:
    return [(kernel, event) for event in events if (kernel := _private.kernel(event, eager))]
