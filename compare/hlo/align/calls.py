"""How the bodies of two values correspond: which of their slots and results are one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from compare.hlo.align.by_number import Numbers
from compare.hlo.align.state import Slot, SlotPairs, pair_by_keys, pair_states, slots_of
from compare.hlo.graph import Graph, Node
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Rewritten

Positions = tuple[tuple[int, int], ...]
PartsRead = Mapping[int, Mapping[int, int]]
"""By tuple, the values that read its parts, by part."""
_ONLY: Positions = ((0, 0),)
"""The only result of either body."""


@dataclass(frozen=True)
class PairedCall:
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
    given: tuple[frozenset[Pair[Slot]], ...]
    outputs: Positions
    same: bool
    loop: bool = False


@dataclass(frozen=True, eq=False)
class Caller:
    """One graph whose bodies are entered.

    Attributes:
      numbers: of all values, equal where values of the two graphs match.
      read: by tuple, its parts that are read.
    """

    graph: Graph
    numbers: Numbers
    read: PartsRead

    def parts(self, node: Node) -> list[Hashable]:
        """Numbers of all that a value is called with, tuples taken apart."""
        return [part for key in node.operands for part in self.state(key)]

    def state(self, key: int) -> list[Hashable]:
        """Numbers of the parts of a tuple, or the number of what is none."""
        node = self.graph.nodes[key]
        if node.opcode == "tuple":
            return [self.numbers[operand] for operand in node.operands]
        if node.shape.dtype == "tuple":
            return [(self.numbers[key], part) for part in range(len(node.shape.parts))]
        return [self.numbers[key]]

    def leaving(self, node: Node) -> dict[int, int]:
        """By part of a value that is read, its number."""
        if node.shape.dtype != "tuple":
            return {0: self.numbers[node.id]}
        return {part: self.numbers[key] for part, key in self.read.get(node.id, {}).items()}

    def operands(self, node: Node) -> list[int]:
        """The number of every operand."""
        return [self.numbers[key] for key in node.operands]


@dataclass(frozen=True, eq=False)
class Calls:
    """Known pairs of two graphs at the entry of their bodies; `form_of` converts a body to the form that is aligned."""

    callers: Pair[Caller]
    form_of: Callable[[Graph], Rewritten]

    def call(self, left: Node, right: Node) -> PairedCall:
        """Two values of one opcode and as many bodies."""
        if left.opcode == "while":
            return self._loop(left, right)
        if left.opcode == "conditional":
            return self._branches(left, right)
        return self._reducer(left, right)

    def _loop(self, left: Node, right: Node) -> PairedCall:
        entering = Pair(self._entering(self.callers.left, left), self._entering(self.callers.right, right))
        bodies = Pair(self._body(left), self._body(right))
        regular = all(len(body.graph.results) == len(state) for body, state in zip(bodies, entering, strict=True))
        if not regular:
            # A body that returns a tuple which it did not make.
            return PairedCall(((), ()), ((), _ONLY), (frozenset(), frozenset()), (), False, True)
        leaving = Pair(self.callers.left.leaving(left), self.callers.right.leaving(right))
        pairs = tuple(pair_states(bodies, entering, leaving))
        slots = _slot_pairs(bodies.left.graph, bodies.right.graph, pairs)
        equal_slots = frozenset(
            slot for slot, (one, other) in zip(slots, pairs, strict=True) if entering.left[one] == entering.right[other]
        )
        return PairedCall((slots, slots), (pairs, _ONLY), (equal_slots, equal_slots), pairs, True, True)

    def _entering(self, caller: Caller, loop: Node) -> list[Hashable]:
        (state,) = loop.operands
        return caller.state(state)

    def _body(self, loop: Node) -> Rewritten:
        body, _ = loop.regions
        return self.form_of(body)

    def _branches(self, left: Node, right: Node) -> PairedCall:
        index, *operands = left.operands
        other_index, *other_operands = right.operands
        slots: list[SlotPairs] = []
        equal_slots: list[frozenset[Pair[Slot]]] = []
        for body, other, operand, other_operand in zip(
            left.regions, right.regions, operands, other_operands, strict=True
        ):
            state, other_state = self.callers.left.state(operand), self.callers.right.state(other_operand)
            pairs = tuple(pair_by_keys(_branch_keys(body, state), _branch_keys(other, other_state)))
            slots.append(_slot_pairs(body, other, pairs))
            same = (state[mine] == other_state[theirs] for mine, theirs in pairs)
            equal_slots.append(frozenset(slot for slot, holds in zip(slots[-1], same, strict=True) if holds))
        bodies = zip(left.regions, right.regions, strict=True)
        results = tuple(_in_order(body.results, other.results) for body, other in bodies)
        same = self.callers.left.numbers[index] == self.callers.right.numbers[other_index]
        return PairedCall(tuple(slots), results, tuple(equal_slots), min(results, key=len), same)

    def _reducer(self, left: Node, right: Node) -> PairedCall:
        """The paired call of a reducer with several inputs: each has slots, a result and a part of the value."""
        inputs = len(left.shape.parts) or 1
        left_operands, others = self.callers.left.operands(left), self.callers.right.operands(right)
        input_pairs = _in_order(range(inputs), range(len(right.shape.parts) or 1))
        if inputs > 1 and len(left_operands) == len(others):
            pairs = pair_by_keys(
                [[number] for number in left_operands[:inputs]], [[number] for number in others[:inputs]]
            )
            input_pairs = tuple(pairs) if len(pairs) == inputs else input_pairs
        order = _order_operands(left.opcode, dict(input_pairs), len(left.operands))
        same = len(left_operands) == len(others) and [others[position] for position in order] == left_operands
        slots = tuple(
            _reducer_slots(*bodies, dict(input_pairs)) for bodies in zip(left.regions, right.regions, strict=True)
        )
        results = tuple(
            input_pairs if len(body.results) == inputs else _in_order(body.results, other.results)
            for body, other in zip(left.regions, right.regions, strict=True)
        )
        return PairedCall(slots, results, tuple(map(frozenset, slots)), input_pairs, same)


def _branch_keys(body: Graph, state: Sequence[Hashable]) -> list[list[Hashable]]:
    shapes = map(str, slots_of(body).values())
    return [[(shape, number), shape] for shape, number in zip(shapes, state, strict=True)]


def _in_order(left: Sequence[object], right: Sequence[object]) -> Positions:
    return tuple((position, position) for position in range(min(len(left), len(right))))


def _slot_pairs(left: Graph, right: Graph, pairs: Positions) -> SlotPairs:
    slots, others = list(slots_of(left)), list(slots_of(right))
    return tuple(Pair(slots[one], others[other]) for one, other in pairs)


def _order_operands(opcode: str, input_partners: Mapping[int, int], operands: int) -> list[int]:
    """By operand, the operand of the other side that is the same one: inputs first, then what belongs to each."""
    order = [input_partners[position] for position in range(len(input_partners))]
    if opcode == "scatter":
        # Indices, which are for all inputs, stand before the updates.
        return [*order, len(order), *(len(order) + 1 + position for position in order)]
    blocks, rest = divmod(operands, len(order))
    return (
        list(range(operands))
        if rest
        else [block * len(order) + position for block in range(blocks) for position in order]
    )


def _reducer_slots(left: Graph, right: Graph, input_partners: Mapping[int, int]) -> SlotPairs:
    """Pairs of slots: a reducer takes all accumulators before the new inputs, a comparator both of an input."""
    inputs, slots = len(input_partners), len(slots_of(left))
    if slots != len(slots_of(right)):
        return ()
    pairs = [(position, position) for position in range(slots)]
    if inputs > 1 and slots == 2 * inputs:
        together = len(left.results) == inputs
        blocks = [
            (block * inputs + one, block * inputs + other) for block in (0, 1) for one, other in input_partners.items()
        ]
        beside = [(2 * one + which, 2 * other + which) for one, other in input_partners.items() for which in (0, 1)]
        pairs = blocks if together else beside
    return _slot_pairs(left, right, tuple(pairs))
