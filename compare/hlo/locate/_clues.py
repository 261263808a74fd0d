"""Reads a departure for the rules of known causes."""

from __future__ import annotations

from dataclasses import dataclass

from compare.hlo.causes import EXTRA, MISSING, Clue, Window
from compare.hlo.graph import Node
from compare.hlo.locate._attempts import Attempt, Parting
from compare.hlo.locate._blame import Blamed
from compare.hlo.locate._canonical import RESULT
from compare.hlo.locate._departing import MeasuredProgram
from compare.hlo.locate._inside_regions import GOES_ON
from compare.hlo.locate._measured import distance
from compare.hlo.locate._naming import are_swapped, changed_attributes, constants_of, opcodes
from compare.hlo.op_names import in_gradient, in_softmax
from compare.hlo.pair import Pair
from compare.hlo.slot_names import is_moving_average, is_weight

_NEAR = 2


def clue(parting: Parting, attempt: Attempt | None, blame: Blamed) -> Clue:
    """All that the two operations and their surroundings give away.

    Args:
      attempt: what made results agree; None of nothing.
    """
    left = _Surroundings(parting.left, blame.left)
    # What stands where an operation is missing is not to blame.
    right = _Surroundings(parting.right, None if blame.kind == MISSING else blame.right)
    to_blame = {MISSING: [left], EXTRA: [right]}.get(blame.kind, [left, right])
    op_names = [*left.op_names, *right.op_names]
    return Clue(
        kind=blame.kind,
        ops=Pair(left.opcode, right.opcode),
        constants=Pair(left.constants, right.constants),
        changed=tuple(_name_changes(left.node, right.node)) if left.node and right.node else (),
        in_gradient=in_gradient(op_names),
        in_softmax=in_softmax(op_names),
        near=frozenset(opcode for side in to_blame for opcode in side.around),
        weights=Pair(left.weights, right.weights),
        moving_average=any(map(is_moving_average, (*left.slots, *right.slots))),
        dtypes=Pair(left.dtype, right.dtype),
        updates=any(map(is_weight, parting.results)),
        ends_loop=GOES_ON in parting.results,
        swapped=bool(left.key is not None and right.key is not None and are_swapped(parting, left.key, right.key)),
        at_edges=any(parting.left.smooth) and all(_agrees_where_smooth(parting, name) for name in parting.results),
        cut=blame.kind == MISSING and (attempt is None or _ends_a_branch(parting, blame.left)),
        windows=Pair(_windows(left.node), _windows(right.node)),
        arrays=Pair(left.reads_array, right.reads_array),
    )


def _ends_a_branch(parting: Parting, left_key: int | None) -> bool:
    """Whether a sum has a term that the right program does not compute at all: a gradient's second path."""
    node = parting.left.program.node(left_key) if left_key is not None else None
    return node is not None and node.opcode == "add" and any(key in parting.departed.left for key in node.operands)


@dataclass(frozen=True)
class _Surroundings:
    """An operation, what it reads and what reads it; of a missing one there is none."""

    side: MeasuredProgram
    key: int | None

    @property
    def node(self) -> Node | None:
        return None if self.key is None else self.side.program.node(self.key)

    @property
    def opcode(self) -> str:
        return self.node.opcode if self.node else ""

    @property
    def dtype(self) -> str:
        return self.node.shape.dtype if self.node else ""

    @property
    def constants(self) -> tuple[float, ...]:
        return () if self.key is None else constants_of(self.side, self.key)

    @property
    def operands(self) -> tuple[int, ...]:
        return self.node.operands if self.node else ()

    @property
    def reads_array(self) -> bool:
        """Whether it reads a constant whose elements are not one number."""
        read = [self.side.program.graph.constant(key) for key in self.operands]
        return any(array is not None and array.size > 1 for array in read)

    @property
    def slots(self) -> list[str]:
        """The slots of the parameters that it reads directly."""
        return [slot for slot in map(self.side.program.slot, self.operands) if slot]

    @property
    def weights(self) -> frozenset[str]:
        return frozenset(filter(is_weight, self.slots))

    @property
    def op_names(self) -> list[str]:
        program = self.side.program
        near_by = () if self.key is None else (self.key, *self.operands, *program.users[self.key])
        return [program.node(key).op_name for key in near_by]

    @property
    def around(self) -> set[str]:
        """Opcodes of what is a few operations away."""
        program = self.side.program
        near: set[int] = set() if self.key is None else {self.key}
        for _ in range(_NEAR):
            neighbours = {key for one in near for key in (*program.node(one).operands, *program.users[one])}
            originals = {program.original_of(key) if program.node(key).opcode != RESULT else key for key in neighbours}
            near |= {key for key in originals | neighbours if key not in program.constants}
        return {program.node(key).opcode for key in near if key != self.key}


def _name_changes(left: Node, right: Node) -> list[str]:
    """Names of what differs: attributes, "batch" of a product's batch axes, "reducer"."""
    if left.opcode != right.opcode:
        return []
    names = changed_attributes(left, right)
    regions = zip(left.regions, right.regions, strict=False)
    differ = any(opcodes(mine) != opcodes(theirs) for mine, theirs in regions)
    return names + ["batch"] * (_batch(left) != _batch(right)) + ["reducer"] * differ


def _batch(node: Node) -> object:
    return dict(node.attribute("dot_dimension_numbers", ())).get("lhs_batch_dimensions")


def _agrees_where_smooth(parting: Parting, name: str) -> bool:
    left, right = parting.left, parting.right
    mine, theirs = left.program.results[name], right.program.results[name]
    cases = zip(
        left.measured.arrays[mine], right.measured.arrays[theirs],
        left.measured.bounds[mine], right.measured.bounds[theirs], left.smooth, strict=True,
    )  # fmt: skip
    return all(
        (one.shape, one.dtype) == (other.shape, other.dtype) and distance(one, other) <= bound + other_bound
        for one, other, bound, other_bound, smooth in cases
        if smooth
    )


def _windows(node: Node | None) -> Window:
    window = node.attribute("window", ()) if node else ()
    names = ("size", "stride", "padding_low", "padding_high")
    return tuple(
        tuple(int(dict(dimension).get(name, 0)) for name in names)
        for field, dimensions in window
        if field == "dimensions"
        for dimension in dimensions
    )
