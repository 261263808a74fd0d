"""Names the operations of a departure: what is to blame on either side, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compare.hlo import op_names
from compare.hlo.causes import CHANGED, EXTRA, MISSING, Kind
from compare.hlo.locate._attempts import Attempt, Parting, behind
from compare.hlo.locate._canonical import RESULT, Computation
from compare.hlo.locate._departing import MeasuredProgram
from compare.hlo.locate._findings import OperationPlace


class Blamed(NamedTuple):
    """The operations to blame: of the left program, and of the right one."""

    kind: Kind
    left: int | None
    right: int | None


def assign_blame(parting: Parting, attempt: Attempt | None) -> Blamed:
    """The first departing operations that a departure comes from."""
    if attempt is not None and attempt.kind == MISSING:
        return Blamed(MISSING, attempt.left, attempt.right)
    mine, theirs = list(parting.first.left), list(parting.first.right)
    if attempt is not None:
        theirs = _behind(parting.right, theirs, attempt.right, parting.departed.right)
    if attempt is not None and attempt.left is not None:
        mine = _behind(parting.left, mine, attempt.left, parting.departed.left)
    if attempt is not None and attempt.kind == EXTRA:
        return Blamed(EXTRA, None, theirs[0])
    if attempt is None and all(parting.right.program.node(key).opcode == RESULT for key in theirs):
        return _blame_result(parting)
    pairs = [(own, other) for other in theirs for own in mine]
    if not pairs:
        return Blamed(CHANGED, next(iter(mine), None), next(iter(theirs), None))
    left, right = max(pairs, key=lambda pair: likeness(parting, *pair))
    return Blamed(CHANGED, _sibling(parting, _maker(parting.left, left), right), right)


def _maker(side: MeasuredProgram, key: int) -> int:
    """The producer of a result; any other value itself."""
    node = side.program.node(key)
    return node.operands[0] if node.opcode == RESULT else key


def _sibling(parting: Parting, left: int, right: int) -> int:
    """The left operation that does the same to the same values, where the one at the same place does another."""
    program, others = parting.right.program, parting.left.program
    opcode = program.node(right).opcode
    if others.node(left).opcode == opcode:
        return left
    read = [key for key in program.node(right).operands if key not in program.constants]
    partners = [set(parting.agreement.right.get(key, ())) for key in read]
    users = {user for partner in partners for key in partner for user in others.readers(key)}
    same = [
        user
        for user in sorted(users)
        if others.node(user).opcode == opcode and all(part & set(others.node(user).operands) for part in partners)
    ]
    return next(iter(same), left)


def _behind(side: MeasuredProgram, starts: list[int], key: int, departing_keys: tuple[int, ...]) -> list[int]:
    keys_behind = behind(side, key, departing_keys)
    return [start for start in starts if start in keys_behind] or [key]


def _blame_result(parting: Parting) -> Blamed:
    """Results that agree with other values of the left program, or with none since they are constants."""
    left, right = parting.left, parting.right
    name, *_ = parting.results
    end = left.program.results[name]
    (expected,), (actual,) = left.program.node(end).operands, right.program.node(right.program.results[name]).operands
    within = behind(left, end, parting.departed.left)
    read = {operand for key in within for operand in left.program.node(key).operands}
    if actual not in right.program.constants and not read & set(parting.agreement.right.get(actual, ())):
        return Blamed(CHANGED, expected, actual)
    starts = [key for key in parting.first.left if key in within and key != end]
    best = max(starts, key=lambda start: (len(_shared_operands(parting, start)), -start), default=expected)
    return Blamed(MISSING, best, right.program.results[name])


def _shared_operands(parting: Parting, left_key: int) -> list[int]:
    """The operands of a left operation that the right program computes too, or gets."""
    left_program = parting.left.program
    return [key for operand in left_program.node(left_key).operands for key in _partners(parting, operand)]


def _partners(parting: Parting, operand: int) -> list[int]:
    """The right program's own of a value that a left operation reads, copies seen through."""
    original = parting.left.program.original_of(operand)
    partners = parting.agreement.left.get(operand) or parting.agreement.left.get(original, ())
    return (
        [parting.right.program.original_of(partners[0])]
        if partners and original not in parting.left.program.constants
        else []
    )


def likeness(parting: Parting, left: int, right: int) -> float:
    """How much two operations have in common: opcode, what they read, shape."""
    mine, theirs = parting.left.program.node(left), parting.right.program.node(right)
    reads = sum(bool(set(parting.agreement.right.get(key, ())) & set(mine.operands)) for key in theirs.operands)
    same_type = 0.25 * (mine.shape.dtype == theirs.shape.dtype)
    return 2.0 * (mine.opcode == theirs.opcode) + reads + 0.5 * (mine.shape == theirs.shape) + same_type


def place(side: MeasuredProgram, key: int | None) -> OperationPlace | None:
    """Where an operation stands; one without a line stands where what it reads does."""
    if key is None:
        return None
    key = _maker(side, key)
    node = side.program.node(key)
    return OperationPlace(
        side.program.label,
        node.opcode,
        node.name,
        str(node.shape),
        _line(side.program, key),
        op_names.scope(node.op_name),
    )


def _line(program: Computation, key: int) -> str:
    """Its own line, or that of the nearest operation that has one, first of what it is computed from."""
    near = (program.node(key).source, program.node(program.original_of(key)).source)
    own = next(filter(None, near), "")
    return own or _nearest(program, key, lambda one: program.node(one).operands) or _nearest(
        program, key, lambda one: program.users[one]
    )  # fmt: skip


def _nearest(program: Computation, key: int, step: Callable[[int], Sequence[int]]) -> str:
    border, seen_keys = [key], {key}
    while border:
        border = [key for one in border for key in step(one) if key not in seen_keys]
        seen_keys.update(border)
        source = next(filter(None, (program.node(key).source for key in border)), "")
        if source:
            return source
    return ""


def where_missing(parting: Parting, left_key: int, reader: int) -> int:
    """The right operation after which one is missing: what makes the value that it should read.

    Where all that it should read is given to the program, the first of what reads the same.
    """
    program = parting.right.program
    shared_keys = _shared_operands(parting, left_key)
    computed_keys = [key for key in shared_keys if key not in program.graph.parameters]
    read_keys = {key for key in computed_keys if reader in program.readers(key)}
    if read_keys:
        return max(read_keys)
    readers = [reader for key in shared_keys for reader in program.readers(key)]
    opcode = parting.left.program.node(left_key).opcode
    alike = [reader for reader in readers if program.node(reader).opcode == opcode]
    if program.node(reader).opcode != RESULT or not readers:
        return reader
    return min(alike or readers)
