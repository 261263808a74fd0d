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
    def fixed_slots(self) -> set[int]:
        """Slots that every step hands on as they are."""
        return {position for position, key in enumerate(self.body.results) if key == self.body.parameters[position]}


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
    return tuple(_part(key, index, part, graph) for index, part in enumerate(node.shape.parts))


def _part(key: int, index: int, shape: Shape, graph: Writer) -> int:
    return graph.add("get-tuple-element", shape, (key,), (("tuple_index", index),))


def _constants_inside(node: Node, graph: Writer) -> int | None:
    """State that is one constant from the first step to the last."""
    loop = _loop(node, graph)
    if loop is None:
        return None
    constants = {
        position: _constant(loop.start[position], graph)
        for position in sorted(loop.fixed_slots)
        if _constant(loop.start[position], graph)
    }
    if not constants or len(constants) == len(loop.start):
        return None
    positions = [position for position in range(len(loop.start)) if position not in constants]
    places = {position: place for place, position in enumerate(positions)}
    regions = put_together(loop.body, places, constants, positions), put_together(loop.test, places, constants)
    new_loop = _make(node, [loop.start[position] for position in positions], regions, graph)
    return _state(
        node, loop, {position: new_position for new_position, position in enumerate(positions)}, new_loop, graph
    )


def _constant(key: int, graph: Writer) -> list[Node]:
    node = graph[key]
    if node.opcode == "constant" and node.literal is not None and not node.shape.dimensions:
        return [node]
    if node.opcode == "broadcast" and splat(key, graph) is not None:
        return [graph[node.operands[0]], node]
    return []


def _make(node: Node, start: Sequence[int], regions: tuple[Graph, ...], graph: Writer) -> int:
    shape = Shape("tuple", parts=tuple(graph[key].shape for key in start))
    return graph.add(node.opcode, shape, (graph.add("tuple", shape, start),), node.attributes, regions=regions)


def _state(node: Node, loop: Loop, places: dict[int, int], new_loop: int, graph: Writer) -> int:
    """Write the loop's former results from the new loop; parts that never change keep their initial values."""
    parts = [
        key if position in loop.fixed_slots else _part(new_loop, places[position], graph[key].shape, graph)
        for position, key in enumerate(loop.start)
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
    places = {position: order.index(colour) for position, colour in enumerate(colours)}
    first = [colours.index(colour) for colour in order]
    regions = put_together(loop.body, places, results=first), put_together(loop.test, places)
    new_loop = _make(node, [loop.start[position] for position in first], regions, graph)
    return _state(node, loop, places, new_loop, graph)


def _unchanged_state(node: Node, graph: Writer) -> int | None:
    loop, index = graph[node.operands[0]], node.attribute("tuple_index")
    if loop.opcode != "while":
        return None
    body = loop.regions[0]
    result = body.nodes[body.results[index]] if len(body.results) == len(loop.shape.parts) else None
    if result is None or result.operands != body.parameters or result.opcode != node.opcode:
        return None
    return _part(loop.operands[0], index, node.shape, graph) if result.attribute("tuple_index") == index else None


def _colours(loop: Loop, graph: Writer) -> list[bytes]:
    """By slot, a name that tells its values apart: equal ones start alike, and every step keeps them alike.

    Names are refined until no step splits them further. Slots that still share a name hold the same value at every
    step, whatever it is.
    """
    colours = [_hash(graph.digests[key]) for key in loop.start]
    while len(set(colours)) < len(colours):
        step = rewrite(loop.body, graph.rules, [colour.hex() for colour in colours])
        digests = [step.digests[key] for key in step.graph.results]
        finer = [_hash(colour + digest) for colour, digest in zip(colours, digests, strict=True)]
        if len(set(finer)) == len(set(colours)):
            return colours
        colours = finer
    return colours


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _decide_branch(node: Node, graph: Writer) -> int | None:
    """A branch that is always taken stands in place of the choice."""
    value = splat(node.operands[0], graph)
    if value is None:
        return None
    index = (0 if value else 1) if graph[node.operands[0]].shape.dtype == "pred" else int(value)
    index = index if 0 <= index < len(node.regions) else len(node.regions) - 1
    return _inline(node, node.regions[index], node.operands[1 + index], graph)


def _inline(node: Node, region: Graph, operand: int, graph: Writer) -> int:
    """Inline a branch: the id of its result."""
    new_keys = {region.parameters[0]: operand}
    for inner in region:
        if inner.id not in new_keys:
            new_keys[inner.id] = graph.write(inner.but(operands=tuple(new_keys[key] for key in inner.operands)))
    results = [new_keys[key] for key in region.results]
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
        inputs = sorted({parts[position] for position in read}, key=lambda part: graph.digests[part])
        places = {position: inputs.index(parts[position]) for position in read}
        shape = Shape("tuple", parts=tuple(graph[part].shape for part in inputs))
        operands.append(graph.add("tuple", shape, inputs))
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
    return _inline(node, node.regions[0], node.operands[1], graph)


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
    Rule("decided branches", "a branch that is always taken is no branch", ("conditional",), _decide_branch),
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
