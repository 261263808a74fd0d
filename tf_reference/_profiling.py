"""What TensorFlow ran in one call, as its profiler saw it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import tensorflow as tf

from tf_reference import _private
from workloads._framework import KernelRun


def profiled(call: Callable[[], object], eager: bool) -> list[KernelRun]:
    """The kernels of one call in the order in which they started: TF operations and HLO instructions.

    The time of an operation that runs eagerly is that of its whole call, dispatch included.
    """
    return _timed([(kernel, event) for event in _events(call) if (kernel := _private.kernel(event, eager))])


def profiled_nodes(call: Callable[[], object]) -> list[KernelRun]:
    """The nodes of graphs that one call ran, "NAME:OP", compiled clusters among them: plumbing is not left out."""
    return _timed([(event.name, event) for event in _events(call) if _private.graph_node(event)])


def _events(call: Callable[[], object]) -> list[_private.TracedEvent]:
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            call()
        (trace,) = Path(folder).rglob("*.xplane.pb")
        return _private.events(trace.read_bytes())


def _timed(named: Sequence[tuple[str, _private.TracedEvent]]) -> list[KernelRun]:
    first = named[0][1].start_s if named else 0.0
    return [KernelRun(name, event.thread, event.start_s - first, event.seconds) for name, event in named]
