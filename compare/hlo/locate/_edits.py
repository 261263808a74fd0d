"""Changes to what the right program computes, each of which gives the left's value where its cause is the right one."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from compare.hlo.causes import is_tiny
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.locate import _naming
from compare.hlo.locate._excerpt import Arrays, Draft
from compare.hlo.locate._spot import Spot
from compare.hlo.locate._switches import values_dtype
from compare.hlo.slot_names import is_weight

_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
_MOST_PLACES = 16
_MOST_NUMBERS = 6


def constant_of_the_left(spot: Spot) -> float | None:
    """The number that the left program reads, where the blamed operation with it gives the left's value."""
    right, mine = spot.blamed.right, (spot.origin or spot).mine
    if right is None or mine is None or right not in spot.theirs.nodes:
        return None
    read = [key for key in spot.theirs.side.program.node(right).operands if key in spot.theirs.side.program.constants]
    numbers = [number for key in mine.computing for number in _naming.constants_of(mine.side, key)]
    if len(read) != 1:
        return None
    (old_constant,) = read
    if not spot.theirs.side.program.node(old_constant).shape.dtype.startswith(("f", "s", "u")):
        return None
    for number in list(dict.fromkeys(numbers))[:_MOST_NUMBERS]:
        draft = spot.theirs.draft()
        constant = draft.full(number, draft.nodes[old_constant].shape)
        operands = draft.nodes[right].operands
        draft.change(right, operands=tuple(constant if key == old_constant else key for key in operands))
        if spot.accepts(draft.run()):
            return number
    return None


def swapped_operands(spot: Spot) -> bool:
    """The blamed operation with its operands the other way round."""
    right = spot.blamed.right
    if right is None or right not in spot.theirs.nodes or len(spot.theirs.side.program.node(right).operands) != 2:
        return False
    draft = spot.theirs.draft()
    node = draft.nodes[right]
    one, other = (draft.nodes[key].shape for key in node.operands)
    draft.change(right, operands=node.operands[::-1])
    return one == other and spot.accepts(draft.run())


def another_operand(spot: Spot) -> bool:
    """The blamed operation with what the left one reads in place of what that does not read."""
    _, left, right = spot.blamed
    if left is None or right is None or right not in spot.theirs.nodes:
        return False
    partners = spot.parting.agreement
    expected_operands = list(spot.parting.left.program.node(left).operands)
    own = list(spot.parting.right.program.node(right).operands)
    for key in list(own):
        partner = next((operand for operand in expected_operands if operand in partners.right.get(key, ())), None)
        if partner is not None:
            own.remove(key)
            expected_operands.remove(partner)
    return any(_rewiring_mends(spot, right, key, operand) for key in own for operand in expected_operands)


def _rewiring_mends(spot: Spot, right: int, operand: int, expected_operand: int) -> bool:
    program, nodes = spot.parting.right.program, spot.parting.right.program.graph.nodes
    original = spot.parting.left.program.original_of(expected_operand)
    partners = [*spot.parting.agreement.left.get(expected_operand, ()), *spot.parting.agreement.left.get(original, ())]
    alike = [key for key in partners if nodes[key].shape.elements == nodes[operand].shape.elements]
    if not alike or operand in program.constants:
        return False
    shape = nodes[operand].shape
    arrays = [np.asarray(array).reshape(shape.dimensions) for array in spot.parting.right.measured.arrays[alike[0]]]
    if arrays[0].dtype != values_dtype(shape):
        return False
    draft = spot.theirs.draft()
    another = draft.leaf(shape, arrays)
    draft.change(right, operands=tuple(another if key == operand else key for key in draft.nodes[right].operands))
    return spot.accepts(draft.run())


def another_weight(spot: Spot) -> bool:
    """Whether other weights of the same shape give the value."""
    program = spot.theirs.side.program
    weights = [key for key in program.graph.parameters if is_weight(program.slot(key))]
    read = [key for key in spot.theirs.leaves if is_weight(program.slot(key))]
    arrays = spot.parting.right.measured.arrays
    pairs = [
        (key, other)
        for key in read
        for other in weights
        if program.original_of(key) != other and arrays[key][0].size == arrays[other][0].size
    ]
    changes = [_exchange(spot, key, other, both) for key, other in pairs for both in (False, True)]
    return any(map(spot.accepts, spot.theirs.draft().runs(changes))) if changes else False


def _exchange(spot: Spot, key: int, other: int, both: bool) -> dict[int, Arrays]:
    """One weight in place of another; `both`: each in place of the other."""
    program, arrays = spot.theirs.side.program, spot.parting.right.measured.arrays
    changes: dict[int, Arrays] = {}
    for leaf in spot.theirs.leaves:
        source = {program.original_of(key): other, other: program.original_of(key) if both else other}.get(
            program.original_of(leaf)
        )
        if source is not None:
            changes[leaf] = [new.reshape(old.shape) for new, old in zip(arrays[source], arrays[leaf], strict=True)]
    return changes


def epsilon_elsewhere(spot: Spot) -> bool:
    """The small number added before or after another operation."""
    return any(spot.accepts(draft.run()) for draft in itertools.islice(_moved_epsilons(spot), _MOST_PLACES))


