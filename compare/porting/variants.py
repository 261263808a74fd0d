"""Variants of a block: copies with more or fewer steps, such as a projection, an expansion or a padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from compare.porting.patterns import (
    Column,
    Occurrence,
    Pattern,
    Piece,
    count_lines,
    count_lines_of_pieces,
    wire,
)
from compare.porting.repeats import Copy, Step

LEAST_SHARE = 0.6
"""The smallest share of a block and of its variant that both have in common."""


def extend(steps: Sequence[Step], pattern: Pattern, copy: Copy) -> Pattern | None:
    """A block that has a segment as one more copy; None if the segment is no variant of the block."""
    here, there = [column.shape for column in pattern.columns], [step.shape for step in steps[copy.start : copy.stop]]
    pairs = _align(here, there)
    lines = sum(steps[copy.start + j].lines for i, j in pairs if i is not None and j is not None)
    of_block, of_copy = count_lines(steps, pattern), sum(step.lines for step in steps[copy.start : copy.stop])
    if lines < LEAST_SHARE * max(of_copy, of_block - count_lines_of_pieces(steps, pattern)):
        return None
    # If one side has two steps of a shape and the other has one, this one may match the first or the last of them.
    backwards = [
        (None if i is None else len(here) - 1 - i, None if j is None else len(there) - 1 - j)
        for i, j in reversed(_align(here[::-1], there[::-1]))
    ]
    ways = (_Extension(steps, pattern, copy, way).pattern() for way in (pairs, backwards))
    return next((wider for wider in ways if wider is not None), None)


def _align(here: Sequence[str], there: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """The longest alignment of two sequences: pairs of equal entries, and entries that only one side has."""
    most = [[0] * (len(there) + 1) for _ in range(len(here) + 1)]
    for i in reversed(range(len(here))):
        for j in reversed(range(len(there))):
            equal = most[i + 1][j + 1] + 1 if here[i] == there[j] else 0
            most[i][j] = max(equal, most[i + 1][j], most[i][j + 1])
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < len(here) or j < len(there):
        if i < len(here) and j < len(there) and here[i] == there[j] and most[i][j] == most[i + 1][j + 1] + 1:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif i < len(here) and (j == len(there) or most[i + 1][j] == most[i][j]):
            pairs.append((i, None))
            i += 1
        else:
            pairs.append((None, j))
            j += 1
    return pairs


class _Extension:
    """The extension of a block by one more copy."""

    def __init__(
        self,
        steps: Sequence[Step],
        pattern: Pattern,
        copy: Copy,
        pairs: Sequence[tuple[int | None, int | None]],
    ) -> None:
        self._steps, self._before, self._copy, self._pairs = steps, pattern, copy, pairs
        self._columns: list[Column] = []
        self._pieces = list(pattern.pieces)
        # Tensors that only the segment writes.
        self._new = {
            number for here, there in pairs if here is None and there is not None for number in self._step(there).writes
        }
        self._result = pattern.result
        numbers = [number for column in pattern.columns for number in (*column.reads, *column.writes)]
        self._next = max((*numbers, *pattern.inputs)) + 1

    def pattern(self) -> Pattern | None:
        """The extended block; None if a copy without one of the pieces would not be wired."""
        if self._splits_a_piece():
            return None
        tensors = self._tensors_of_copy()
        if tensors is None or not self._build(tensors):
            return None
        return self._with_all_copies()

    def _splits_a_piece(self) -> bool:
        """Whether the segment has some but not all steps of a piece."""
        places = {here for here, there in self._pairs if here is not None and there is not None}
        pieces = [
            {place for place, column in enumerate(self._before.columns) if column.piece == number}
            for number in range(len(self._before.pieces))
        ]
        return any(piece & places and not piece <= places for piece in pieces)

    def _step(self, there: int) -> Step:
        return self._steps[self._copy.start + there]

    def _tensors_of_copy(self) -> dict[int, int] | None:
        """For each tensor of the block, the tensor of the segment; None if there would be two.

        Tensors that only the segment writes belong to a new piece, so they correspond to none of the block.
        """
        tensors = {} if self._copy.result in self._new else {self._before.result: self._copy.result}
        for here, there in reversed(self._pairs):
            if here is None:
                continue
            column = self._before.columns[here]
            if there is None:
                piece = None if column.piece is None else self._before.pieces[column.piece]
                output = tensors.get(piece.output) if piece and piece.output in column.writes else None
                if piece and output is not None and tensors.setdefault(piece.through, output) != output:
                    return None
                continue
            for number, tensor in zip(column.reads, self._step(there).reads, strict=True):
                if tensor not in self._new and tensors.setdefault(number, tensor) != tensor:
                    return None
        return tensors

    def _build(self, tensors: Mapping[int, int]) -> bool:
        """Put the columns together; whether every new piece has one output and a tensor that replaces it."""
        # For each tensor of the segment, the tensor of the block; if there are several, the last one.
        inverse = {tensors[number]: number for number in self._before.inputs if number in tensors}
        missing = [number for number in self._before.inputs if number not in tensors]
        others = [number for number in self._copy.inputs if number not in inverse]
        # If a segment lacks the piece at the start of the block, no step reads the input of that piece.
        if len(missing) > 1 or len(missing) != len(others):
            return False
        inverse |= dict(zip(others, missing, strict=True))
        for kind, group in groupby(self._pairs, self._kind):
            pairs = list(group)
            add = {"both": self._add_both, "here": self._add_here, "there": self._add_there}[kind]
            if not add(pairs, tensors, inverse):
                return False
        return True

    def _kind(self, pair: tuple[int | None, int | None]) -> str:
        here, there = pair
        if there is None and here is not None:
            return "both" if self._before.columns[here].piece is not None else "here"
        return "there" if here is None else "both"

    def _add_both(
        self, pairs: Sequence[tuple[int | None, int | None]], tensors: Mapping[int, int], inverse: dict[int, int]
    ) -> bool:
        """Add columns that the segment has, or that belong to a piece already."""
        for here, there in pairs:
            assert here is not None
            column = self._before.columns[here]
            if there is not None:
                reads = zip(column.reads, self._step(there).reads, strict=True)
                new = tuple(inverse[tensor] if tensor in self._new else number for number, tensor in reads)
                self._columns.append(replace(column, reads=new))
                inverse |= dict(zip(self._step(there).writes, column.writes, strict=True))
                continue
            self._columns.append(column)
            if column.piece is not None:
                output = self._before.pieces[column.piece].output
                if output in column.writes and output in tensors:
                    inverse[tensors[output]] = output
        return True

    def _add_here(
        self, pairs: Sequence[tuple[int | None, int | None]], tensors: Mapping[int, int], inverse: dict[int, int]
    ) -> bool:
        """Add columns that only the block has, as a new piece."""
        places = [here for here, _ in pairs if here is not None]
        outputs = self._outputs_of([self._before.columns[place] for place in places], places)
        if len(outputs) != 1 or tensors.get(outputs[0]) not in inverse:
            return False
        (output,) = outputs
        number = len(self._pieces)
        self._pieces.append(Piece(output, inverse[tensors[output]]))
        self._columns += [replace(self._before.columns[place], piece=number) for place in places]
        inverse[tensors[output]] = output
        return True

    def _outputs_of(self, columns: Sequence[Column], places: Sequence[int]) -> list[int]:
        """The tensors of some columns that other columns read."""
        others = {
            number
            for place, column in enumerate(self._before.columns)
            if place not in places
            for number in column.reads
        }
        others |= {self._before.result, *(piece.through for piece in self._before.pieces)}
        return [number for column in columns for number in column.writes if number in others]

    def _add_there(
        self, pairs: Sequence[tuple[int | None, int | None]], tensors: Mapping[int, int], inverse: dict[int, int]
    ) -> bool:
        """Add steps that only the segment has, as a new piece."""
        places = [there for _, there in pairs if there is not None]
        writes_of_piece = {number for place in places for number in self._step(place).writes}
        others = (self._step(there) for there in range(self._copy.length) if there not in places)
        reads_of_others = {number for step in others for number in step.reads} | {self._copy.result}
        outputs = [number for number in writes_of_piece if number in reads_of_others]
        if len(outputs) != 1:
            return False
        through = self._read_in_place_of(outputs[0])
        available = {*self._before.inputs, *(number for column in self._columns for number in column.writes)}
        if len(through) != 1 or not through <= available:
            return False
        number = len(self._pieces)
        for place in places:
            step = self._step(place)
            if not set(step.reads) <= inverse.keys():
                return False
            writes = tuple(range(self._next, self._next + len(step.writes)))
            self._next += len(step.writes)
            reads = tuple(inverse[tensor] for tensor in step.reads)
            self._columns.append(Column(step.shape, reads, writes, number))
            inverse |= dict(zip(step.writes, writes, strict=True))
        output = inverse[outputs[0]]
        self._pieces.append(Piece(output, *through))
        if outputs[0] == self._copy.result:
            self._result = output
        return True

    def _read_in_place_of(self, output: int) -> set[int]:
        """The tensors that the block reads where the segment reads the output of a new piece."""
        through = {self._before.result} if output == self._copy.result else set[int]()
        for here, there in self._pairs:
            if here is not None and there is not None:
                reads = zip(self._before.columns[here].reads, self._step(there).reads, strict=True)
                through |= {number for number, tensor in reads if tensor == output}
        return through

    def _with_all_copies(self) -> Pattern | None:
        """The extended block with its copies; None if the wiring of one of them differs."""
        columns, pieces = tuple(self._columns), tuple(self._pieces)
        before = Pattern(columns, pieces, self._before.inputs, self._result, ())
        occurrences: list[Occurrence] = []
        for occurrence in self._before.copies:
            steps = iter(occurrence.steps)
            places = tuple(None if here is None else next(steps) for here, _ in self._pairs)
            occurrences.append(Occurrence(occurrence.copy, places))
        own = tuple(None if there is None else self._copy.start + there for _, there in self._pairs)
        occurrences.append(Occurrence(self._copy, own))
        occurrences.sort(key=lambda occurrence: occurrence.copy.start)
        copies: list[Occurrence] = []
        for occurrence in occurrences:
            copy = wire(self._steps, before, occurrence)
            if copy is None:
                return None
            copies.append(replace(occurrence, copy=copy))
        return replace(before, copies=tuple(copies))
