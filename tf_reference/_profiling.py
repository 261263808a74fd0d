"""What TensorFlow ran in one call, as its profiler saw it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from tf_reference import _private
from workloads._framework import KernelRun


def profiled(call: Callable[[], object], eager: bool) -> list[KernelRun]:
    """The kernels of one call in the order in which they started: TF operations and HLO instructions.

    The time of an operation that runs eagerly is that of its whole call, dispatch included.
    """
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            call()
        (trace,) = Path(folder).rglob("*.xplane.pb")
        events = _private.events(trace.read_bytes())
    kernels = [(kernel, event) for event in events if (kernel := _private.kernel(event, eager))]
    first = kernels[0][1].start_s if kernels else 0.0
    return [KernelRun(name, event.thread, event.start_s - first, event.seconds) for name, event in kernels]
