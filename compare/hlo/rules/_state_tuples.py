"""Splits the tuple of state of loop bodies and branches into slots, and joins slots to a tuple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.hlo.graph import Graph, Node, Shape, find_needed


def taken_apart(region: Graph, slots: Sequence[Shape]) -> Graph | None:
    """The region with one parameter for each slot; None if it passes on its whole state."""
    (whole,) = region.parameters
    if region.nodes[whole].shape.dtype != "tuple":
        return region
    users = region.users[whole]
    if whole in region.results or any(region.nodes[key].opcode != "get-tuple-element" for key in users):
        return None
    nodes = {-1 - position: _parameter(-1 - position, position, shape) for position, shape in enumerate(slots)}
    new_keys = {key: -1 - region.nodes[key].attribute("tuple_index") for key in users}
    for node in region:
        if node.id != whole and node.id not in new_keys:
            operands = tuple(new_keys.get(key, key) for key in node.operands)
            nodes[node.id] = node.but(operands=operands)
    results = tuple(new_keys.get(key, key) for key in region.results)
    return Graph(region.name, nodes, tuple(-1 - position for position in range(len(slots))), results)


def put_together(apart: Graph, places: Mapping[int, int], constants: Mapping[int, Sequence[Node]] | None = None,
                 results: Sequence[int] | None = None) -> Graph:  # fmt: skip
    """A region with one tuple of state.

    Args:
      places: by parameter, its place in the tuple; several may share one.
      results: which of its results to return, by position; all by default. What they do not need is left out.
    """
    positions = range(len(apart.results)) if results is None else results
    alive = find_needed(apart.nodes, [apart.results[position] for position in positions])
    shapes = {place: apart.nodes[apart.parameters[position]].shape for position, place in places.items()}
    state = Shape("tuple", parts=tuple(shapes[place] for place in sorted(shapes)))
    nodes = {0: _parameter(0, 0, state)}
    new_keys: dict[int, int] = {}
    for place in sorted(shapes):
        key = len(nodes)
        attributes = (("tuple_index", place),)
        nodes[key] = Node(key, f"slot {place}", "get-tuple-element", shapes[place], (0,), attributes)
        new_keys |= {apart.parameters[position]: key for position, where in places.items() if where == place}
    for position, chain in (constants or {}).items():
        inside: dict[int, int] = {}
        for node in chain:
            inside[node.id] = _append(nodes, node, inside)
        new_keys[apart.parameters[position]] = inside[chain[-1].id]
    for node in apart:
        if node.id in alive and node.id not in new_keys:
            new_keys[node.id] = _append(nodes, node, new_keys)
    return Graph(apart.name, nodes, (0,), tuple(new_keys[apart.results[position]] for position in positions))


def _append(nodes: dict[int, Node], node: Node, new_keys: Mapping[int, int]) -> int:
    key = len(nodes)
    nodes[key] = node.but(id=key, operands=tuple(new_keys[operand] for operand in node.operands))
    return key


def _parameter(key: int, number: int, shape: Shape) -> Node:
    return Node(key, f"slot {number}", "parameter", shape, attributes=(("parameter_number", number),))


def read_by(apart: Graph, results: Sequence[int]) -> set[int]:
    """Positions of the parameters that some results need."""
    alive = find_needed(apart.nodes, results)
    return {position for position, key in enumerate(apart.parameters) if key in alive}
