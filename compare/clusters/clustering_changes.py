"""Differences of two clusterings: which nodes left their cluster, which entered it, and which are new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from compare.record.clustering_part import ClusteredGraph, ClusteringChanges, GraphNode, NodeChange

Pairs = Sequence[tuple[GraphNode, GraphNode]]


def changes(left: ClusteredGraph, right: ClusteredGraph) -> ClusteringChanges:
    """The differences. Nodes are partners by operation and the text of their line, or else by their name."""
    pairs, left_only, right_only = partners(left.nodes, right.nodes)
    there, back = _groups(pairs), _groups([(second, first) for first, second in pairs])
    regroupings = [
        NodeChange(left=one, right=two)
        for one, two in pairs
        if one.cluster and two.cluster and (there[one.cluster], back[two.cluster]) != (two.cluster, one.cluster)
    ]
    left_out = [NodeChange(left=one, right=two) for one, two in pairs if one.cluster and not two.cluster]
    taken_in = [NodeChange(left=one, right=two) for one, two in pairs if two.cluster and not one.cluster]
    return ClusteringChanges(
        same=not (regroupings or left_out or taken_in or left_only or right_only),
        left_out=tuple(left_out),
        taken_in=tuple(taken_in),
        left_only=tuple(left_only),
        right_only=tuple(right_only),
        regrouped=tuple(regroupings),
    )


def partners(
    left: Iterable[GraphNode], right: Iterable[GraphNode]
) -> tuple[Pairs, Sequence[GraphNode], Sequence[GraphNode]]:
    """Pairs of nodes that are the same in both graphs, and those of either graph that have no partner.

    An edit moves lines and changes the numbers in names, so the text of a line is more reliable than a name. Names
    distinguish nodes of one line, such as the line that calls a whole model.
    """
    by_line, left_over, right_over = _pair(list(left), list(right), lambda node: node.line.strip())
    by_name, left_only, right_only = _pair(left_over, right_over, lambda node: node.name)
    return [*by_line, *by_name], left_only, right_only


def _pair(
    left: Sequence[GraphNode], right: Sequence[GraphNode], key: Callable[[GraphNode], str]
) -> tuple[Pairs, Sequence[GraphNode], Sequence[GraphNode]]:
    """Nodes of one operation and one key are partners in their order; those without a key have none."""
    waiting: dict[tuple[str, str], list[GraphNode]] = defaultdict(list)
    for node in left:
        waiting[node.op, key(node)].append(node)
    pairs, over = [], []
    for node in right:
        same = waiting.get((node.op, key(node))) if key(node) else None
        if same:
            pairs.append((same.pop(0), node))
        else:
            over.append(node)
    pair_ids = {id(first) for first, _ in pairs}
    return pairs, [node for node in left if id(node) not in pair_ids], over


def _groups(pairs: Pairs) -> Mapping[str, str]:
    """By cluster of the first graph, the cluster of the second one with most of its nodes: names differ by process."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for first, second in pairs:
        if first.cluster and second.cluster:
            counts[first.cluster][second.cluster] += 1
    return {cluster: max(sorted(there), key=there.__getitem__) for cluster, there in counts.items()}
