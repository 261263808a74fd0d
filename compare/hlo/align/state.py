"""What loops, branches and reducers are called with: the slots of their bodies, paired between two programs."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from compare.hlo.align.by_number import Numbering, Numbers
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.numbering import digests
from compare.hlo.rewriting import Rewritten

Slot = tuple[int, int | None]
"""A body's parameter by position, and the part of it where it is a tuple."""
SlotPairs = tuple[tuple[Slot, Slot], ...]

_ROUNDS = 8


def slot_values(body: Graph) -> dict[Slot, int]:
    """By slot, the value in the body that holds it; a part of a tuple that nothing reads has none."""
    positions = {key: at for at, key in enumerate(body.parameters)}
    found: dict[Slot, int] = {(at, None): key for key, at in positions.items() if body.nodes[key].shape.is_array}
    for node in body:
        if node.opcode == "get-tuple-element" and node.operands[0] in positions:
            found.setdefault((positions[node.operands[0]], node.attribute("tuple_index")), node.id)
    return found


def slots_of(body: Graph) -> dict[Slot, Shape]:
    """Every slot and its shape, in order."""
    found: dict[Slot, Shape] = {}
    for at, key in enumerate(body.parameters):
        shape = body.nodes[key].shape
        if shape.dtype == "tuple":
            found |= {(at, part): each for part, each in enumerate(shape.parts)}
        else:
            found[at, None] = shape
    return found


def reads(body: Graph) -> dict[int, frozenset[Slot]]:
    """By value, the slots that it depends on."""
    given = {key: frozenset({slot}) for slot, key in slot_values(body).items()}
    empty: frozenset[Slot] = frozenset()
    # Sets are shared by values that depend on the same: of a large body most do.
    known: dict[frozenset[frozenset[Slot]], frozenset[Slot]] = {}
    found: dict[int, frozenset[Slot]] = {}
    for node in body:
        parts = frozenset(found[key] for key in node.operands)
        if parts not in known:
            known[parts] = empty.union(*parts)
        found[node.id] = given.get(node.id, known[parts])
    return found


def flattened(body: Graph) -> Graph | None:
    """The body with a parameter for each slot, so that it can be called with arrays.

    Every value of the body is in it under its own id. None where a slot is a tuple itself, or no array.
    """
    slots = slots_of(body)
    if not all(shape.is_array for shape in slots.values()):
        return None
    last = max(body.nodes)
    places = {
        slot: body.parameters[slot[0]] if slot[1] is None else last + at for at, slot in enumerate(slots, start=1)
    }
    nodes: dict[int, Node] = {}
    for at, (slot, key) in enumerate(places.items()):
        number = (("parameter_number", at),)
        nodes[key] = Node(key, f"slot {slot}", "parameter", slots[slot], attributes=number)
    for node in body:
        if node.opcode == "parameter" and node.shape.dtype == "tuple":
            parts = tuple(key for slot, key in places.items() if body.parameters[slot[0]] == node.id)
            nodes[node.id] = dataclasses.replace(node, opcode="tuple", operands=parts, attributes=())
        elif node.opcode != "parameter":
            nodes[node.id] = node
    return Graph(body.name, nodes, tuple(places.values()), body.results)


def as_form(body: Graph) -> Rewritten:
    """A body as what is aligned; it has been rewritten with the program that it belongs to."""
    return Rewritten(body, digests(body), {}, ())


def pair_by_keys(left: Sequence[Sequence[Hashable]], right: Sequence[Sequence[Hashable]]) -> list[tuple[int, int]]:
    """Positions of two lists that share a key, by the first keys first; several of one key in their order.

    Each position has its keys from the most telling to the least; None pairs nothing.
    """
    rest = dict(enumerate(left)), dict(enumerate(right))
    found: list[tuple[int, int]] = []
    for rank in range(min(map(len, (*left, *right)), default=0)):
        places: dict[Hashable, list[int]] = defaultdict(list)
        for at, keys in reversed(rest[1].items()):
            places[keys[rank]].append(at)
        for at, keys in list(rest[0].items()):
            if keys[rank] is not None and places[keys[rank]]:
                other = places[keys[rank]].pop()
                found.append((at, other))
                del rest[0][at], rest[1][other]
    return sorted(found)


def pair_states(
    bodies: tuple[Rewritten, Rewritten],
    entering: tuple[Sequence[Hashable], Sequence[Hashable]],
    leaving: tuple[Mapping[int, int], Mapping[int, int]],
) -> list[tuple[int, int]]:
    """Which parts of two loops' states are one: by what they start from, become, and end as.

    Args:
      bodies: of the loops.
      entering: by part, the number of what it starts from.
      leaving: by part that is read after the loop, the number of what it ends as.
    """
    shapes = [list(slots_of(body.graph).values()) for body in bodies]
    starts = [list(zip(map(str, shapes[side]), entering[side], strict=True)) for side in (0, 1)]
    if len(set(starts[0])) == len(starts[0]) and set(starts[0]) == set(starts[1]):
        roles: tuple[list[int], list[int]] = [0] * len(starts[0]), [0] * len(starts[1])
    else:
        roles = _roles(bodies, (starts[0], starts[1]))
    keys = [
        [_keys(*each, leaving[side].get(at)) for at, each in enumerate(zip(starts[side], roles[side], strict=True))]
        for side in (0, 1)
    ]
    return pair_by_keys(*keys)


def _keys(start: tuple[str, Hashable], role: int, end: int | None) -> list[Hashable]:
    shape = start[0]
    ended = None if end is None else (shape, end)
    return [
        (start, role, end),
        (start, role),
        None if end is None else (start, end),
        ended,
        start,
        (shape, role),
        shape,
    ]


def _roles(
    bodies: tuple[Rewritten, Rewritten], starts: tuple[Sequence[Hashable], Sequence[Hashable]]
) -> tuple[list[int], list[int]]:
    """By part, a number that is equal where parts are computed alike from parts that are computed alike."""
    numbering = Numbering(*bodies)
    table: dict[Hashable, int] = {}
    roles = [[table.setdefault(start, -1 - len(table)) for start in side] for side in starts]
    for _ in range(_ROUNDS):
        given = [_given(body.graph, side) for body, side in zip(bodies, roles, strict=True)]
        numbers = numbering.numbered(*given)
        before = len({*roles[0], *roles[1]})
        roles = [
            [
                table.setdefault((role, numbers[side][result]), -1 - len(table))
                for role, result in zip(roles[side], bodies[side].graph.results, strict=True)
            ]
            for side in (0, 1)
        ]
        if len({*roles[0], *roles[1]}) == before:
            break
    return roles[0], roles[1]


def _given(body: Graph, roles: Sequence[int]) -> Numbers:
    by_slot = dict(zip(slots_of(body), roles, strict=True))
    return {key: by_slot[slot] for slot, key in slot_values(body).items()}
