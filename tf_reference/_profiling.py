"""The operations of one call of TensorFlow, from its profiler."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from tf_reference import _private
from tf_reference._private import TracedEvent
from workloads.protocol.framework import KernelRun


def profile_call(call: Callable[[], object], eager: bool) -> list[KernelRun]:
    """Profile one call: its TF operations and HLO instructions in the order in which they started.

    On a GPU they are what it ran, in every mode: one operation may be several kernels. Elsewhere the time of an
    operation that runs eagerly is that of its whole call, dispatch included.
    """
    return kernels(_private.events(_trace(call)), eager)


def kernels(events: Sequence[TracedEvent], eager: bool) -> list[KernelRun]:
    """The kernels of a profile.

    Args:
      events: of all its lines, in order.
      eager: whether operations ran one by one, not as a graph.
    """
    # On a GPU, by the HLO instruction that a kernel computes where XLA tells it.
    ran = enumerate(event for event in events if event.on_gpu)
    on_gpu = [(event.instruction or event.name, replace(event, thread=index)) for index, event in ran]
    return _runs_of(on_gpu or [(name, event) for event in events if (name := _private.kernel(event, eager))])


def profiled_nodes(call: Callable[[], object]) -> list[KernelRun]:
    """The nodes of graphs that one call ran, "NAME:OP", compiled clusters among them: plumbing is not left out."""
    return _runs_of([(event.name, event) for event in _private.events(_trace(call)) if _private.graph_node(event)])


def _trace(call: Callable[[], object]) -> bytes:
    """A serialized XSpace."""
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            call()
        (trace,) = Path(folder).rglob("*.xplane.pb")
        return trace.read_bytes()


def _runs_of(events_named: Sequence[tuple[str, TracedEvent]]) -> list[KernelRun]:
    first = events_named[0][1].start_s if events_named else 0.0
    return [KernelRun(name, event.thread, event.start_s - first, event.seconds) for name, event in events_named]
