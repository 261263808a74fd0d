"""A graph before and after the optimizer held against each other: what went, what came, what changed, and into what.

Only what both graphs show is said. A node that went without leaving a trace in those that read it is "gone".
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
"""Kinds of a node that may stand for others."""


def align_nodes(before: Sequence[OptimizedNode], after: Sequence[OptimizedNode]) -> tuple[NodeRewrite, ...]:
    """Every node that went, came or changed, in the order of the graphs; of those that went no kind is known yet."""
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
    """The same with what became of each node that went."""
    account = _Account(rewrites, by_name(before), by_name(after))
    return tuple(account.of(rewrite) if rewrite.kind == GONE else rewrite for rewrite in rewrites)


class _Account:
    """What became of the nodes that went."""

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

    def of(self, rewrite: NodeRewrite) -> NodeRewrite:
        node = self._before[rewrite.name]
        if function_of(node) in self._functions_gone:
            return rewrite  # inlined, dropped, or under another name: the graphs do not say which
        if not self._readers[node.name]:
            return replace(rewrite, kind=UNREAD)
        rules: Sequence[tuple[str, Callable[[OptimizedNode], Iterable[str]]]] = (
            (MERGED, self._copy),
            (ABSORBED, self._became),
            (BYPASSED, self._read_instead),
            (ABSORBED, self._new_instead),
        )
        for kind, rule in rules:
            into = tuple(dict.fromkeys(rule(node)))
            if into:
                return replace(rewrite, kind=kind, into=into)
        went = all(reader not in self._after for reader in self._readers[node.name])
        return replace(rewrite, kind=READERS_WENT if went else GONE)

    def _readers_left(self, node: OptimizedNode) -> list[OptimizedNode]:
        """Those that read a node before, as they are after, without those that went."""
        return [self._after[name] for name in self._readers[node.name] if name in self._after]

    def _newly_read(self, reader: OptimizedNode) -> set[str]:
        """What a reader reads now, and did not, or not as often."""
        now, then = (Counter(map(node_of, node.inputs)) for node in (reader, self._before[reader.name]))
        return set(now - then)

    def _copy(self, node: OptimizedNode) -> Iterable[str]:
        """The node that computes the same, where all that read this one read that one now."""
        newly = [self._newly_read(reader) for reader in self._readers_left(node)]
        others = self._copies[self._canonical[node.name]] if newly else ()
        return [other for other in others if other in self._after and all(other in names for names in newly)][:1]

    def _read_instead(self, node: OptimizedNode) -> Iterable[str]:
        """What it read, itself or through others that went, where all that read this one read that now."""
        above = self._beyond(node.name, lambda name: reads(self._before[name]))
        by_reader = [sorted(above & self._newly_read(reader)) for reader in self._readers_left(node)]
        return [name for names in by_reader for name in names] if by_reader and all(by_reader) else ()

    def _below(self, node: OptimizedNode) -> list[OptimizedNode]:
        """What is left of what read a node, itself or through others that went."""
        return [self._after[name] for name in sorted(self._beyond(node.name, lambda name: self._readers[name]))]

    def _beyond(self, start: str, following: Callable[[str], Iterable[str]]) -> set[str]:
        """The first nodes that are left, through those that went."""
        open_, seen_names, names_after = [start], {start}, set[str]()
        while open_:
            for name in set(following(open_.pop())) - seen_names:
                seen_names.add(name)
                if name in self._after:
                    names_after.add(name)
                elif name in self._before:
                    open_.append(name)
        return names_after

    def _became(self, node: OptimizedNode) -> Iterable[str]:
        """What it led to, where all of that is another operation now."""
        below = [reader.name for reader in self._below(node)]
        return below if set(below) <= self._new else ()

    def _new_instead(self, node: OptimizedNode) -> Iterable[str]:
        """The new nodes that all it led to reads now, or is."""
        by_reader = [
            [reader.name] if reader.name in self._new else sorted(self._newly_read(reader) & self._new)
            for reader in self._below(node)
        ]
        return [name for names in by_reader for name in names] if by_reader and all(by_reader) else ()


def _canonical(graph: Graph) -> dict[str, str]:
    """By node, the first that computes the same: one operation with equal attributes of inputs that are the same."""
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
    """The same with a number for those that hang together: of the same passes, one standing for the other."""
    by_node = {rewrite.name: rewrite for rewrite in rewrites}
    beside: dict[str, set[str]] = defaultdict(set)
    for rewrite in rewrites:
        for name in _hanging_together(rewrite, by_node):
            if name in by_node and passes_of(by_node[name]) == passes_of(rewrite):
                beside[name].add(rewrite.name)
                beside[rewrite.name].add(name)
    numbers: dict[str, int] = {}
    for name in by_node:
        if name not in numbers:
            numbers |= dict.fromkeys(_reach(name, beside), len(numbers))
    return tuple(replace(rewrite, group=numbers[rewrite.name]) for rewrite in rewrites)


def _hanging_together(rewrite: NodeRewrite, by_node: Mapping[str, NodeRewrite]) -> Iterable[str]:
    """What stands for a node that went, and the nodes that came for a new operation to read."""
    if rewrite.kind == ABSORBED:
        return rewrite.into
    if rewrite.after is None or rewrite.kind not in NEW_OPERATIONS:
        return ()
    return [name for name in reads(rewrite.after) if name in by_node and by_node[name].kind == CAME]


def passes_of(rewrite: NodeRewrite) -> object:
    """Equal of changes that the same experiments show."""
    return rewrite.needs, rewrite.alone, rewrite.always, rewrite.differs


def _reach(start: str, beside: Mapping[str, set[str]]) -> set[str]:
    open_, seen_names = [start], {start}
    while open_:
        for name in beside.get(open_.pop(), set()) - seen_names:
            seen_names.add(name)
            open_.append(name)
    return seen_names
