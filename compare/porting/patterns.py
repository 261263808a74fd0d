"""A block as a pattern in a sequence of steps, and the wiring of each of its copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compare.porting.repeats import Copy, Repeat, Step

_PIECE = 4
"""Lines around a piece."""


@dataclass(frozen=True)
class Column:
    """One step of a block.

    Attributes:
      shape: the shape of its code.
      reads: the tensors of the block that the step reads.
      writes: the tensors of the block that the step returns.
      piece: the number of its piece; None if every copy has the step.
    """

    shape: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    piece: int | None = None


@dataclass(frozen=True)
class Piece:
    """Steps that only some copies have.

    Attributes:
      output: the tensor of the block that later steps read.
      through: the tensor of the block that replaces the output in a copy without these steps.
    """

    output: int
    through: int


@dataclass(frozen=True)
class Occurrence:
    """One copy of a block.

    Attributes:
      copy: the segment.
      steps: for each step of the block, its index in the sequence; None if the copy does not have the step.
    """

    copy: Copy
    steps: tuple[int | None, ...]


@dataclass(frozen=True)
class Pattern:
    """A block with all its copies.

    Attributes:
      columns: the steps of the block.
      pieces: by number.
      inputs: the tensors of the block that its caller passes.
      result: the tensor of the block that it returns.
      copies: in the order of the sequence.
    """

    columns: tuple[Column, ...]
    pieces: tuple[Piece, ...]
    inputs: tuple[int, ...]
    result: int
    copies: tuple[Occurrence, ...]


def pattern_of(steps: Sequence[Step], repeat: Repeat) -> Pattern:
    """The block of equal copies; its tensors have the numbers of the first copy."""
    first = repeat.copies[0]
    columns = tuple(Column(step.shape, step.reads, step.writes) for step in steps[first.start : first.stop])
    copies = tuple(Occurrence(copy, tuple(range(copy.start, copy.stop))) for copy in repeat.copies)
    return Pattern(columns, (), first.inputs, first.result, copies)


def indices_by_column(pattern: Pattern) -> list[tuple[int | None, ...]]:
    """For each step of a block, its index in every copy."""
    return list(zip(*(occurrence.steps for occurrence in pattern.copies), strict=True))


def count_lines(steps: Sequence[Step], pattern: Pattern) -> int:
    """The number of lines that the steps of a block take in its class."""
    indices = [next(index for index in column if index is not None) for column in indices_by_column(pattern)]
    return sum(steps[index].lines for index in indices) + _PIECE * len(pattern.pieces)


def count_lines_of_pieces(steps: Sequence[Step], pattern: Pattern) -> int:
    """The number of lines that the pieces of a block take in its class."""
    return count_lines(steps, pattern) - sum(
        steps[next(index for index in indices if index is not None)].lines
        for column, indices in zip(pattern.columns, indices_by_column(pattern), strict=True)
        if column.piece is None
    )


def wire(steps: Sequence[Step], pattern: Pattern, occurrence: Occurrence) -> Copy | None:
    """A copy with its inputs in the order of the block; None if its wiring differs from that of the block."""
    tensors: dict[int, int] = {}
    for place, (column, index) in enumerate(zip(pattern.columns, occurrence.steps, strict=True)):
        if index is not None:
            for number, tensor in zip(column.reads, steps[index].reads, strict=True):
                if number not in tensors and number not in pattern.inputs:
                    return None
                if tensors.setdefault(number, tensor) != tensor:
                    return None
            tensors |= dict(zip(column.writes, steps[index].writes, strict=True))
            continue
        if column.piece is None:
            return None
        piece = pattern.pieces[column.piece]
        is_last = all(later.piece != column.piece for later in pattern.columns[place + 1 :])
        if is_last and piece.through in tensors:
            tensors[piece.output] = tensors[piece.through]
        elif is_last and piece.through in pattern.inputs:
            # If a copy lacks the piece at its start, its later steps read the input in place of the piece's output.
            tensor = _read_in_place_of(steps, pattern, occurrence, place + 1, piece.output)
            if tensor is None:
                return None
            tensors[piece.through] = tensors[piece.output] = tensor
    inside = {number for index in occurrence.steps if index is not None for number in steps[index].writes}
    if tensors.get(pattern.result) != occurrence.copy.result or any(number not in tensors for number in pattern.inputs):
        return None
    inputs = tuple(tensors[number] for number in pattern.inputs)
    return None if set(inputs) & inside or len(set(inputs)) < len(inputs) else replace(occurrence.copy, inputs=inputs)


def _read_in_place_of(
    steps: Sequence[Step], pattern: Pattern, occurrence: Occurrence, start: int, output: int
) -> int | None:
    """The tensor that a copy without a piece reads in place of the piece's output."""
    outputs = {output}
    for column, index in zip(pattern.columns[start:], occurrence.steps[start:], strict=True):
        if index is None:
            piece = pattern.pieces[column.piece] if column.piece is not None else None
            if piece is not None and piece.through in outputs:
                outputs.add(piece.output)
            continue
        for number, tensor in zip(column.reads, steps[index].reads, strict=True):
            if number in outputs:
                return tensor
    return None
