"""Drops values that a loop carries and nothing reads: a graph of values tells who reads them, a rule sees one value."""

from __future__ import annotations

from collections.abc import Sequence

from compare.hlo.graph import Graph, Node, Shape, needed
from compare.hlo.rules._state_tuples import put_together, read_by, taken_apart


def trimmed(graph: Graph) -> Graph:
    """The graph with every loop, those within regions included, cut down to the state that something reads.

    What stays keeps its id; state that no test, no other state and no user of the loop reads is gone.
    """
    return _trimmed(graph, {})


def _trimmed(graph: Graph, done: dict[Graph, Graph]) -> Graph:
    if graph in done:
        return done[graph]
    if not any(node.regions for node in graph):
        return graph
    alive = needed(graph.nodes, (*graph.results, *graph.parameters))
    inner = {
        node.id: node.but(regions=tuple(_trimmed(region, done) for region in node.regions)) if node.regions else node
        for node in graph
        if node.id in alive
    }
    trimmed = Graph(graph.name, inner, graph.parameters, graph.results)
    users = trimmed.users
    for node in list(trimmed):
        if node.opcode == "while":
            trimmed = _without_unread(trimmed, node, users[node.id])
    done[graph] = trimmed
    return trimmed


def _without_unread(graph: Graph, loop: Node, users: Sequence[int]) -> Graph:
    state = graph.nodes[loop.operands[0]]
    readers = [graph.nodes[key] for key in users]
    if state.opcode != "tuple" or loop.id in graph.results:
        return graph
    if any(reader.opcode != "get-tuple-element" for reader in readers):
        return graph
    body, test = (taken_apart(region, loop.shape.parts) for region in loop.regions)
    if body is None or test is None or len(body.results) != len(state.operands):
        return graph
    kept = _needed(body, test, {reader.attribute("tuple_index") for reader in readers})
    return graph if len(kept) == len(state.operands) else _cut(graph, loop, readers, kept, (body, test))


def _needed(body: Graph, test: Graph, read: set[int]) -> list[int]:
    needed = read | read_by(test, test.results)
    while True:
        more = needed | read_by(body, [body.results[at] for at in needed])
        if more == needed:
            return sorted(needed)
        needed = more


def _cut(graph: Graph, loop: Node, readers: list[Node], kept: list[int], apart: tuple[Graph, Graph]) -> Graph:
    places = {at: place for place, at in enumerate(kept)}
    body, test = apart
    regions = put_together(body, places, results=kept), put_together(test, places)
    shape = Shape("tuple", parts=tuple(loop.shape.parts[at] for at in kept))
    state = graph.nodes[loop.operands[0]]
    operands = tuple(state.operands[at] for at in kept)
    # Another loop may start from the same tuple.
    start = state.but(id=max(graph.nodes) + 1, operands=operands, shape=shape)
    changed = {loop.id: loop.but(operands=(start.id,), shape=shape, regions=regions)} | {
        reader.id: reader.but(attributes=(("tuple_index", places[reader.attribute("tuple_index")]),))
        for reader in readers
    }
    nodes: dict[int, Node] = {}
    for node in graph:
        if node.id == loop.id:
            nodes[start.id] = start
        nodes[node.id] = changed.get(node.id, node)
    return Graph(graph.name, nodes, graph.parameters, graph.results)
