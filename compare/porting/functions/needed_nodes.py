"""Finds the needed nodes of a body, and counts the readers of their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workloads.protocol.function_graph import Body, Node, Place


def needed_numbers(body: Body, roots: Sequence[int]) -> set[int]:
    """The numbers of the nodes that these need."""
    open_, seen_numbers = list(roots), set[int]()
    while open_:
        index = open_.pop()
        if index not in seen_numbers:
            seen_numbers.add(index)
            open_ += [place for place, _ in body.nodes[index].inputs]
    return seen_numbers


def uses(body: Body, selection: set[int]) -> Counter[Place]:
    """How often each result is read by these nodes, by what is returned, and by gradients of their own."""
    counts = Counter(place for index in selection for place in body.nodes[index].inputs)
    counts.update(body.outputs)
    for gradient in body.gradients:
        # What a gradient of its own reads has to be a variable.
        behind = needed_numbers(body, [place[0] for place in gradient.returned if place is not None])
        for index in behind - selection:
            counts.update({place: 2 for place in body.nodes[index].inputs})
    return counts


def readers(body: Body, selection: set[int]) -> dict[Place, list[Node]]:
    """The nodes among these that read each result."""
    nodes: dict[Place, list[Node]] = {}
    for index in sorted(selection):
        for place in body.nodes[index].inputs:
            nodes.setdefault(place, []).append(body.nodes[index])
    return nodes
