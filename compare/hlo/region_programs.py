"""Bodies of loops and branches as programs of their own: an array parameter for each part of what they take."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from compare.hlo.graph import Graph, Node


def flattened(region: Graph) -> Graph | None:
    """The region with an array parameter for each part of the tuple that it takes; None of a tuple in a tuple."""
    if not any(region.nodes[key].shape.dtype == "tuple" for key in region.parameters):
        return region
    (taken,) = region.parameters
    parts = region.nodes[taken].shape.parts
    users = [region.nodes[key] for key in region.users()[taken]]
    if not all(part.is_array for part in parts) or any(user.opcode != "get-tuple-element" for user in users):
        return None
    nodes = {key: node for key, node in region.nodes.items() if key != taken}
    parameters = _placed(parts, users, max(region.nodes))
    return dataclasses.replace(
        region, nodes={node.id: node for node in parameters} | {
            key: node for key, node in nodes.items() if key not in {each.id for each in parameters}
        }, parameters=tuple(node.id for node in parameters),
    )  # fmt: skip


def _placed(parts: Sequence, users: Sequence[Node], last: int) -> list[Node]:
    """A parameter for every part: the node that took it out of the tuple, or a new one where none did."""
    took = {user.attribute("tuple_index"): user for user in users}
    return [
        dataclasses.replace(
            took.get(at, Node(last + 1 + at, f"part.{at}", "parameter", part)),
            opcode="parameter", operands=(), attributes=(("parameter_number", at),),
        )
        for at, part in enumerate(parts)
    ]  # fmt: skip


def given(graph: Graph, operands: Sequence[int]) -> list[int]:
    """The values that fill the parameters of a flattened region, tuples taken apart."""
    return [
        key
        for operand in operands
        for key in (graph.nodes[operand].operands if graph.nodes[operand].opcode == "tuple" else (operand,))
    ]
