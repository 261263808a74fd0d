"""Describes how an edit changed a clustering, in sentences and rows: changed nodes, and both times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.record.clustering_part import (
    BOUNDARY,
    ClusteredGraph,
    ClusteringChanges,
    EditTime,
    GraphNode,
    NodeChange,
    TimeSplit,
)
from compare.report import numbers
from compare.report.cluster_rows import computing, inside, ops_of, places_of, why
from compare.report.numbers import count_of


@dataclass(frozen=True)
class ChangeRow:
    """Nodes of one line that changed in one way."""

    what: str
    ops: str
    places: Mapping[tuple[str, str], int]
    why: str = ""


def changed_rows(changes: ClusteringChanges, minimum: int | None = None) -> list[ChangeRow]:
    """The differences; nodes that only one graph has, outside of clusters, come first: they are the likely cause."""
    lost_nodes = [node for node in changes.right_only if node.outside and node.outside != BOUNDARY]
    regained_nodes = [node for node in changes.left_only if node.outside and node.outside != BOUNDARY]
    return [
        *_by_reason("only in the second, and outside", lost_nodes, minimum),
        *_by_reason("only in the first, and outside", regained_nodes, minimum),
        *_by_reason("left its cluster", [pair.right for pair in changes.left_out if pair.right], minimum),
        *_together("came into a cluster", _rights(changes.taken_in)),
        *_together("stands in another cluster", _rights(changes.regrouped)),
        *_together("only in the first, in a cluster", [node for node in changes.left_only if node.cluster]),
        *_together("only in the second, in a cluster", [node for node in changes.right_only if node.cluster]),
    ]


def _rights(pairs: Sequence[NodeChange]) -> list[GraphNode]:
    return [pair.right for pair in pairs if pair.right]


def _by_reason(what: str, nodes: Sequence[GraphNode], minimum: int | None) -> Iterator[ChangeRow]:
    reasons = dict.fromkeys(why(node, minimum) for node in nodes)
    for reason in reasons:
        of_reason = [node for node in nodes if why(node, minimum) == reason]
        yield ChangeRow(what, ops_of(of_reason), places_of(of_reason), reason)


def _together(what: str, nodes: Sequence[GraphNode]) -> Iterator[ChangeRow]:
    if nodes:
        yield ChangeRow(what, ops_of(nodes), places_of(nodes))


def comparison(left: ClusteredGraph, right: ClusteredGraph, changes: ClusteringChanges) -> str:
    """One sentence on what the edit did."""
    if changes.same:
        return "the same nodes in the same clusters"
    before, after = inside(left), inside(right)
    clusters = f"{count_of(len(left.clusters), 'cluster')} before, {len(right.clusters)} after"
    nodes = f"{before} of {len(computing(left))} nodes in a cluster before, {after} of {len(computing(right))} after"
    return f"{clusters}; {nodes}"


def times_compared(left: TimeSplit | None, right: TimeSplit | None, time: EditTime | None) -> Iterator[str]:
    """Both calls as the profiler saw them, and their ratio where it was measured.

    Args:
      left: a call before the edit.
      time: of both in pairs of processes; None where it was not requested.
    """
    totals = [_total(split) for split in (left, right)]
    if None not in totals:
        first, second = (numbers.seconds(total) for total in totals)
        bare = "" if time else " (a profiler's times of one process each, no verdict: --time measures pairs)"
        yield f"time of a call in nodes: {first} before, {second} after{bare}"
    if time is not None:
        yield f"time after over time before: {_ratio(time)}"


def _ratio(time: EditTime) -> str:
    processes = f"{count_of(time.pairs or 0, 'pair')} of fresh processes"
    control = f"identical code {numbers.ratio(time.null)} {numbers.interval(time.null_ci95)}"
    if time.withheld:
        return f"withheld: {time.withheld} ({processes}{f', {control}' if time.null is not None else ''})"
    return f"{numbers.ratio(time.ratio)} {numbers.interval(time.ci95)}, {time.verdict} ({processes}; {control})"


def _total(time: TimeSplit | None) -> float | None:
    if time is None or time.reason:
        return None
    return sum(part or 0.0 for part in (time.compiled_s, time.outside_s, time.overhead_s))
