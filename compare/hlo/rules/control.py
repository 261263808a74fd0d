"""Rules of loops and branches: state in one order, constants where they are read, no branch that is never taken."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.rewriting import Rule, Writer, rewrite
from compare.hlo.rules._forms import splat
from compare.hlo.rules._state_tuples import put_together, read_by, taken_apart


@dataclass(frozen=True)
class Loop:
    """A while: its state slot by slot, its body and its test with one parameter a slot."""

    start: tuple[int, ...]
    body: Graph
    test: Graph

    @property
    def fixed(self) -> set[int]:
        """Slots that every step hands on as they are."""
        return {at for at, key in enumerate(self.body.results) if key == self.body.parameters[at]}


def _loop(node: Node, graph: Writer) -> Loop | None:
    if len(node.regions) != 2:
        return None
    start = _parts(node.operands[0], graph)
    shapes = [graph[key].shape for key in start]
    body, test = (taken_apart(region, shapes) for region in node.regions)
    if body is None or test is None or len(body.results) != len(start) or not start:
        return None
    return Loop(start, body, test)


def _parts(key: int, graph: Writer) -> tuple[int, ...]:
    node = graph[key]
    if node.shape.dtype != "tuple":
        return (key,)
    if node.opcode == "tuple":
        return node.operands
    return tuple(_part(key, at, part, graph) for at, part in enumerate(node.shape.parts))


def _part(key: int, at: int, shape: Shape, graph: Writer) -> int:
    return graph.add("get-tuple-element", shape, (key,), (("tuple_index", at),))


def _constants_inside(node: Node, graph: Writer) -> int | None:
    """State that is one constant from the first step to the last."""
    loop = _loop(node, graph)
    if loop is None:
        return None
    known = {at: _constant(loop.start[at], graph) for at in sorted(loop.fixed) if _constant(loop.start[at], graph)}
    if not known or len(known) == len(loop.start):
        return None
    kept = [at for at in range(len(loop.start)) if at not in known]
    places = {at: place for place, at in enumerate(kept)}
    regions = put_together(loop.body, places, known, kept), put_together(loop.test, places, known)
    made = _made(node, [loop.start[at] for at in kept], regions, graph)
    return _state(node, loop, {at: made_at for made_at, at in enumerate(kept)}, made, graph)


def _constant(key: int, graph: Writer) -> list[Node]:
    node = graph[key]
    if node.opcode == "constant" and node.literal is not None and not node.shape.dimensions:
        return [node]
    if node.opcode == "broadcast" and splat(key, graph) is not None:
        return [graph[node.operands[0]], node]
    return []


def _made(node: Node, start: Sequence[int], regions: tuple[Graph, ...], graph: Writer) -> int:
    shape = Shape("tuple", parts=tuple(graph[key].shape for key in start))
    return graph.add(node.opcode, shape, (graph.add("tuple", shape, start),), node.attributes, regions=regions)


def _state(node: Node, loop: Loop, places: dict[int, int], made: int, graph: Writer) -> int:
    """What the loop returned before, from the one that was made; what never changes is what it was."""
    parts = [
        key if at in loop.fixed else _part(made, places[at], graph[key].shape, graph)
        for at, key in enumerate(loop.start)
    ]
    return graph.add("tuple", node.shape, parts) if node.shape.dtype == "tuple" else parts[0]


def _ordered_state(node: Node, graph: Writer) -> int | None:
    loop = _loop(node, graph)
    if loop is None:
        return None
    colours = _colours(loop, graph)
    order = sorted(set(colours))
    if colours == order and node.shape.dtype == "tuple":
        return None
    places = {at: order.index(colour) for at, colour in enumerate(colours)}
    first = [colours.index(colour) for colour in order]
    regions = put_together(loop.body, places, results=first), put_together(loop.test, places)
    made = _made(node, [loop.start[at] for at in first], regions, graph)
    return _state(node, loop, places, made, graph)


def _unchanged_state(node: Node, graph: Writer) -> int | None:
    loop, at = graph[node.operands[0]], node.attribute("tuple_index")
    if loop.opcode != "while":
        return None
    body = loop.regions[0]
    handed = body.nodes[body.results[at]] if len(body.results) == len(loop.shape.parts) else None
    if handed is None or handed.operands != body.parameters or handed.opcode != node.opcode:
        return None
    return _part(loop.operands[0], at, node.shape, graph) if handed.attribute("tuple_index") == at else None


def _colours(loop: Loop, graph: Writer) -> list[bytes]:
    """By slot, a name that tells its values apart: equal ones start alike, and every step keeps them alike.

    Names are refined until no step splits them further. Slots that still share a name hold the same value at every
    step, whatever it is.
    """
    colours = [_hashed(graph.digests[key]) for key in loop.start]
    while len(set(colours)) < len(colours):
        step = rewrite(loop.body, graph.rules, [colour.hex() for colour in colours])
        digests = [step.digests[key] for key in step.graph.results]
        finer = [_hashed(colour + digest) for colour, digest in zip(colours, digests, strict=True)]
        if len(set(finer)) == len(set(colours)):
            return colours
        colours = finer
    return colours


def _hashed(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _decided(node: Node, graph: Writer) -> int | None:
    """A branch that is always taken stands in place of the choice."""
    value = splat(node.operands[0], graph)
    if value is None:
        return None
    at = (0 if value else 1) if graph[node.operands[0]].shape.dtype == "pred" else int(value)
    at = at if 0 <= at < len(node.regions) else len(node.regions) - 1
    return _inlined(node, node.regions[at], node.operands[1 + at], graph)


def _inlined(node: Node, region: Graph, operand: int, graph: Writer) -> int:
    """What a branch returns, its operations among the others."""
    placed = {region.parameters[0]: operand}
    for inner in region:
        if inner.id not in placed:
            placed[inner.id] = graph.write(inner.but(operands=tuple(placed[key] for key in inner.operands)))
    results = [placed[key] for key in region.results]
    whole = len(results) == 1 and graph[results[0]].shape == node.shape
    return results[0] if whole else graph.add("tuple", node.shape, results)


def _by_truth(node: Node, graph: Writer) -> int | None:
    """A choice by a truth value that was made a number."""
    if len(node.regions) != 2:
        return None
    key = node.operands[0]
    if graph[key].opcode == "clamp":
        low, key, high = graph[key].operands
        if splat(low, graph) != 0 or splat(high, graph) != 1:
            return None
    source = graph[key].operands[0] if graph[key].opcode == "convert" else key
    if source == key or graph[source].shape.dtype != "pred":
        return None
    operands = (source, node.operands[2], node.operands[1])
    return graph.add("conditional", node.shape, operands, node.attributes, regions=node.regions[::-1])


def _ordered_branches(node: Node, graph: Writer) -> int | None:
    """Each branch is handed what it reads, each value once, in one order."""
    operands, regions = [node.operands[0]], []
    for key, region in zip(node.operands[1:], node.regions, strict=True):
        parts = _parts(key, graph)
        apart = taken_apart(region, [graph[part].shape for part in parts])
        if apart is None:
            return None
        read = read_by(apart, apart.results)
        handed = sorted({parts[at] for at in read}, key=lambda part: graph.digests[part])
        places = {at: handed.index(parts[at]) for at in read}
        shape = Shape("tuple", parts=tuple(graph[part].shape for part in handed))
        operands.append(graph.add("tuple", shape, handed))
        regions.append(put_together(apart, places))
    if tuple(operands) == node.operands:
        return None
    return graph.add("conditional", node.shape, operands, node.attributes, regions=tuple(regions))


def _same_branches(node: Node, graph: Writer) -> int | None:
    if len(set(node.operands[1:])) != 1:
        return None
    branches = {graph.region(region)[1] for region in node.regions}
    if len(branches) != 1:
        return None
    return _inlined(node, node.regions[0], node.operands[1], graph)


CONTROL = (
    Rule("constants in loops", "a constant that a loop carries stands where it is read", ("while",), _constants_inside),
    Rule(
        "loop state ordered",
        "state is in one order, and what is always equal is carried once",
        ("while",),
        _ordered_state,
    ),
    Rule(
        "unchanged state",
        "what no step changes is after a loop what it was before",
        ("get-tuple-element",),
        _unchanged_state,
    ),
    Rule("decided branches", "a branch that is always taken is no branch", ("conditional",), _decided),
    Rule(
        "branches by truth",
        "a choice between two by a number that was a truth value is one by that",
        ("conditional",),
        _by_truth,
    ),
    Rule("operands of branches", "a branch is handed what it reads, in one order", ("conditional",), _ordered_branches),
    Rule("equal branches", "a choice between equal branches is no choice", ("conditional",), _same_branches),
)
"""In the order in which they are tried."""
