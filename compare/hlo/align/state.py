"""Pairs the slots of the bodies of loops, branches and reducers between two programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from compare.hlo.align.by_number import Numbering, Numbers
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.numbering import digests
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Rewritten


class Slot(NamedTuple):
    """A body's parameter by position, and the part of it where it is a tuple."""

    parameter: int
    part: int | None = None


SlotPairs = tuple[Pair[Slot], ...]

_ROUNDS = 8


def slot_values(body: Graph) -> dict[Slot, int]:
    """By slot, the value in the body that holds it; a part of a tuple that nothing reads has none."""
    positions = {key: position for position, key in enumerate(body.parameters)}
    values = {Slot(position): key for key, position in positions.items() if body.nodes[key].shape.is_array}
    for node in body:
        if node.opcode == "get-tuple-element":
            (state,) = node.operands
            if state in positions:
                values.setdefault(Slot(positions[state], node.attribute("tuple_index")), node.id)
    return values


def slots_of(body: Graph) -> dict[Slot, Shape]:
    """Every slot and its shape, in order."""
    slots: dict[Slot, Shape] = {}
    for position, key in enumerate(body.parameters):
        shape = body.nodes[key].shape
        if shape.dtype == "tuple":
            slots |= {Slot(position, part): inner for part, inner in enumerate(shape.parts)}
        else:
            slots[Slot(position)] = shape
    return slots


def parts_read(graph: Graph) -> dict[int, dict[int, int]]:
    """By tuple, the values that read its parts, by part."""
    read: dict[int, dict[int, int]] = defaultdict(dict)
    for node in graph:
        if node.opcode == "get-tuple-element":
            (state,) = node.operands
            read[state].setdefault(node.attribute("tuple_index"), node.id)
    return dict(read)


def reads(body: Graph) -> dict[int, frozenset[Slot]]:
    """By value, the slots that it depends on."""
    own_slots = {key: frozenset({slot}) for slot, key in slot_values(body).items()}
    empty: frozenset[Slot] = frozenset()
    # Sets are shared by values that depend on the same: of a large body most do.
    unions: dict[frozenset[frozenset[Slot]], frozenset[Slot]] = {}
    slots_read: dict[int, frozenset[Slot]] = {}
    for node in body:
        parts = frozenset(slots_read[key] for key in node.operands)
        if parts not in unions:
            unions[parts] = empty.union(*parts)
        slots_read[node.id] = own_slots.get(node.id, unions[parts])
    return slots_read


def flatten_slots(body: Graph) -> Graph | None:
    """The body with a parameter for each slot, so that it can be called with arrays.

    Every value of the body is in it under its own id. None where a slot is a tuple itself, or no array.
    """
    slots = slots_of(body)
    if not all(shape.is_array for shape in slots.values()):
        return None
    last = max(body.nodes)
    places = {
        slot: body.parameters[slot.parameter] if slot.part is None else last + position
        for position, slot in enumerate(slots, start=1)
    }
    nodes: dict[int, Node] = {}
    for position, (slot, key) in enumerate(places.items()):
        number = (("parameter_number", position),)
        nodes[key] = Node(key, f"slot {slot.parameter} {slot.part}", "parameter", slots[slot], attributes=number)
    for node in body:
        if node.opcode == "parameter" and node.shape.dtype == "tuple":
            parts = tuple(key for slot, key in places.items() if body.parameters[slot.parameter] == node.id)
            nodes[node.id] = node.but(opcode="tuple", operands=parts, attributes=())
        elif node.opcode != "parameter":
            nodes[node.id] = node
    return Graph(body.name, nodes, tuple(places.values()), body.results)


def as_form(body: Graph) -> Rewritten:
    """A body as what is aligned; it has been rewritten with the program that it belongs to."""
    return Rewritten(body, digests(body), {}, ())


Keys = Sequence[Sequence[Hashable]]
"""By position, its keys from the most telling to the least; None pairs nothing."""


def pair_by_keys(left: Keys, right: Keys) -> list[tuple[int, int]]:
    """Positions of two lists that share a key, by the first keys first; several of one key in their order."""
    mine, theirs = dict(enumerate(left)), dict(enumerate(right))
    pairs: list[tuple[int, int]] = []
    for rank in range(min(map(len, (*left, *right)), default=0)):
        places: dict[Hashable, list[int]] = defaultdict(list)
        for position, keys in reversed(theirs.items()):
            places[keys[rank]].append(position)
        for position, keys in list(mine.items()):
            if keys[rank] is not None and places[keys[rank]]:
                other = places[keys[rank]].pop()
                pairs.append((position, other))
                del mine[position], theirs[other]
    return sorted(pairs)


Start = tuple[str, Hashable]
"""The shape of a part of a loop's state, and the number of its initial value."""


def pair_states(
    bodies: Pair[Rewritten], entering: Pair[Sequence[Hashable]], leaving: Pair[Mapping[int, int]]
) -> list[tuple[int, int]]:
    """The pairs of equal parts of two loops' states, by their initial, updated and final values.

    Args:
      entering: by part, the number of what it starts from.
      leaving: by part that is read after the loop, the number of what it ends as.
    """
    starts = Pair(_starts(bodies.left, entering.left), _starts(bodies.right, entering.right))
    if len(set(starts.left)) == len(starts.left) and set(starts.left) == set(starts.right):
        roles = starts.map(lambda side: [0] * len(side))
    else:
        roles = _roles(bodies, starts)
    return pair_by_keys(
        _all_keys(starts.left, roles.left, leaving.left), _all_keys(starts.right, roles.right, leaving.right)
    )


def _starts(body: Rewritten, entering: Sequence[Hashable]) -> list[Start]:
    return list(zip(map(str, slots_of(body.graph).values()), entering, strict=True))


def _all_keys(starts: Sequence[Start], roles: Sequence[int], leaving: Mapping[int, int]) -> list[list[Hashable]]:
    parts = enumerate(zip(starts, roles, strict=True))
    return [_keys(start, role, leaving.get(position)) for position, (start, role) in parts]


def _keys(start: Start, role: int, end: int | None) -> list[Hashable]:
    shape, _ = start
    shape_and_end = None if end is None else (shape, end)
    return [
        (start, role, end),
        (start, role),
        None if end is None else (start, end),
        shape_and_end,
        start,
        (shape, role),
        shape,
    ]


def _roles(bodies: Pair[Rewritten], starts: Pair[list[Start]]) -> Pair[list[int]]:
    """By part, a number that is equal where parts are computed alike from parts that are computed alike."""
    numbering = Numbering(bodies)
    table: dict[Hashable, int] = {}

    def number(key: Hashable) -> int:
        return table.setdefault(key, -1 - len(table))

    def next_roles(body: Rewritten, roles: list[int], numbers: Numbers) -> list[int]:
        return [number((role, numbers[end])) for role, end in zip(roles, body.graph.results, strict=True)]

    roles = starts.map(lambda side: [number(start) for start in side])
    for _ in range(_ROUNDS):
        numbers = numbering.extend_numbers(
            Pair(_number_slots(bodies.left, roles.left), _number_slots(bodies.right, roles.right))
        )
        before = len({*roles.left, *roles.right})
        roles = Pair(
            next_roles(bodies.left, roles.left, numbers.left), next_roles(bodies.right, roles.right, numbers.right)
        )
        if len({*roles.left, *roles.right}) == before:
            break
    return roles


def _number_slots(body: Rewritten, roles: Sequence[int]) -> Numbers:
    by_slot = dict(zip(slots_of(body.graph), roles, strict=True))
    return {key: by_slot[slot] for slot, key in slot_values(body.graph).items()}
