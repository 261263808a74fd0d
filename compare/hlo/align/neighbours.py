"""Pairs values without a partner that stand in the same place on either side: between values that are matched."""

from __future__ import annotations

import functools
import heapq
import re
from collections.abc import Iterator, Sequence

from compare.hlo.align._alignment import NEIGHBOURHOOD, Match
from compare.hlo.align.changed_values import Partners, change
from compare.hlo.graph import Graph, Node
from compare.hlo.numbering import COMMUTATIVE
from compare.hlo.pair import Pair

_MOST_USERS = 16
"""The most users of a value whose places are compared: those of the constant 0, for instance, say nothing."""
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


def alike(graphs: Pair[Graph], known_matches: Sequence[Match]) -> list[Match]:
    """Pairs without a partner, each value in one at most, the most similar first; their notes say what was changed.

    Candidates are reached only through operands and users that are matched, or alike themselves: what is
    far from everything that both programs have stays alone.
    """
    search = _Search(graphs, known_matches)
    pairs = search.pairs()
    partners, nodes = search.partners, graphs.map(lambda graph: graph.nodes)
    return [
        Match(
            left,
            right,
            NEIGHBOURHOOD,
            note=change(nodes.left[left], nodes.right[right], graphs, partners),
        )
        for left, right in pairs
        # A tuple is no value of its own: what was changed in it is paired itself.
        if nodes.left[left].opcode != "tuple"
    ]


class _Search:
    """Greedy best-first search; the score of a pair grows as its neighbours find partners."""

    def __init__(self, graphs: Pair[Graph], known_matches: Sequence[Match]) -> None:
        self._nodes = graphs.map(lambda graph: graph.nodes)
        self._users = graphs.map(lambda graph: graph.users)
        self._places = graphs.map(lambda graph: {node.id: position for position, node in enumerate(graph)})
        self._known = [(match.left, match.right) for match in known_matches]
        self.partners = Partners(self._known)
        self._open = Pair(
            set(graphs.left.nodes) - {left for left, _ in self._known},
            set(graphs.right.nodes) - {right for _, right in self._known},
        )
        self._queue: list[tuple[float, int, int, int]] = []
        self._scores: dict[tuple[int, int], float] = {}

    def pairs(self) -> list[tuple[int, int]]:
        """All pairs, the best first."""
        if not all(self._open):
            return []
        near = Pair(self._near(0), self._near(1))
        for left, right in self._known:
            if left in near.left and right in near.right:
                self._look_around(left, right)
        pairs: list[tuple[int, int]] = []
        while self._queue:
            _, _, left, right = heapq.heappop(self._queue)
            if left in self._open.left and right in self._open.right:
                self._open.left.discard(left)
                self._open.right.discard(right)
                self.partners.add(left, right)
                pairs.append((left, right))
                self._look_around(left, right)
        return pairs

    def _near(self, side: int) -> set[int]:
        """The users and operands of the values of one side without a partner."""
        nodes, users = self._nodes[side], self._users[side]
        return {key for value in self._open[side] for key in (*nodes[value].operands, *users[value])}

    def _look_around(self, left: int, right: int) -> None:
        """Consider what stands at the same places around two values that are paired."""
        for one, other in self._around(left, right):
            if one in self._open.left and other in self._open.right:
                self._consider(one, other)

    def _around(self, left: int, right: int) -> Iterator[tuple[int, int]]:
        one, other = self._nodes.left[left], self._nodes.right[right]
        yield from zip(one.operands, other.operands, strict=False)
        if len(one.operands) > 1:
            yield from zip(one.operands, reversed(other.operands), strict=False)
        users = _open_among(self._users.left[left], self._open.left)
        others = _open_among(self._users.right[right], self._open.right)
        if max(len(users), len(others)) <= _MOST_USERS:
            yield from ((user, other_user) for user in users for other_user in others)

    def _consider(self, left: int, right: int) -> None:
        score = self._score(self._nodes.left[left], self._nodes.right[right])
        if score >= _ENOUGH and score > self._scores.get((left, right), 0.0):
            self._scores[left, right] = score
            distance = abs(self._places.left[left] - self._places.right[right])
            heapq.heappush(self._queue, (-score, distance, left, right))

    def _score(self, left: Node, right: Node) -> float:
        """Opcode 3, operands 3, users 2, shape 1, the frontend's words 1."""
        if "parameter" in (left.opcode, right.opcode):
            return 0.0
        opcode = 3.0 if left.opcode == right.opcode else 1.5 * _are_related(left.opcode, right.opcode)
        operands = 3.0 * self._share(left.operands, right.operands, left.opcode in COMMUTATIVE)
        users = self._users.left[left.id][:_MOST_USERS], self._users.right[right.id][:_MOST_USERS]
        place = operands + 2.0 * self._share(*users, any_order=True)
        shape = 1.0 if left.shape == right.shape else 0.5 * (left.shape.dimensions == right.shape.dimensions)
        return opcode + place + shape + _shared_words(left.op_name, right.op_name) if place else 0.0

    def _share(self, left: Sequence[int], right: Sequence[int], any_order: bool) -> float:
        """How many of two lists are partners; where order counts, those in another place for half."""
        if not left or not right:
            return 0.0
        others = set(right)
        in_place = somewhere = 0
        for index, one in enumerate(left):
            partners = self.partners.of_left(one)
            if partners:
                somewhere += not others.isdisjoint(partners)
                in_place += index < len(right) and right[index] in partners
        score = somewhere if any_order else in_place + 0.5 * max(0, somewhere - in_place)
        return score / max(len(left), len(right))


def _open_among(users: Sequence[int], open_: set[int]) -> list[int]:
    return [user for user in dict.fromkeys(users) if user in open_]


def _are_related(left: str, right: str) -> bool:
    return left in _FAMILY and _FAMILY[left] == _FAMILY.get(right)


def _shared_words(left: str, right: str) -> float:
    words, others = _words(left), _words(right)
    return len(words & others) / max(1, len(words | others))


@functools.lru_cache(maxsize=2**16)
def _words(op_name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(op_name))
