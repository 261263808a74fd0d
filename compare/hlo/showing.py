"""Converts an alignment to plain JSON data for pages.

A value is known by a key that is unique on its side: "12", and "12.0.3" for value 3 of the first region of value 12.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from compare.files import Json
from compare.hlo.align import Alignment, Match
from compare.hlo.align._alignment import NUMBER, REGION
from compare.hlo.graph import Attributes, Graph, Node
from compare.hlo.numbering import digests
from compare.hlo.places import differences_view, place_view
from compare.hlo.rewriting import Change, Rewritten
from compare.hlo.rules.algebraic import ALGEBRAIC
from compare.hlo.rules.structural import STRUCTURAL
from compare.plain_json import to_json

UNCHANGED, REWRITTEN, CHANGED, ONLY_HERE = "unchanged", "rewritten", "changed", "only here"
"""A value has a partner as written, or after a rule; or another value replaces it, or it has no counterpart."""

_MEANINGS = {rule.name: rule.meaning for rule in (*STRUCTURAL, *ALGEBRAIC)}
_LONGEST_LITERAL, _LONGEST_TEXT = 8, 400
_EXAMPLES = 3
_NEAR = 64  # values that are looked at for the nearest one with a source

Times = Mapping[str, Mapping[str, float]]
"""By side's label, seconds of each kernel by its name."""
Prefixes = tuple[str, str]
"""The prefixes of the keys of a left and of a right region's values."""


def view(
    alignment: Alignment, others: Mapping[str, Alignment], labels: Sequence[str], times: Times | None = None
) -> Json:
    """All that a page shows of two programs.

    Args:
      labels: of the left and the right program, as `FrontierEntry.side` has them.
      times: by label, seconds of each kernel by its name.
    """
    pairs = _Pairs(alignment)
    forms = (("left", alignment.left, labels[0]), ("right", alignment.right, labels[1]))
    return {
        "labels": list(labels),
        "level": alignment.level,
        "levels": {
            level: _level(level_alignment) for level, level_alignment in {**others, alignment.level: alignment}.items()
        },
        **{side: _side(form, label, side, pairs, (times or {}).get(label, {})) for side, form, label in forms},
        "matches": pairs.matches,
        "alike": pairs.alike,
        "results": [to_json(result) for result in alignment.results],
        "notes": [*alignment.notes, *(f"equal where {assumption}" for assumption in alignment.assumes)],
        **differences_view(alignment),
        "frontier": [entry for prefixes, inner in _walk(alignment) for entry in _frontier(inner, prefixes, labels)],
        "changes": [change for _, form, label in forms for change in _changes(form.changes, label)],
    }


def module_view(graph: Graph, matched_keys: Iterable[int] | None = None) -> Json:
    """The data of one program's picture, as `compare.hlo.levels.read` reads it.

    Args:
      matched_keys: values that have a partner in another program; None where there is no other.
    """
    keys = None if matched_keys is None else set(matched_keys)
    return {
        "name": graph.name,
        "nodes": [{**node_view(node), "matched": None if keys is None else node.id in keys} for node in graph],
        "results": [str(key) for key in graph.results],
    }


def node_view(node: Node, prefix: str = "") -> Json:
    """One value and, within it, the values of its regions."""
    key = f"{prefix}{node.id}"
    return {
        "id": key,
        "name": node.name,
        "op": node.opcode,
        "shape": str(node.shape),
        "operands": [f"{prefix}{operand}" for operand in node.operands],
        "attributes": readable(node.attributes),
        "literal": "" if node.literal is None else _literal(node.literal),
        "op_name": node.op_name,
        "source": node.source,
        "frames": list(node.frames),
        "place": list(node.place),
        "hints": readable(node.hints),
        "regions": [_region(region, f"{key}.{number}.") for number, region in enumerate(node.regions)],
    }


def readable(attributes: Attributes) -> str:
    """Attributes in one line, in the order in which they stand: "dimensions={0,1} direction=GT"."""
    return " ".join(f"{name}={_value(value)}" for name, value in attributes)[:_LONGEST_TEXT]


def _value(value: Any) -> str:
    if not isinstance(value, tuple):
        return repr(value) if isinstance(value, bytes) else str(value)
    if value and all(isinstance(field, tuple) and len(field) == 2 and isinstance(field[0], str) for field in value):
        return "{" + " ".join(f"{name}={_value(inner)}" for name, inner in value) + "}"
    return "{" + ",".join(map(_value, value)) + "}"


