"""How much of a call's time clusters took, from the nodes that TensorFlow's executor ran."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from compare.record.clustering_part import TimeSplit

RUN = "_XlaRun"
OVERHEAD = frozenset({"_XlaCompile", "_XlaMerge", "_FusedSwitch", "_SwitchN"})
_CLUSTER = re.compile(r"(?P<cluster>cluster_\d+)(?:_\d+)?/")


class RanNode(Protocol):
    """One node that ran; workloads.protocol.framework.KernelRun is one."""

    @property
    def name(self) -> str:
        """NAME:OP."""
        ...

    @property
    def seconds(self) -> float | None:
        """How long it ran."""
        ...


@dataclass(frozen=True)
class MeasuredTimes:
    """The seconds of one call, the median of the profiled calls, and the seconds of each cluster."""

    split: TimeSplit
    clusters: Mapping[str, float]


def measure_times(calls: Sequence[Sequence[RanNode]]) -> MeasuredTimes:
    """Attribute the time of each call to clusters and other nodes.

    Args:
      calls: the nodes that each call ran. A compiled cluster is one node, and what XLA runs in it is part of that.
    """
    split = [_split(call) for call in calls]
    if not any(any(parts.values()) for parts in split):
        return MeasuredTimes(TimeSplit(calls=len(calls), reason="the profiler saw no node of the graph"), {})
    sums = {part: statistics.median(sum(call[part].values()) for call in split) for part in ("run", "over", "outside")}
    outside = _medians([call["outside"] for call in split])
    return MeasuredTimes(
        TimeSplit(
            calls=len(calls),
            compiled_s=sums["run"],
            outside_s=sums["outside"],
            overhead_s=sums["over"],
            nodes=dict(sorted(outside.items(), key=lambda node: node[1], reverse=True)),
        ),
        _medians([call["run"] for call in split]),
    )


def _split(call: Sequence[RanNode]) -> dict[str, dict[str, float]]:
    parts: dict[str, dict[str, float]] = {name: defaultdict(float) for name in ("run", "over", "outside")}
    for node in call:
        name, _, op = node.name.rpartition(":")
        cluster = _CLUSTER.match(name)
        part = "run" if op == RUN else "over" if op in OVERHEAD else "outside"
        parts[part][cluster["cluster"] if cluster and op == RUN else name] += node.seconds or 0.0
    return parts


def _medians(calls: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for call in calls for name in call)
    return {name: statistics.median(call.get(name, 0.0) for call in calls) for name in names}