def _moved_epsilons(spot: Spot) -> Iterator[Draft]:
    program = spot.theirs.side.program
    additions = [key for key in spot.theirs.nodes if program.node(key).opcode == "add" and tiny_constant(spot, key)]
    for key in additions[:2]:
        epsilon = tiny_constant(spot, key)
        (operand,) = [candidate for candidate in program.node(key).operands if candidate not in program.constants]
        for place in (*spot.theirs.leaves, *spot.theirs.computing):
            shape = program.node(place).shape
            if place in (key, operand) or not shape.dtype.startswith("f"):
                continue
            draft = spot.theirs.draft()
            draft.redirect(key, operand)
            sum_ = draft.add("add", shape, (place, draft.full(epsilon, shape)))
            draft.redirect(place, sum_)
            yield draft


def epsilon_before_correction(spot: Spot) -> float | None:
    """The left program's small number, where it counts for as much as before a division under the root.

    sqrt(v) + epsilon over sqrt(c) is sqrt(v / c) + epsilon / sqrt(c).
    """
    program = spot.theirs.side.program
    additions = [key for key in spot.theirs.nodes if program.node(key).opcode == "add" and tiny_constant(spot, key)]
    if spot.mine is None or len(additions) != 1:
        return None
    (key,) = additions
    shape = program.node(key).shape
    draft = spot.theirs.draft()
    leaf = draft.leaf(shape, spot.actual)
    draft.change(key, operands=tuple(leaf if one in program.constants else one for one in draft.nodes[key].operands))
    candidates = [(epsilon, correction) for epsilon in _epsilons(spot) for correction in _corrections(spot)]
    changes = [
        {leaf: [np.full(shape.dimensions, epsilon / number**0.5, values_dtype(shape)) for number in correction]}
        for epsilon, correction in candidates
    ]
    outcomes = zip(candidates, draft.runs(changes) if changes else [], strict=False)
    return next((epsilon for (epsilon, _), values in outcomes if spot.accepts(values)), None)


def _epsilons(spot: Spot) -> list[float]:
    """Small numbers that the left program adds."""
    if spot.mine is None:
        return []
    side = spot.mine.side
    numbers = [_naming.constants_of(side, key) for key in spot.mine.computing if side.program.node(key).opcode == "add"]
    tiny = dict.fromkeys(constants[0] for constants in numbers if len(constants) == 1 and is_tiny(constants[0]))
    return list(tiny)[:2]


def _corrections(spot: Spot) -> list[tuple[float, ...]]:
    """Numbers between 0 and 1, by case, that something is divided by here."""
    program, arrays = spot.theirs.side.program, spot.theirs.side.measured.arrays
    keys = (*spot.theirs.nodes, *spot.theirs.leaves)
    divisors = [program.node(key).operands[1] for key in keys if program.node(key).opcode == "divide"]
    flat = [arrays[key] for key in dict.fromkeys(divisors) if key in arrays]
    numbers = [tuple(float(array.flat[0]) for array in by_case) for by_case in flat if all(map(_is_fraction, by_case))]
    return list(dict.fromkeys(numbers))


def _is_fraction(array: np.ndarray) -> bool:
    return bool(array.size and np.all(array == array.flat[0]) and 0 < array.flat[0] < 1)


def tiny_constant(spot: Spot, key: int) -> float:
    """The one small number that an operation reads, else 0."""
    numbers = _naming.constants_of(spot.theirs.side, key)
    return numbers[0] if len(numbers) == 1 and is_tiny(numbers[0]) else 0.0


def widening_mends(spot: Spot) -> bool:
    """Without rounding to fewer bits than the left value has."""
    wide = spot.expected[0].dtype
    name = {"float64": "f64", "float32": "f32"}.get(str(wide))
    if name is None:
        return False
    draft = spot.theirs.draft()
    narrow = {key: node for key, node in draft.nodes.items() if _bits(node.shape) < _BITS[name]}
    for key, node in draft.nodes.items():
        draft.nodes[key] = _wide(node, name) if node.opcode != "parameter" else node
    for key, node in list(draft.nodes.items()):
        if node.opcode == "reduce-precision":
            draft.redirect(key, node.operands[0])
        if node.opcode == "parameter" and key in narrow:
            draft.redirect(key, draft.add("convert", Shape(name, node.shape.dimensions), (key,)))
    return bool(narrow or _rounds(spot)) and spot.accepts(draft.run())


def _rounds(spot: Spot) -> bool:
    return any(spot.theirs.side.program.node(key).opcode == "reduce-precision" for key in spot.theirs.nodes)


def _bits(shape: Shape) -> int:
    return _BITS.get(shape.dtype, 64)


def _wide(node: Node, name: str) -> Node:
    regions = tuple(_wide_region(region, name) for region in node.regions)
    if _bits(node.shape) >= _BITS[name]:
        return node.but(regions=regions)
    shape = dataclasses.replace(node.shape, dtype=name)
    literal = node.literal.astype(values_dtype(shape)) if node.literal is not None else None
    return node.but(shape=shape, literal=literal, regions=regions)


def _wide_region(region: Graph, name: str) -> Graph:
    return dataclasses.replace(region, nodes={key: _wide(node, name) for key, node in region.nodes.items()})
