"""Where two programs differ first: the values of either side without a partner whose operands all have one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compare.hlo.align._alignment import FrontierEntry, Match, RegionAlignment, unread_parameters
from compare.hlo.align._problem import Problem
from compare.hlo.align.established_reasons import Established
from compare.hlo.graph import Graph, Node
from compare.hlo.pair import Pair

_MOST_OPERANDS = 4
_UNTRIED = {"conditional": "no case took one of its branches", "while": "no case went through it"}


def frontier(
    problem: Problem,
    matches: Iterable[Match],
    alike: Sequence[Match],
    regions: Sequence[RegionAlignment],
    untried_keys: Pair[set[int]],
) -> list[FrontierEntry]:
    """The first differences, left side first, without tuples, and without parameters that nothing reads.

    Args:
      alike: pairs that stand in one place and are not equal.
      untried_keys: conditionals and loops that no case went through.
    """
    matches = list(matches)
    matched_keys = {match.left for match in matches}, {match.right for match in matches}
    closest = {match.left: match for match in alike}, {match.right: match for match in alike}
    parting_counts = _count_partings(regions)
    entries: list[FrontierEntry] = []
    for side in (0, 1):
        reasons = Established(problem, side, matches, closest[side], parting_counts[side])
        places = _Places(problem, side, reasons, closest[side], parting_counts[side], untried_keys[side])
        entries += [places.entry(node) for node in _first(problem.forms[side].graph, matched_keys[side])]
    return entries


def _first(graph: Graph, matched_keys: set[int]) -> list[Node]:
    keys_behind = matched_keys | set(unread_parameters(graph))
    first: list[Node] = []
    for node in graph:
        if node.id in keys_behind or not all(operand in keys_behind for operand in node.operands):
            continue
        if node.opcode == "tuple":
            keys_behind.add(node.id)
        else:
            first.append(node)
    return first


def _count_partings(regions: Sequence[RegionAlignment]) -> tuple[dict[int, int], dict[int, int]]:
    """By value of either side, in how many places its bodies part."""
    counts: tuple[dict[int, int], dict[int, int]] = {}, {}
    for region in regions:
        for side, key in zip(counts, (region.left, region.right), strict=True):
            side[key] = side.get(key, 0) + len(region.alignment.frontier)
    return counts


class _Places:
    """Values of one side without a partner, described for people."""

    def __init__(
        self,
        problem: Problem,
        side: int,
        reasons: Established,
        closest: dict[int, Match],
        parting_counts: dict[int, int],
        untried_keys: set[int],
    ) -> None:
        self._nodes = problem.forms[side].graph.nodes
        self._others = problem.forms[1 - side].graph.nodes
        self._label, self._other = problem.labels[side], problem.labels[1 - side]
        self._names, self._other_names = problem.names[side], problem.names[1 - side]
        self._side = side
        self._closest, self._parted, self._untried = closest, parting_counts, untried_keys
        self._established = reasons

    def entry(self, node: Node) -> FrontierEntry:
        """One value as an entry."""
        if node.opcode == "parameter":
            reason = self._of_parameter(node)
        elif node.id in self._names:
            reason = f"{self._other} carries no such state: {self._names[node.id]}, {node.shape}"
        else:
            reason = self._of_operation(node)
        explanation = self._established.of(node)
        return FrontierEntry(self._label, node.opcode, node.name, node.source, reason, explanation, node.id)

    def _of_parameter(self, node: Node) -> str:
        name = self._names.get(node.id, node.name)
        shapes = {self._other_names[key]: self._others[key].shape for key in self._other_names}
        if name in shapes:
            return f"{name} is {node.shape} here and {shapes[name]} in {self._other}"
        return f"{self._other} has no {name}"

    def _of_operation(self, node: Node) -> str:
        what = "such constant" if node.opcode == "constant" else f"{node.opcode}{self._operands(node)}"
        clauses = [f"no {what} in {self._other}"]
        if self._parted.get(node.id):
            clauses.append(f"bodies part in {self._parted[node.id]} places")
        if node.id in self._untried:
            clauses.append(
                _UNTRIED.get(node.opcode, "it holds branches or loops, and it is not known whether a case took them")
            )
        if node.id in self._closest:
            clauses.append(self._nearest(self._closest[node.id]))
        if node.id in self._established.absorbed:
            clauses.append("all that comes of it is matched: another formula for the same values")
        return "; ".join(clauses)

    def _operands(self, node: Node) -> str:
        if not node.operands:
            return ""
        labels = [self._operand_label(self._nodes[key]) for key in node.operands[:_MOST_OPERANDS]]
        return f" of {', '.join(labels)}{', ...' if len(node.operands) > _MOST_OPERANDS else ''}"

    def _operand_label(self, node: Node) -> str:
        if node.opcode == "parameter":
            return self._names.get(node.id, node.name)
        if node.literal is not None and node.literal.size == 1:
            return str(node.literal.ravel()[0])
        return node.opcode

    def _nearest(self, match: Match) -> str:
        other = self._others[match.right if self._side == 0 else match.left]
        place = f" at {other.source}" if other.source else ""
        return f"closest there: {other.opcode} {other.name}{place} ({match.note})"
