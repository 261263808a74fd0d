"""Finds code that no case ran: branches that none took, and loops that none entered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from compare.hlo.align.calls import PartsRead
from compare.hlo.align.state import parts_read
from compare.hlo.arrays.fingerprints import Fingerprint, content_of
from compare.hlo.graph import Graph, Node

_ENTERED = frozenset({"conditional", "while"})


def deciding(graph: Graph) -> set[int]:
    """The values that tell which branches were taken, and whether a loop was entered."""
    keys: set[int] = set()
    read = parts_read(graph)
    for node in graph:
        if node.opcode == "conditional":
            keys.add(node.operands[0])
        elif node.opcode == "while":
            keys.update(*_before_and_after(node, graph, read))
    return keys


def find_untried(graph: Graph, prints: Mapping[int, Sequence[Fingerprint]]) -> set[int]:
    """The conditionals one of whose branches no case took, and the loops that changed nothing in any case.

    Values with bodies are never known: a run reports no values inside of a body.

    Args:
      prints: by value, its fingerprint in each case.
    """
    contents = {key: [case.content for case in cases] for key, cases in prints.items()}
    read = parts_read(graph)
    return {node.id for node in graph if _is_untried(node, graph, read, contents)}


def _is_untried(node: Node, graph: Graph, read: PartsRead, contents: Mapping[int, Sequence[bytes]]) -> bool:
    if any(inner.opcode in _ENTERED for region in node.regions for inner in region.walk()):
        return True
    if node.opcode == "conditional":
        return len(_taken_branches(node, graph, contents.get(node.operands[0], ()))) < len(node.regions)
    if node.opcode != "while":
        return False
    state_ends = [ends for ends in _before_and_after(node, graph, read) if all(end in contents for end in ends)]
    return all(contents[before] == contents[after] for before, after in state_ends)


def _taken_branches(node: Node, graph: Graph, contents: Sequence[bytes]) -> set[int]:
    """The branches that cases took; an index that is none is the last one's."""
    last = len(node.regions) - 1
    if graph.nodes[node.operands[0]].shape.dtype == "pred":
        numbers = {content_of(np.asarray(True)): 0}
    else:
        numbers = {content_of(np.asarray(index, np.int32)): index for index in range(last)}
    return {numbers.get(content, last) for content in contents}


def _before_and_after(loop: Node, graph: Graph, read: PartsRead) -> Iterator[tuple[int, int]]:
    """The parts of a loop's state that are read after it: what each started from, and what reads it."""
    start = graph.nodes[loop.operands[0]]
    if loop.shape.dtype != "tuple":
        yield start.id, loop.id
        return
    before = dict(enumerate(start.operands)) if start.opcode == "tuple" else read.get(start.id, {})
    for part, key in read.get(loop.id, {}).items():
        if part in before:
            yield before[part], key
