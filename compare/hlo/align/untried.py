"""What no case has tried: branches that none took, and loops that none entered. What is in there may be anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compare.hlo.arrays.fingerprints import Fingerprint
from compare.hlo.graph import Graph, Node


def deciding(graph: Graph) -> set[int]:
    """The values that tell which branches were taken, and whether a loop was entered."""
    told: set[int] = set()
    for node in graph:
        if node.opcode == "conditional":
            told.add(node.operands[0])
        elif node.opcode == "while":
            told.update(*_before_and_after(node, graph))
    return told


def untried(graph: Graph, prints: Mapping[int, Sequence[Fingerprint]]) -> set[int]:
    """The conditionals one of whose branches no case took, and the loops that changed nothing in any case.

    Args:
      graph: that they are in.
      prints: by value, its fingerprint in each case.
    """
    contents = {key: [case.content for case in cases] for key, cases in prints.items()}
    return {node.id for node in graph if _is_untried(node, graph, contents)}


def _is_untried(node: Node, graph: Graph, contents: Mapping[int, Sequence[bytes]]) -> bool:
    if node.opcode == "conditional":
        return len(set(contents.get(node.operands[0], ()))) < len(node.regions)
    if node.opcode != "while":
        return False
    known = [ends for ends in _before_and_after(node, graph) if all(end in contents for end in ends)]
    return bool(known) and all(contents[before] == contents[after] for before, after in known)


def _before_and_after(loop: Node, graph: Graph) -> Iterator[tuple[int, int]]:
    """The parts of a loop's state that are read after it: what each started from, and what reads it."""
    start = graph.nodes[loop.operands[0]]
    if loop.shape.dtype != "tuple":
        yield start.id, loop.id
    elif start.opcode == "tuple":
        for key in graph.users[loop.id]:
            reader = graph.nodes[key]
            if reader.opcode == "get-tuple-element":
                yield start.operands[reader.attribute("tuple_index")], key
