"""A function in the mode that clusters: what it ran, for what TensorFlow logs and dumps meanwhile to be read with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tf_reference import _sources
from tf_reference._profiling import profiled_nodes
from workloads.protocol.framework import PROFILED_CALLS, Clustered

WARM_CALLS = 2
"""The first compiles; a cluster may be compiled only when it runs for the second time."""


def observe_clusters(concrete: Any, call: Callable[[], object]) -> Clustered:
    """The name of a function's graph, the nodes that each of some warm calls ran, and by node the user's line.

    Args:
      call: one call of it, and all of its work.
    """
    for _ in range(WARM_CALLS):
        call()
    calls = [profiled_nodes(call) for _ in range(PROFILED_CALLS)]
    return Clustered(_name(concrete), calls, _sources.sources(concrete.graph))


def _name(concrete: Any) -> str:
    """The name of a function in TensorFlow's log."""
    return concrete.name.decode() if isinstance(concrete.name, bytes) else str(concrete.name)
