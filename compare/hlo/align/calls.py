"""How the bodies of two values correspond: which of their slots and results are one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from compare.hlo.align.by_number import Numbers
from compare.hlo.align.state import Slot, SlotPairs, pair_by_keys, pair_states, slots_of
from compare.hlo.graph import Graph, Node
from compare.hlo.rewriting import Rewritten

Positions = tuple[tuple[int, int], ...]
PartsRead = Mapping[int, Mapping[int, int]]
"""By tuple, the values that read its parts, by part."""


@dataclass(frozen=True)
class Call:
    """Two values with bodies, side by side.

    Attributes:
      slots, results: of each pair of bodies, those that are one.
      given: of each pair of bodies, the slots that hold the same when it is entered first.
      outputs: parts of the two values that are one; part 0 of a value that is no tuple.
      same: whether all else that they are called with is the same.
      loop: whether a body's results are what it is entered with next.
    """

    slots: tuple[SlotPairs, ...]
    results: tuple[Positions, ...]
    given: tuple[frozenset[tuple[Slot, Slot]], ...]
    outputs: Positions
    same: bool
    loop: bool = False


@dataclass(frozen=True, eq=False)
class Calls:
    """What is known of two graphs when their bodies are entered.

    Attributes:
      numbers: of all values, equal where values match.
      read: by tuple, its parts that are read.
      form_of: a body as what is aligned.
    """

    graphs: tuple[Graph, Graph]
    numbers: tuple[Numbers, Numbers]
    read: tuple[PartsRead, PartsRead]
    form_of: Callable[[Graph], Rewritten]

    def parts(self, side: int, node: Node) -> list[Hashable]:
        """Numbers of all that a value is called with, tuples taken apart."""
        return [part for key in node.operands for part in self.state(side, key)]

    def state(self, side: int, key: int) -> list[Hashable]:
        """Numbers of the parts of a tuple, or the number of what is none."""
        node = self.graphs[side].nodes[key]
        if node.opcode == "tuple":
            return [self.numbers[side][operand] for operand in node.operands]
        if node.shape.dtype == "tuple":
            return [(self.numbers[side][key], part) for part in range(len(node.shape.parts))]
        return [self.numbers[side][key]]

    def call(self, left: Node, right: Node) -> Call:
        """Two values of one opcode and as many bodies."""
        if left.opcode == "while":
            return self._loop(left, right)
        if left.opcode == "conditional":
            return self._branches(left, right)
        return self._reducer(left, right)

    def _loop(self, left: Node, right: Node) -> Call:
        entering = self.state(0, left.operands[0]), self.state(1, right.operands[0])
        bodies = self.form_of(left.regions[0]), self.form_of(right.regions[0])
        regular = all(len(body.graph.results) == len(state) for body, state in zip(bodies, entering, strict=True))
        if not regular:
            # A body that returns a tuple which it did not make.
            return Call(((), ()), ((), ((0, 0),)), (frozenset(), frozenset()), (), False, True)
        leaving = self._leaving(0, left), self._leaving(1, right)
        pairs = tuple(pair_states(bodies, entering, leaving))
        slots = _slot_pairs(bodies[0].graph, bodies[1].graph, pairs)
        given = frozenset(
            slot for slot, (one, other) in zip(slots, pairs, strict=True) if entering[0][one] == entering[1][other]
        )
        return Call((slots, slots), (pairs, ((0, 0),)), (given, given), pairs, True, True)

    def _leaving(self, side: int, node: Node) -> dict[int, int]:
        if node.shape.dtype != "tuple":
            return {0: self.numbers[side][node.id]}
        return {part: self.numbers[side][key] for part, key in self.read[side].get(node.id, {}).items()}

    def _branches(self, left: Node, right: Node) -> Call:
        slots: list[SlotPairs] = []
        given: list[frozenset[tuple[Slot, Slot]]] = []
        for at, bodies in enumerate(zip(left.regions, right.regions, strict=True), start=1):
            states = self.state(0, left.operands[at]), self.state(1, right.operands[at])
            shapes = [list(map(str, slots_of(body).values())) for body in bodies]
            keys = [
                [[(shape, number), shape] for shape, number in zip(shapes[side], states[side], strict=True)]
                for side in (0, 1)
            ]
            pairs = tuple(pair_by_keys(*keys))
            slots.append(_slot_pairs(*bodies, pairs))
            same = (states[0][one] == states[1][other] for one, other in pairs)
            given.append(frozenset(slot for slot, holds in zip(slots[-1], same, strict=True) if holds))
        bodies = zip(left.regions, right.regions, strict=True)
        results = tuple(_in_order(one.results, other.results) for one, other in bodies)
        outputs = min(results, key=len)
        same = self.numbers[0][left.operands[0]] == self.numbers[1][right.operands[0]]
        return Call(tuple(slots), results, tuple(given), outputs, same)

    def _reducer(self, left: Node, right: Node) -> Call:
        """Of several inputs, each has its slots, its result and its part of the value."""
        inputs = len(left.shape.parts) or 1
        called = [self.numbers[0][key] for key in left.operands], [self.numbers[1][key] for key in right.operands]
        moved = _in_order(range(inputs), range(len(right.shape.parts) or 1))
        if inputs > 1 and len(called[0]) == len(called[1]):
            keys = [[[number] for number in side[:inputs]] for side in called]
            found = tuple(pair_by_keys(*keys))
            moved = found if len(found) == inputs else moved
        order = _moved(left.opcode, dict(moved), len(left.operands))
        same = len(called[0]) == len(called[1]) and [called[1][at] for at in order] == called[0]
        slots = tuple(_reducer_slots(*bodies, dict(moved)) for bodies in zip(left.regions, right.regions, strict=True))
        results = tuple(
            moved if len(body.results) == inputs else _in_order(body.results, other.results)
            for body, other in zip(left.regions, right.regions, strict=True)
        )
        return Call(slots, results, tuple(map(frozenset, slots)), moved, same)


def _in_order(left: Sequence[object], right: Sequence[object]) -> Positions:
    return tuple((at, at) for at in range(min(len(left), len(right))))


def _slot_pairs(left: Graph, right: Graph, pairs: Positions) -> SlotPairs:
    slots = list(slots_of(left)), list(slots_of(right))
    return tuple((slots[0][one], slots[1][other]) for one, other in pairs)


def _moved(opcode: str, moved: Mapping[int, int], operands: int) -> list[int]:
    """By operand, the operand of the other side that is the same one: inputs first, then what belongs to each."""
    order = [moved[at] for at in range(len(moved))]
    if opcode == "scatter":
        # Indices, which are for all inputs, stand before the updates.
        return [*order, len(order), *(len(order) + 1 + at for at in order)]
    blocks, rest = divmod(operands, len(order))
    return list(range(operands)) if rest else [block * len(order) + at for block in range(blocks) for at in order]


def _reducer_slots(left: Graph, right: Graph, moved: Mapping[int, int]) -> SlotPairs:
    """Of reducers, the accumulated inputs come before the new ones; a comparator has both of an input side by side."""
    inputs, slots = len(moved), list(slots_of(left))
    if len(slots) != len(slots_of(right)):
        return ()
    pairs = ((at, at) for at in range(len(slots)))
    if inputs > 1 and len(slots) == 2 * inputs:
        together = len(left.results) == inputs
        blocks = [(block * inputs + one, block * inputs + other) for block in (0, 1) for one, other in moved.items()]
        beside = [(2 * one + which, 2 * other + which) for one, other in moved.items() for which in (0, 1)]
        pairs = blocks if together else beside
    names = slots, list(slots_of(right))
    return tuple((names[0][one], names[1][other]) for one, other in pairs)
