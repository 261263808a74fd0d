"""Pairs what has no partner on either side and stands in the same place: between values that are matched."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence

from compare.hlo.align._alignment import NEIGHBOURHOOD, Match
from compare.hlo.align.changed_values import Partners, change
from compare.hlo.graph import Graph, Node
from compare.hlo.numbering import COMMUTATIVE

_MOST_USERS = 16
"""Of a value with more users, such as the constant 0, their place says nothing."""
_ENOUGH = 4.0
_WORDS = re.compile(r"[A-Za-z]+")
_RELATED = (
    {"add", "subtract", "negate"},
    {"multiply", "divide", "power", "sqrt", "rsqrt", "cbrt"},
    {"maximum", "minimum", "clamp", "select"},
    {"exponential", "exponential-minus-one", "log", "log-plus-one"},
    {"tanh", "logistic", "erf"},
    {"dot", "convolution"},
    {"reduce", "reduce-window"},
    {"reshape", "transpose", "broadcast", "bitcast", "convert", "copy"},
    {"slice", "dynamic-slice", "gather", "pad", "concatenate"},
    {"floor", "ceil", "round-nearest-even", "round-nearest-afz"},
    {"dynamic-update-slice", "scatter"},
)
_FAMILY = {opcode: number for number, family in enumerate(_RELATED) for opcode in family}


def alike(graphs: tuple[Graph, Graph], known: Sequence[Match]) -> list[Match]:
    """Pairs without a partner, each value in one at most, the most similar first; their notes say what was changed.

    Candidates are reached only through operands and users that are matched, or alike themselves: what is
    far from everything that both programs have stays alone.
    """
    search = _Search(graphs, known)
    pairs = search.pairs()
    partners = search.partners
    return [
        Match(left, right, NEIGHBOURHOOD, note=change(graphs[0].nodes[left], graphs[1].nodes[right], graphs, partners))
        for left, right in pairs
        # A tuple is no value of its own: what was changed in it is paired itself.
        if graphs[0].nodes[left].opcode != "tuple"
    ]


class _Search:
    """Greedy best-first search; the score of a pair grows as its neighbours find partners."""

    def __init__(self, graphs: tuple[Graph, Graph], known: Sequence[Match]) -> None:
        self._nodes = graphs[0].nodes, graphs[1].nodes
        self._users = graphs[0].users(), graphs[1].users()
        self._places = tuple({node.id: at for at, node in enumerate(graph)} for graph in graphs)
        self._known = [(match.left, match.right) for match in known]
        self.partners = Partners(self._known)
        taken = {left for left, _ in self._known}, {right for _, right in self._known}
        self._open = set(graphs[0].nodes) - taken[0], set(graphs[1].nodes) - taken[1]
        self._queue: list[tuple[float, int, int, int]] = []
        self._scores: dict[tuple[int, int], float] = {}

    def pairs(self) -> list[tuple[int, int]]:
        """All pairs, the best first."""
        if not all(self._open):
            return []
        for pair in self._known:
            self._look_around(*pair)
        found: list[tuple[int, int]] = []
        while self._queue:
            _, _, left, right = heapq.heappop(self._queue)
            if left in self._open[0] and right in self._open[1]:
                self._open[0].discard(left)
                self._open[1].discard(right)
                self.partners.add(left, right)
                found.append((left, right))
                self._look_around(left, right)
        return found

    def _look_around(self, left: int, right: int) -> None:
        """Consider what stands at the same places around two values that are paired."""
        for one, other in self._around(left, right):
            if one in self._open[0] and other in self._open[1]:
                self._consider(one, other)

    def _around(self, left: int, right: int) -> Iterator[tuple[int, int]]:
        one, other = self._nodes[0][left], self._nodes[1][right]
        yield from zip(one.operands, other.operands, strict=False)
        yield from zip(one.operands, reversed(other.operands), strict=False)
        users = self._open_users(0, left), self._open_users(1, right)
        if max(map(len, users)) <= _MOST_USERS:
            yield from ((user, used) for user in users[0] for used in users[1])

    def _open_users(self, side: int, key: int) -> list[int]:
        return [user for user in dict.fromkeys(self._users[side][key]) if user in self._open[side]]

    def _consider(self, left: int, right: int) -> None:
        score = self._score(self._nodes[0][left], self._nodes[1][right])
        if score >= _ENOUGH and score > self._scores.get((left, right), 0.0):
            self._scores[left, right] = score
            apart = abs(self._places[0][left] - self._places[1][right])
            heapq.heappush(self._queue, (-score, apart, left, right))

    def _score(self, left: Node, right: Node) -> float:
        """Opcode 3, operands 3, users 2, shape 1, the frontend's words 1."""
        if "parameter" in (left.opcode, right.opcode):
            return 0.0
        opcode = 3.0 if left.opcode == right.opcode else 1.5 * _are_related(left.opcode, right.opcode)
        operands = 3.0 * self._share(left.operands, right.operands, left.opcode in COMMUTATIVE)
        users = self._users[0][left.id][:_MOST_USERS], self._users[1][right.id][:_MOST_USERS]
        place = operands + 2.0 * self._share(*users, unordered=True)
        shape = 1.0 if left.shape == right.shape else 0.5 * (left.shape.dimensions == right.shape.dimensions)
        return opcode + place + shape + _shared_words(left, right) if place else 0.0

    def _share(self, left: Sequence[int], right: Sequence[int], unordered: bool) -> float:
        """How many of two lists are partners; where order counts, those in another place for half."""
        if not left or not right:
            return 0.0
        others = set(right)
        held = sum(pair in self.partners for pair in zip(left, right, strict=False))
        somewhere = sum(not others.isdisjoint(self.partners.of_left(one)) for one in left)
        found = somewhere if unordered else held + 0.5 * max(0, somewhere - held)
        return found / max(len(left), len(right))


def _are_related(left: str, right: str) -> bool:
    return left in _FAMILY and _FAMILY[left] == _FAMILY.get(right)


def _shared_words(left: Node, right: Node) -> float:
    words = [{word.lower() for word in _WORDS.findall(node.op_name)} for node in (left, right)]
    return len(words[0] & words[1]) / max(1, len(words[0] | words[1]))
