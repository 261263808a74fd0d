"""Loop bodies and branches: their one tuple of state taken apart into slots, and put together again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.hlo.graph import Graph, Node, Shape, needed


def taken_apart(region: Graph, slots: Sequence[Shape]) -> Graph | None:
    """The region with one parameter a slot; None where it hands its whole state on."""
    (whole,) = region.parameters
    if region.nodes[whole].shape.dtype != "tuple":
        return region
    users = region.users[whole]
    if whole in region.results or any(region.nodes[key].opcode != "get-tuple-element" for key in users):
        return None
    nodes = {-1 - at: _parameter(-1 - at, at, shape) for at, shape in enumerate(slots)}
    renamed = {key: -1 - region.nodes[key].attribute("tuple_index") for key in users}
    for node in region:
        if node.id != whole and node.id not in renamed:
            operands = tuple(renamed.get(key, key) for key in node.operands)
            nodes[node.id] = node.but(operands=operands)
    results = tuple(renamed.get(key, key) for key in region.results)
    return Graph(region.name, nodes, tuple(-1 - at for at in range(len(slots))), results)


def put_together(apart: Graph, places: Mapping[int, int], known: Mapping[int, Sequence[Node]] | None = None,
                 results: Sequence[int] | None = None) -> Graph:  # fmt: skip
    """A region with one tuple of state.

    Args:
      apart: the region with a parameter a piece of state.
      places: by parameter, its place in the tuple; several may share one.
      known: parameters that are constants instead: the nodes that say so, the last of which is the value.
      results: which of its results to return, by position; all by default. What they do not need is left out.
    """
    kept = range(len(apart.results)) if results is None else results
    alive = needed(apart.nodes, [apart.results[at] for at in kept])
    shapes = {place: apart.nodes[apart.parameters[at]].shape for at, place in places.items()}
    state = Shape("tuple", parts=tuple(shapes[place] for place in sorted(shapes)))
    nodes = {0: _parameter(0, 0, state)}
    renamed: dict[int, int] = {}
    for place in sorted(shapes):
        key = len(nodes)
        attributes = (("tuple_index", place),)
        nodes[key] = Node(key, f"slot {place}", "get-tuple-element", shapes[place], (0,), attributes)
        renamed |= {apart.parameters[at]: key for at, where in places.items() if where == place}
    for at, chain in (known or {}).items():
        inside: dict[int, int] = {}
        for node in chain:
            inside[node.id] = _append(nodes, node, inside)
        renamed[apart.parameters[at]] = inside[chain[-1].id]
    for node in apart:
        if node.id in alive and node.id not in renamed:
            renamed[node.id] = _append(nodes, node, renamed)
    return Graph(apart.name, nodes, (0,), tuple(renamed[apart.results[at]] for at in kept))


def _append(nodes: dict[int, Node], node: Node, renamed: Mapping[int, int]) -> int:
    key = len(nodes)
    nodes[key] = node.but(id=key, operands=tuple(renamed[operand] for operand in node.operands))
    return key


def _parameter(key: int, number: int, shape: Shape) -> Node:
    return Node(key, f"slot {number}", "parameter", shape, attributes=(("parameter_number", number),))


def read_by(apart: Graph, results: Sequence[int]) -> set[int]:
    """Positions of the parameters that some results need."""
    alive = needed(apart.nodes, results)
    return {at for at, key in enumerate(apart.parameters) if key in alive}
