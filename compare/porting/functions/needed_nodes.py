"""Which nodes of a body are needed, and how often their results are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workloads._function_graph import Body, Node, Place


def needed(body: Body, roots: Sequence[int]) -> set[int]:
    """The numbers of the nodes that these need."""
    open_, seen = list(roots), set[int]()
    while open_:
        at = open_.pop()
        if at not in seen:
            seen.add(at)
            open_ += [place for place, _ in body.nodes[at].inputs]
    return seen


def uses(body: Body, chosen: set[int]) -> Counter[Place]:
    """How often each result is read by these nodes, by what is returned, and by gradients of their own."""
    counts = Counter(place for at in chosen for place in body.nodes[at].inputs)
    counts.update(body.outputs)
    for gradient in body.gradients:
        # What a gradient of its own reads has to be a variable.
        behind = needed(body, [place[0] for place in gradient.returned if place is not None])
        for at in behind - chosen:
            counts.update({place: 2 for place in body.nodes[at].inputs})
    return counts


def readers(body: Body, chosen: set[int]) -> dict[Place, list[Node]]:
    """The nodes among these that read each result."""
    nodes: dict[Place, list[Node]] = {}
    for at in sorted(chosen):
        for place in body.nodes[at].inputs:
            nodes.setdefault(place, []).append(body.nodes[at])
    return nodes