def _literal(value: np.ndarray) -> str:
    """All elements where they are few or alike, else the first ones."""
    flat = value.ravel()
    if flat.size > 1 and flat.dtype.kind != "V" and bool(np.all(flat == flat[0])):
        return f"{flat[0]!s} everywhere"
    elements = ", ".join(str(element) for element in flat[:_LONGEST_LITERAL])
    rest = flat.size - _LONGEST_LITERAL
    return f"{elements}, and {rest} more" if rest > 0 else elements


def _region(region: Graph, prefix: str) -> Json:
    return {
        "name": region.name,
        "nodes": [node_view(node, prefix) for node in region],
        "results": [f"{prefix}{key}" for key in region.results],
    }


class _Pairs:
    """Matches and what is only alike, those of regions too, as a page shows them."""

    def __init__(self, alignment: Alignment) -> None:
        self.matches: list[Json] = []
        self.alike: list[Json] = []
        self._digests: dict[Graph, dict[int, bytes]] = {}
        for prefixes, inner in _walk(alignment):
            self._add_all(inner, prefixes)

    def _add_all(self, alignment: Alignment, prefixes: Prefixes) -> None:
        graphs = alignment.left.graph, alignment.right.graph
        region_pairs = {(region.left, region.right) for region in alignment.regions}
        for pairs, equal in ((alignment.matches, True), (alignment.alike, False)):
            for match in pairs:
                self._add(match, graphs, prefixes, equal, (match.left, match.right) in region_pairs)

    def _add(
        self, match: Match, graphs: tuple[Graph, Graph], prefixes: Prefixes, equal: bool, has_aligned_regions: bool
    ) -> None:
        ends = [graph.nodes[key] for graph, key in zip(graphs, (match.left, match.right), strict=True)]
        keys = [f"{prefix}{node.id}" for prefix, node in zip(prefixes, ends, strict=True)]
        ulp = match.ulp if match.ulp is None or math.isfinite(match.ulp) else str(match.ulp)
        entry = {"left": keys[0], "right": keys[1], "matcher": match.matcher, "ulp": ulp, "note": match.note}
        if equal:
            self.matches.append(entry)
        else:
            self.alike.append(entry | {"differs": _differs(*ends)})
        if not has_aligned_regions:
            for number, bodies in enumerate(zip(ends[0].regions, ends[1].regions, strict=False)):
                self._add_numbered(bodies, (f"{keys[0]}.{number}.", f"{keys[1]}.{number}."))

    def _add_numbered(self, bodies: tuple[Graph, Graph], prefixes: Prefixes) -> None:
        """Add the matches in regions without an alignment of their own, such as reducers."""
        left, right = map(self._digests_of, bodies)
        places = {digest: key for key, digest in right.items()}
        for key, digest in left.items():
            if digest in places:
                self._add(Match(key, places[digest], REGION, note=NUMBER), bodies, prefixes, True, False)

    def _digests_of(self, body: Graph) -> dict[int, bytes]:
        # One reducer is shared by many values.
        if body not in self._digests:
            self._digests[body] = digests(body)
        return self._digests[body]


def _walk(alignment: Alignment, prefixes: Prefixes = ("", "")) -> Iterator[tuple[Prefixes, Alignment]]:
    """The alignment, and those of all regions, with what keys of their values begin with."""
    yield prefixes, alignment
    for region in alignment.regions:
        left, right = f"{prefixes[0]}{region.left}.{region.index}.", f"{prefixes[1]}{region.right}.{region.index}."
        yield from _walk(region.alignment, (left, right))


def _differs(left: Node, right: Node) -> list[str]:
    """The differences of two values themselves; if empty, their operands differ."""
    literals = [None if node.literal is None else node.literal.tobytes() for node in (left, right)]
    differing = [
        name
        for name, differs in (
            ("opcode", left.opcode != right.opcode),
            ("shape", left.shape != right.shape),
            ("attribute", left.attributes != right.attributes),
            ("literal", literals[0] != literals[1]),
        )
        if differs
    ]
    return differing or ["operand"]


