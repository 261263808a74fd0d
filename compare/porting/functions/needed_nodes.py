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
    found = Counter(place for at in chosen for place in body.nodes[at].inputs)
    found.update(body.outputs)
    for gradient in body.gradients:
        # What a gradient of its own reads has to be a variable.
        behind = needed(body, [each[0] for each in gradient.returned if each is not None])
        for at in behind - chosen:
            found.update({place: 2 for place in body.nodes[at].inputs})
    return found


def readers(body: Body, chosen: set[int]) -> dict[Place, list[Node]]:
    """The nodes among these that read each result."""
    found: dict[Place, list[Node]] = {}
    for at in sorted(chosen):
        for place in body.nodes[at].inputs:
            found.setdefault(place, []).append(body.nodes[at])
    return found
