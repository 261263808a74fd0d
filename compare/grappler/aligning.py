"""Aligns a graph before and after the optimizer: finds removed, added and changed nodes, and what replaced them.

Conclusions follow from the two graphs alone. A removed node is "gone" if the nodes that read it show no replacement.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from compare.grappler.node_states import (
    ARGUMENTS,
    Graph,
    by_name,
    difference,
    function_of,
    names_called,
    node_of,
    reads,
    value,
)
from compare.record.grappler_part import (
    ABSORBED,
    BYPASSED,
    CAME,
    FOLDED,
    FUSED,
    GONE,
    MERGED,
    READERS_WENT,
    REPLACED,
    UNREAD,
    NodeRewrite,
    OptimizedNode,
)

NEW_OPERATIONS = (FOLDED, FUSED, REPLACED, CAME)
"""Kinds of nodes that may replace others."""


def align_nodes(before: Sequence[OptimizedNode], after: Sequence[OptimizedNode]) -> tuple[NodeRewrite, ...]:
    """All removed, changed and added nodes, in the order of the graphs, without reasons for removals."""
    left, right = by_name(before), by_name(after)
    changes = [_change(node, right.get(name)) for name, node in left.items()]
    came = [NodeRewrite(name=name, kind=CAME, after=node) for name, node in right.items() if name not in left]
    return (*filter(None, changes), *came)


def _change(before: OptimizedNode, after: OptimizedNode | None) -> NodeRewrite | None:
    if after is None:
        return NodeRewrite(name=before.name, kind=GONE, before=before)
    kind = difference(before, after)
    return NodeRewrite(name=before.name, kind=kind, before=before, after=after) if kind else None


def explain_rewrites(
    rewrites: Sequence[NodeRewrite], before: Sequence[OptimizedNode], after: Sequence[OptimizedNode]
) -> tuple[NodeRewrite, ...]:
    """The rewrites with a reason for each removed node."""
    removals = _Removals(rewrites, by_name(before), by_name(after))
    return tuple(removals.explain(rewrite) if rewrite.kind == GONE else rewrite for rewrite in rewrites)


class _Removals:
    """Explains why nodes were removed."""

    def __init__(self, rewrites: Sequence[NodeRewrite], before: Graph, after: Graph) -> None:
        self._before, self._after = before, after
        self._new = {rewrite.name for rewrite in rewrites if rewrite.kind in NEW_OPERATIONS}
        self._readers = _readers(before)
        self._canonical = _canonical(before)
        functions_after = set(map(function_of, after.values()))
        self._functions_gone = names_called(before.values()) - functions_after
        self._copies: dict[str, list[str]] = defaultdict(list)
        for name, first in self._canonical.items():
            self._copies[first].append(name)

    def explain(self, rewrite: NodeRewrite) -> NodeRewrite:
        node = self._before[rewrite.name]
        if function_of(node) in self._functions_gone:
            return rewrite  # inlined, dropped or renamed: the graphs do not show which
        if not self._readers[node.name]:
            return replace(rewrite, kind=UNREAD)
        rules: Sequence[tuple[str, Callable[[OptimizedNode], Iterable[str]]]] = (
            (MERGED, self._find_copy),
            (ABSORBED, self._find_changed_readers),
            (BYPASSED, self._find_bypass),
            (ABSORBED, self._find_new_nodes),
        )
        for kind, rule in rules:
            into = tuple(dict.fromkeys(rule(node)))
            if into:
                return replace(rewrite, kind=kind, into=into)
        lost_readers = all(reader not in self._after for reader in self._readers[node.name])
        return replace(rewrite, kind=READERS_WENT if lost_readers else GONE)

    def _remaining_readers(self, node: OptimizedNode) -> list[OptimizedNode]:
        """The optimized nodes that read a node before the optimizer ran."""
        return [self._after[name] for name in self._readers[node.name] if name in self._after]

    def _new_inputs(self, reader: OptimizedNode) -> set[str]:
        """The nodes that a reader did not read before, or read fewer times."""
        now, then = (Counter(map(node_of, node.inputs)) for node in (reader, self._before[reader.name]))
        return set(now - then)

    def _find_copy(self, node: OptimizedNode) -> Iterable[str]:
        """The node that computes the same value, if all remaining readers now read it."""
        newly = [self._new_inputs(reader) for reader in self._remaining_readers(node)]
        others = self._copies[self._canonical[node.name]] if newly else ()
        return [other for other in others if other in self._after and all(other in names for names in newly)][:1]

    def _find_bypass(self, node: OptimizedNode) -> Iterable[str]:
        """The inputs of the node, also through removed nodes, if all remaining readers now read one of them."""
        above = self._search(node.name, lambda name: reads(self._before[name]))
        by_reader = [sorted(above & self._new_inputs(reader)) for reader in self._remaining_readers(node)]
        return [name for names in by_reader for name in names] if by_reader and all(by_reader) else ()

    def _consumers(self, node: OptimizedNode) -> list[OptimizedNode]:
        """The remaining nodes that read a node, directly or through removed nodes."""
        return [self._after[name] for name in sorted(self._search(node.name, lambda name: self._readers[name]))]

    def _search(self, start: str, following: Callable[[str], Iterable[str]]) -> set[str]:
        """The first remaining nodes on each path from a node; paths continue through removed nodes."""
        open_, seen_names, names_after = [start], {start}, set[str]()
        while open_:
            for name in set(following(open_.pop())) - seen_names:
                seen_names.add(name)
                if name in self._after:
                    names_after.add(name)
                elif name in self._before:
                    open_.append(name)
        return names_after

    def _find_changed_readers(self, node: OptimizedNode) -> Iterable[str]:
        """The consumers of the node, if each of them has another operation now."""
        below = [reader.name for reader in self._consumers(node)]
        return below if set(below) <= self._new else ()

    def _find_new_nodes(self, node: OptimizedNode) -> Iterable[str]:
        """The new nodes, if each consumer is one or reads one."""
        by_reader = [
            [reader.name] if reader.name in self._new else sorted(self._new_inputs(reader) & self._new)
            for reader in self._consumers(node)
        ]
        return [name for names in by_reader for name in names] if by_reader and all(by_reader) else ()


def _canonical(graph: Graph) -> dict[str, str]:
    """By node, the first node with the same value: equal operation, attributes and inputs."""
    first = {name: name for name in graph}
    while True:
        by_computed: dict[object, str] = {}
        refinement = {name: by_computed.setdefault(_computes(node, first), name) for name, node in graph.items()}
        if refinement == first:
            return refinement
        first = refinement


def _computes(node: OptimizedNode, first: Mapping[str, str]) -> object:
    if node.op in ARGUMENTS:
        return node.name
    inputs = [(first.get(name := node_of(tensor), name), tensor.replace(name, "", 1)) for tensor in node.inputs]
    return node.op, tuple(inputs), tuple(sorted(node.attributes.items())), value(node)


def _readers(graph: Graph) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = defaultdict(list)
    for node in graph.values():
        for name in dict.fromkeys(map(node_of, node.inputs)):
            readers[name].append(node.name)
    return readers


def group_rewrites(rewrites: Sequence[NodeRewrite]) -> tuple[NodeRewrite, ...]:
    """The rewrites, each with the number of its group: related nodes that the same passes changed."""
    by_node = {rewrite.name: rewrite for rewrite in rewrites}
    beside: dict[str, set[str]] = defaultdict(set)
    for rewrite in rewrites:
        for name in _related_nodes(rewrite, by_node):
            if name in by_node and passes_of(by_node[name]) == passes_of(rewrite):
                beside[name].add(rewrite.name)
                beside[rewrite.name].add(name)
    numbers: dict[str, int] = {}
    for name in by_node:
        if name not in numbers:
            numbers |= dict.fromkeys(_reach(name, beside), len(numbers))
    return tuple(replace(rewrite, group=numbers[rewrite.name]) for rewrite in rewrites)


def _related_nodes(rewrite: NodeRewrite, by_node: Mapping[str, NodeRewrite]) -> Iterable[str]:
    """The nodes that replace a removed node, or the added nodes that a new operation reads."""
    if rewrite.kind == ABSORBED:
        return rewrite.into
    if rewrite.after is None or rewrite.kind not in NEW_OPERATIONS:
        return ()
    return [name for name in reads(rewrite.after) if name in by_node and by_node[name].kind == CAME]


def passes_of(rewrite: NodeRewrite) -> object:
    """A value that is equal for rewrites that the same experiments show."""
    return rewrite.needs, rewrite.alone, rewrite.always, rewrite.differs


def _reach(start: str, beside: Mapping[str, set[str]]) -> set[str]:
    open_, seen_names = [start], {start}
    while open_:
        for name in beside.get(open_.pop(), set()) - seen_names:
            seen_names.add(name)
            open_.append(name)
    return seen_names
