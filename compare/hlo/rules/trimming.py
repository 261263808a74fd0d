"""Removes values that a loop carries and nothing reads: only the whole graph shows the readers of a value."""

from __future__ import annotations

from collections.abc import Sequence

from compare.hlo.graph import Graph, Node, Shape, find_needed
from compare.hlo.rules._state_tuples import put_together, read_by, taken_apart


def trim(graph: Graph) -> Graph:
    """Remove from every loop of a graph, also within regions, the state that nothing reads.

    The other values keep their ids. A test of the loop, other state or a user of the loop may read state.
    """
    return _trim(graph, {})


def _trim(graph: Graph, results: dict[Graph, Graph]) -> Graph:
    if graph in results:
        return results[graph]
    if not any(node.regions for node in graph):
        return graph
    alive = find_needed(graph.nodes, (*graph.results, *graph.parameters))
    inner = {
        node.id: node.but(regions=tuple(_trim(region, results) for region in node.regions)) if node.regions else node
        for node in graph
        if node.id in alive
    }
    result = Graph(graph.name, inner, graph.parameters, graph.results)
    users = result.users
    for node in list(result):
        if node.opcode == "while":
            result = _without_unread(result, node, users[node.id])
    results[graph] = result
    return result


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
    slots = _slots_to_keep(body, test, {reader.attribute("tuple_index") for reader in readers})
    return graph if len(slots) == len(state.operands) else _cut(graph, loop, readers, slots, (body, test))


def _slots_to_keep(body: Graph, test: Graph, read: set[int]) -> list[int]:
    slots = read | read_by(test, test.results)
    while True:
        more = slots | read_by(body, [body.results[position] for position in slots])
        if more == slots:
            return sorted(slots)
        slots = more


def _cut(graph: Graph, loop: Node, readers: list[Node], slots: list[int], apart: tuple[Graph, Graph]) -> Graph:
    places = {position: place for place, position in enumerate(slots)}
    body, test = apart
    regions = put_together(body, places, results=slots), put_together(test, places)
    shape = Shape("tuple", parts=tuple(loop.shape.parts[position] for position in slots))
    state = graph.nodes[loop.operands[0]]
    operands = tuple(state.operands[position] for position in slots)
    # Another loop may start from the same tuple.
    start = state.but(id=max(graph.nodes) + 1, operands=operands, shape=shape)
    new_nodes = {loop.id: loop.but(operands=(start.id,), shape=shape, regions=regions)} | {
        reader.id: reader.but(attributes=(("tuple_index", places[reader.attribute("tuple_index")]),))
        for reader in readers
    }
    nodes: dict[int, Node] = {}
    for node in graph:
        if node.id == loop.id:
            nodes[start.id] = start
        nodes[node.id] = new_nodes.get(node.id, node)
    return Graph(graph.name, nodes, graph.parameters, graph.results)