def _side(form: Rewritten, label: str, side: str, pairs: _Pairs, times: Mapping[str, float]) -> Json:
    matched_keys, alike = ({match[side] for match in pairing} for pairing in (pairs.matches, pairs.alike))
    marks = _Marks(matched_keys, alike, form.changes, times)
    return {
        "label": label,
        "nodes": [marks.mark(node_view(node)) for node in form.graph],
        "parameters": [str(key) for key in form.graph.parameters],
        "results": [str(key) for key in form.graph.results],
        "kernels": {name: seconds for name, seconds in times.items() if name in marks.timed},
    }


class _Marks:
    """The marks of a value on a page: its class, the rules that wrote it, its kernel."""

    def __init__(
        self, matched_keys: set[str], alike: set[str], changes: Iterable[Change], times: Mapping[str, float]
    ) -> None:
        self._matched, self._alike, self._times = matched_keys, alike, times
        self._rules: dict[str, dict[str, bool]] = defaultdict(dict)
        for change in changes:
            self._rules[change.name][change.rule] = change.numerics
        self.timed: set[str] = set()

    def mark(self, value_view: Json) -> Json:
        """The value with its marks and those of its regions' values."""
        rules = self._rules.get(value_view["name"], {})
        kernel = next((name for name in (*value_view["place"], value_view["name"]) if name in self._times), "")
        self.timed.add(kernel)
        regions = [
            {**region, "nodes": [self.mark(node) for node in region["nodes"]]} for region in value_view["regions"]
        ]
        marks = {"class": self._class(value_view["id"], rules), "rules": list(rules), "numerics": any(rules.values())}
        return {**value_view, **marks, "kernel": kernel, "regions": regions}

    def _class(self, key: str, rules: Mapping[str, bool]) -> str:
        if key in self._matched:
            return REWRITTEN if rules else UNCHANGED
        return CHANGED if key in self._alike else ONLY_HERE


def _level(alignment: Alignment) -> Json:
    return {
        "matched": alignment.match_count,
        "left": len(alignment.left.graph),
        "right": len(alignment.right.graph),
        "equal": alignment.is_equal,
    }


def _frontier(alignment: Alignment, prefixes: Prefixes, labels: Sequence[str]) -> Iterator[Json]:
    """Entries with their value, and the nearest value with a source on the other side."""
    # The first match of a value counts, and what is only alike before any.
    pairs = [(match.left, match.right) for match in (*alignment.alike, *alignment.matches)][::-1]
    partners = dict(pairs), {right: left for left, right in pairs}
    graphs = alignment.left.graph, alignment.right.graph
    for entry in alignment.frontier:
        here = 0 if entry.side == labels[0] else 1
        graph, other = graphs[here], graphs[1 - here]
        node = graph.nodes.get(entry.node)
        near = node and _counterpart(node.id, graph, other, partners[here])
        yield {
            **place_view(entry),
            "node": f"{prefixes[here]}{node.id}" if node else "",
            "counterpart": f"{prefixes[1 - here]}{near.id}" if near else "",
            "counterpart_source": near.source if near else "",
        }


def _counterpart(key: int, graph: Graph, other: Graph, partners: Mapping[int, int]) -> Node | None:
    """The value at the same position, or else the partner of the nearest operand with one."""
    waiting, seen_keys = [key], {key}
    for current in waiting:
        partner = other.nodes.get(partners.get(current, -1))
        if partner is not None and partner.source:
            return partner
        fresh = [operand for operand in graph.nodes[current].operands if operand not in seen_keys]
        seen_keys.update(fresh)
        waiting += fresh[: _NEAR - len(waiting)]
    return None


def _changes(changes: Sequence[Change], label: str) -> list[Json]:
    """The changes by each rule on one side, the busiest rule first."""
    by_rule: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_rule[change.rule].append(change)
    counts = Counter({name: len(of_rule) for name, of_rule in by_rule.items()})
    return [
        {
            "rule": name,
            "side": label,
            "count": count,
            "numerics": any(change.numerics for change in by_rule[name]),
            "meaning": _MEANINGS.get(name, ""),
            "examples": [
                {"name": change.name, "before": change.before, "after": change.after, "source": change.source}
                for change in by_rule[name][:_EXAMPLES]
            ],
        }
        for name, count in counts.most_common()
    ]
