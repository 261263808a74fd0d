"""Two clusterings held against each other: which nodes left their cluster, which came in, and what is new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from compare.record.clustering_part import ClusteredGraph, ClusteringChanges, GraphNode, NodeChange

Pairs = Sequence[tuple[GraphNode, GraphNode]]


def changes(left: ClusteredGraph, right: ClusteredGraph) -> ClusteringChanges:
    """What differs. Nodes are partners by operation and the text of their line, in order; without a line by name."""
    pairs, left_only, right_only = partners(left.nodes, right.nodes)
    there, back = _groups(pairs), _groups([(second, first) for first, second in pairs])
    regrouped = [
        NodeChange(left=one, right=two)
        for one, two in pairs
        if one.cluster and two.cluster and (there[one.cluster], back[two.cluster]) != (two.cluster, one.cluster)
    ]
    left_out = [NodeChange(left=one, right=two) for one, two in pairs if one.cluster and not two.cluster]
    taken_in = [NodeChange(left=one, right=two) for one, two in pairs if two.cluster and not one.cluster]
    return ClusteringChanges(
        same=not (regrouped or left_out or taken_in or left_only or right_only),
        left_out=tuple(left_out),
        taken_in=tuple(taken_in),
        left_only=tuple(left_only),
        right_only=tuple(right_only),
        regrouped=tuple(regrouped),
    )


def partners(
    left: Iterable[GraphNode], right: Iterable[GraphNode]
) -> tuple[Pairs, Sequence[GraphNode], Sequence[GraphNode]]:
    """Pairs of nodes that are the same in both graphs, and those of either graph that have no partner."""
    waiting: dict[tuple[str, str], list[GraphNode]] = defaultdict(list)
    for node in left:
        waiting[_key(node)].append(node)
    pairs, right_only = [], []
    for node in right:
        same = waiting.get(_key(node))
        if same:
            pairs.append((same.pop(0), node))
        else:
            right_only.append(node)
    return pairs, [node for nodes in waiting.values() for node in nodes], right_only


def _key(node: GraphNode) -> tuple[str, str]:
    return node.op, node.line.strip() or node.name


def _groups(pairs: Pairs) -> Mapping[str, str]:
    """By cluster of the first, that of the second with most of its nodes: names are numbers of a process."""
    counted: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for first, second in pairs:
        if first.cluster and second.cluster:
            counted[first.cluster][second.cluster] += 1
    return {cluster: max(sorted(there), key=there.__getitem__) for cluster, there in counted.items()}
