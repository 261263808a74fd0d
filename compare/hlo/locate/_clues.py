"""What the list of known causes is told of a departure."""

from __future__ import annotations

from collections.abc import Iterator

from compare.hlo.causes import Clue
from compare.hlo.graph import Node
from compare.hlo.locate import _naming
from compare.hlo.locate._canonical import RESULT, Computation
from compare.hlo.locate._departing import MeasuredProgram
from compare.hlo.locate._measured import distance
from compare.hlo.locate._search import MISSING, Attempt, Parting

_NEAR = 2


def clue(parting: Parting, attempt: Attempt | None, kind: str, left: int | None, right: int | None) -> Clue:
    """All that the two operations and their surroundings give away."""
    sides = (parting.left, left), (parting.right, right)
    if kind == MISSING:
        sides = sides[0], (parting.right, None)
    nodes = tuple(side.program.node(key) if key is not None else None for side, key in sides)
    both = nodes[0] is not None and nodes[1] is not None
    blamed = sides[:1] if kind == MISSING else sides[1:] if kind == "extra" else sides
    return Clue(
        kind=kind,
        ops=(nodes[0].opcode if nodes[0] else "", nodes[1].opcode if nodes[1] else ""),
        constants=(_constants(*sides[0]), _constants(*sides[1])),
        changed=tuple(_changed(nodes[0], nodes[1])) if nodes[0] and nodes[1] else (),
        words=" ".join(word for side, key in sides for word in _words(side.program, key)).lower(),
        near=frozenset(opcode for side, key in blamed for opcode in _around(side.program, key)),
        slots=(_slots(*sides[0]), _slots(*sides[1])),
        dtypes=(nodes[0].shape.dtype if nodes[0] else "", nodes[1].shape.dtype if nodes[1] else ""),
        results=tuple(parting.results),
        swapped=bool(both and left is not None and right is not None and _naming.are_swapped(parting, left, right)),
        at_edges=_only_at_edges(parting),
        cut=kind == MISSING and (attempt is None or _ends_a_branch(parting, left)),
        windows=(_windows(nodes[0]), _windows(nodes[1])),
        arrays=(_reads_array(*sides[0]), _reads_array(*sides[1])),
    )


def _ends_a_branch(parting: Parting, left: int | None) -> bool:
    """Whether a sum has a term that the right program does not compute at all: a gradient's second path."""
    node = parting.left.program.node(left) if left is not None else None
    return node is not None and node.opcode == "add" and any(key in parting.departed[0] for key in node.operands)


def _constants(side: MeasuredProgram, key: int | None) -> tuple[float, ...]:
    return () if key is None else _naming.constants_of(side, key)


def _reads_array(side: MeasuredProgram, key: int | None) -> bool:
    """Whether it reads a constant whose elements are not one number."""
    operands = () if key is None else side.program.node(key).operands
    read = [side.program.graph.constant(each) for each in operands]
    return any(each is not None and each.size > 1 for each in read)


def _changed(left: Node, right: Node) -> list[str]:
    found = _naming.changed_attributes(left, right) if left.opcode == right.opcode else []
    regions = zip(left.regions, right.regions, strict=False)
    differ = any(_naming.opcodes(mine) != _naming.opcodes(theirs) for mine, theirs in regions)
    batches = [dict(node.attribute("dot_dimension_numbers", ())).get("lhs_batch_dimensions") for node in (left, right)]
    found += ["batch"] * (left.opcode == right.opcode and batches[0] != batches[1])
    return found + ["reducer"] * (differ and left.opcode == right.opcode)


def _words(program: Computation, key: int | None) -> Iterator[str]:
    if key is not None:
        for each in (key, *program.node(key).operands, *program.users[key]):
            yield program.node(each).op_name


def _around(program: Computation, key: int | None) -> set[str]:
    found: set[int] = set() if key is None else {key}
    for _ in range(_NEAR):
        reached = {each for one in found for each in (*program.node(one).operands, *program.users[one])}
        seen = {program.carried(each) if program.node(each).opcode != RESULT else each for each in reached}
        found |= {each for each in seen | reached if each not in program.constants}
    return {program.node(each).opcode for each in found if each != key}


def _slots(side: MeasuredProgram, key: int | None) -> tuple[str, ...]:
    operands = () if key is None else side.program.node(key).operands
    return tuple(slot for slot in map(side.program.slot, operands) if slot)


def _only_at_edges(parting: Parting) -> bool:
    """Whether every result agrees in each smooth case, and there is one."""
    left, right = parting.left, parting.right
    if not parting.left.smooth or not any(parting.left.smooth):
        return False
    pairs = [(left.program.results[name], right.program.results[name]) for name in parting.results]
    return all(
        (mine_.shape, mine_.dtype) == (theirs_.shape, theirs_.dtype) and distance(mine_, theirs_) <= bound + other
        for mine, theirs in pairs
        for mine_, theirs_, bound, other, smooth in zip(
            left.measured.arrays[mine], right.measured.arrays[theirs],
            left.measured.bounds[mine], right.measured.bounds[theirs], left.smooth, strict=True,
        )
        if smooth
    )  # fmt: skip


def _windows(node: Node | None) -> tuple[tuple[int, ...], ...]:
    """(size, stride, low padding, high padding) of every dimension of a window."""
    window = node.attribute("window", ()) if node else ()
    names = ("size", "stride", "padding_low", "padding_high")
    return tuple(
        tuple(int(dict(each).get(name, 0)) for name in names) for field, dims in window if field == "dimensions"
        for each in dims
    )  # fmt: skip
