"""Copies of a block that have a piece more or less than others: a projected shortcut, an expansion, a padding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from compare.porting.repeats import (
    CLASS,
    Copy,
    Repeat,
    Step,
    bonus,
    find_repeats,
    last_reads_of,
    own_prefix,
    runs_of,
    segments_from,
)

_LEAST = 0.6
"""The share of a block and of a variant that both have."""

_FEWEST, _LEAST_SAVED = 4, 10
"""Lines that a variant has to save beside its class, and that a block has to."""

_SHARE = 0.75
"""A block is written where this share of its lines is left, or less."""

_LIST, _ONE = 3, 2
"""Lines of a list of copies with its loop, and of a copy that stands alone."""

_PIECE, _PARAMETER = 4, 2
"""Lines around a piece that only some copies have, and for an argument that not all copies need."""


@dataclass(frozen=True)
class Column:
    """One step of a block.

    Attributes:
      shape: of its code.
      reads: the tensors of the block that it is given.
      writes: those that it returns.
      piece: the number of the piece that it is of; None where every copy has it.
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
      through: the one that is this one where a copy has no such steps.
    """

    output: int
    through: int


@dataclass(frozen=True)
class Placed:
    """One copy: where each step of the block stands in the sequence, None where it has none."""

    copy: Copy
    steps: tuple[int | None, ...]


@dataclass(frozen=True)
class Pattern:
    """A block with all its copies.

    Attributes:
      columns: its steps.
      pieces: by number.
      inputs: the tensors of the block that it is given.
      result: what it returns.
      copies: in order.
    """

    columns: tuple[Column, ...]
    pieces: tuple[Piece, ...]
    inputs: tuple[int, ...]
    result: int
    copies: tuple[Placed, ...]


def pattern_of(steps: Sequence[Step], repeat: Repeat) -> Pattern:
    """The block of equal copies, with the tensors of the first."""
    first = repeat.copies[0]
    columns = tuple(Column(step.shape, step.reads, step.writes) for step in steps[first.start : first.stop])
    copies = tuple(Placed(copy, tuple(range(copy.start, copy.stop))) for copy in repeat.copies)
    return Pattern(columns, (), first.inputs, first.result, copies)


def find_block(steps: Sequence[Step], outputs: Sequence[int]) -> Pattern | None:
    """The block that saves the most lines; None where none saves enough.

    Args:
      steps: each behind those that it needs.
      outputs: the tensors that are returned.
    """
    last_reads, best, most = last_reads_of(steps, outputs), None, 0.0
    for repeat in find_repeats(steps, outputs):
        pattern = with_variants(steps, outputs, pattern_of(steps, repeat))
        saved = _saved(steps, pattern, last_reads)
        if saved > most:
            best, most = pattern, saved
    return best


def _saved(steps: Sequence[Step], pattern: Pattern, last_reads: Mapping[int, int]) -> float:
    """The lines that a class for a block saves, more where the model's names mark it; 0 where that is too little."""
    copies = [placed.copy for placed in pattern.copies]
    before = sum(step.lines for copy in copies for step in steps[copy.start : copy.stop])
    parameters = _parameters(steps, pattern) + len(pattern.pieces)
    of_runs = sum(_LIST if len(run) > 1 else _ONE for run in runs_of(copies, last_reads))
    after = CLASS + _lines_of(steps, pattern) + parameters + of_runs + (len(copies) if parameters else 0)
    if before - after < _LEAST_SAVED or after > _SHARE * before:
        return 0.0
    return (before - after) * bonus(steps, copies)


def with_variants(steps: Sequence[Step], outputs: Sequence[int], pattern: Pattern) -> Pattern:
    """A block with the segments between its copies, before and behind them that are variants of it.

    Args:
      steps: each behind those that it needs.
      outputs: the tensors that are returned.
      pattern: of a block.
    """
    last_reads = last_reads_of(steps, outputs)
    while (wider := _widen(steps, last_reads, pattern)) is not None:
        pattern = wider
    return pattern


def _widen(steps: Sequence[Step], last_reads: Mapping[int, int], pattern: Pattern) -> Pattern | None:
    """The block with the variant that saves the most; None where none does."""
    best, most = None, 0
    names = [step.name for step in steps]
    copies = [placed.copy for placed in pattern.copies]
    are_marked = bonus(steps, copies) > 1
    for copy in _candidates(steps, last_reads, pattern):
        wider = extend(steps, pattern, copy)
        if wider is None:
            continue
        lines = sum(step.lines for step in steps[copy.start : copy.stop])
        saved = lines - (_lines_of(steps, wider) - _lines_of(steps, pattern)) - 1
        saved -= _PARAMETER * (_parameters(steps, wider) - _parameters(steps, pattern))
        if are_marked and not own_prefix(names, range(copy.start, copy.stop)):
            continue
        if saved >= _FEWEST and saved > most:
            best, most = wider, saved
    return best


def _lines_of(steps: Sequence[Step], pattern: Pattern) -> int:
    """The lines of the class of a block, without what is around them."""
    holders = [next(index for index in column if index is not None) for column in _transposed(pattern)]
    return sum(steps[index].lines for index in holders) + _PIECE * len(pattern.pieces)


def _parameters(steps: Sequence[Step], pattern: Pattern) -> int:
    """How many numbers differ between the copies of a block, those that differ alike counted once."""
    vectors: set[tuple[str | None, ...]] = set()
    for column in _transposed(pattern):
        first = next(index for index in column if index is not None)
        for place in range(len(steps[first].values)):
            vectors.add(tuple(None if index is None else steps[index].values[place] for index in column))
    return sum(len({*vector} - {None}) > 1 for vector in vectors)


def _transposed(pattern: Pattern) -> list[tuple[int | None, ...]]:
    return list(zip(*(placed.steps for placed in pattern.copies), strict=True))


def _candidates(steps: Sequence[Step], last_reads: Mapping[int, int], pattern: Pattern) -> Iterator[Copy]:
    """The segments outside of the copies that have most of what the block has, and little else."""
    shapes = Counter(column.shape for column in pattern.columns)
    needed = sum(column.piece is None for column in pattern.columns)
    taken = {index for placed in pattern.copies for index in range(placed.copy.start, placed.copy.stop)}
    free = [index for index in range(len(steps)) if index not in taken]
    for _, group in groupby(enumerate(free), lambda pair: pair[1] - pair[0]):
        gap = [index for _, index in group]
        for start in gap:
            longest = min(gap[-1] + 1 - start, 2 * len(pattern.columns))
            for copy, _, _ in segments_from(steps, last_reads, start, longest):
                if copy is None or len(copy.inputs) != len(pattern.inputs):
                    continue
                shared = (Counter(step.shape for step in steps[copy.start : copy.stop]) & shapes).total()
                if shared >= _LEAST * max(copy.length, needed):
                    yield copy


def extend(steps: Sequence[Step], pattern: Pattern, copy: Copy) -> Pattern | None:
    """A block that has a segment as a copy too; None where that is none of its variants.

    Args:
      steps: each behind those that it needs.
      pattern: of the block.
      copy: a segment.
    """
    here, there = [column.shape for column in pattern.columns], [step.shape for step in steps[copy.start : copy.stop]]
    pairs = _align(here, there)
    lines = sum(steps[copy.start + j].lines for i, j in pairs if i is not None and j is not None)
    of_block, of_copy = _lines_of(steps, pattern), sum(step.lines for step in steps[copy.start : copy.stop])
    if lines < _LEAST * max(of_copy, of_block - _of_pieces(steps, pattern)):
        return None
    # Where steps of one shape stand twice, the first ones are the same, or the last ones.
    backwards = [
        (None if i is None else len(here) - 1 - i, None if j is None else len(there) - 1 - j)
        for i, j in reversed(_align(here[::-1], there[::-1]))
    ]
    ways = (_Extension(steps, pattern, copy, way).pattern() for way in (pairs, backwards))
    return next((wider for wider in ways if wider is not None), None)


def _of_pieces(steps: Sequence[Step], pattern: Pattern) -> int:
    """The lines of the pieces of a block."""
    kept = [place for place, column in enumerate(pattern.columns) if column.piece is None]
    return _lines_of(steps, pattern) - sum(
        steps[next(index for index in column if index is not None)].lines
        for place, column in enumerate(_transposed(pattern))
        if place in kept
    )


def _align(here: Sequence[str], there: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Pairs of equal entries in order, as many as there can be, between them those that only one side has."""
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
    """A block on its way to one that has a segment too."""

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
        # What only the segment writes.
        self._new = {
            number for here, there in pairs if here is None and there is not None for number in self._step(there).writes
        }
        self._result = pattern.result
        numbers = [number for column in pattern.columns for number in (*column.reads, *column.writes)]
        self._next = max((*numbers, *pattern.inputs)) + 1

    def pattern(self) -> Pattern | None:
        """The block; None where the pieces cannot be left out of the wiring."""
        kept = self._steps_of_copy()
        if kept is None:
            return None
        wanted = self._wanted()
        if wanted is None or not self._build(kept, wanted):
            return None
        return self._checked()

    def _steps_of_copy(self) -> set[int] | None:
        """The columns that the segment has; None where it has a part of a piece."""
        kept = {here for here, there in self._pairs if here is not None and there is not None}
        for number in range(len(self._before.pieces)):
            of_piece = {place for place, column in enumerate(self._before.columns) if column.piece == number}
            if of_piece & kept and not of_piece <= kept:
                return None
        return kept

    def _step(self, there: int) -> Step:
        return self._steps[self._copy.start + there]

    def _wanted(self) -> dict[int, int] | None:
        """By the tensor of the block, the one that the segment has for it; None where that would be two.

        What only the segment writes stands for none: a piece from now on.
        """
        wanted = {} if self._copy.result in self._new else {self._before.result: self._copy.result}
        for here, there in reversed(self._pairs):
            if here is None:
                continue
            column = self._before.columns[here]
            if there is None:
                piece = None if column.piece is None else self._before.pieces[column.piece]
                passed = wanted.get(piece.output) if piece and piece.output in column.writes else None
                if piece and passed is not None and wanted.setdefault(piece.through, passed) != passed:
                    return None
                continue
            for number, found in zip(column.reads, self._step(there).reads, strict=True):
                if found not in self._new and wanted.setdefault(number, found) != found:
                    return None
        return wanted

    def _build(self, kept: set[int], wanted: Mapping[int, int]) -> bool:
        """Put the columns together; whether every new piece has one output, and what stands for it."""
        # The tensors of the segment by those of the block: of several that are the same one, the last.
        inverse = {wanted[number]: number for number in self._before.inputs if number in wanted}
        unread = [number for number in self._before.inputs if number not in wanted]
        others = [number for number in self._copy.inputs if number not in inverse]
        # Where a segment begins with a piece that it has not, nothing reads the input that this passes on.
        if len(unread) > 1 or len(unread) != len(others):
            return False
        inverse |= dict(zip(others, unread, strict=True))
        for kind, group in groupby(self._pairs, self._kind):
            pairs = list(group)
            built = {"both": self._add_both, "here": self._add_here, "there": self._add_there}[kind](
                pairs, wanted, inverse
            )
            if not built:
                return False
        return True

    def _kind(self, pair: tuple[int | None, int | None]) -> str:
        here, there = pair
        if there is None and here is not None:
            return "both" if self._before.columns[here].piece is not None else "here"
        return "there" if here is None else "both"

    def _add_both(
        self, pairs: Sequence[tuple[int | None, int | None]], wanted: Mapping[int, int], inverse: dict[int, int]
    ) -> bool:
        """Columns that the segment has, or that are of a piece already."""
        for here, there in pairs:
            assert here is not None
            column = self._before.columns[here]
            if there is not None:
                reads = zip(column.reads, self._step(there).reads, strict=True)
                new = tuple(inverse[found] if found in self._new else number for number, found in reads)
                self._columns.append(replace(column, reads=new))
                inverse |= dict(zip(self._step(there).writes, column.writes, strict=True))
                continue
            self._columns.append(column)
            if column.piece is not None:
                output = self._before.pieces[column.piece].output
                if output in column.writes and output in wanted:
                    inverse[wanted[output]] = output
        return True

    def _add_here(
        self, pairs: Sequence[tuple[int | None, int | None]], wanted: Mapping[int, int], inverse: dict[int, int]
    ) -> bool:
        """Columns that only the block has: a piece from now on."""
        places = [here for here, _ in pairs if here is not None]
        outputs = self._outputs_of([self._before.columns[place] for place in places], places)
        if len(outputs) != 1 or wanted.get(outputs[0]) not in inverse:
            return False
        (output,) = outputs
        number = len(self._pieces)
        self._pieces.append(Piece(output, inverse[wanted[output]]))
        self._columns += [replace(self._before.columns[place], piece=number) for place in places]
        inverse[wanted[output]] = output
        return True

    def _outputs_of(self, columns: Sequence[Column], places: Sequence[int]) -> list[int]:
        """The tensors of columns that others read."""
        others = {
            number
            for place, column in enumerate(self._before.columns)
            if place not in places
            for number in column.reads
        }
        others |= {self._before.result, *(piece.through for piece in self._before.pieces)}
        return [number for column in columns for number in column.writes if number in others]

    def _add_there(
        self, pairs: Sequence[tuple[int | None, int | None]], wanted: Mapping[int, int], inverse: dict[int, int]
    ) -> bool:
        """Steps that only the segment has: a piece from now on."""
        places = [there for _, there in pairs if there is not None]
        written = {number for place in places for number in self._step(place).writes}
        others = (self._step(there) for there in range(self._copy.length) if there not in places)
        read = {number for step in others for number in step.reads} | {self._copy.result}
        outputs = [number for number in written if number in read]
        if len(outputs) != 1:
            return False
        through = self._read_in_place_of(outputs[0])
        defined = {*self._before.inputs, *(number for column in self._columns for number in column.writes)}
        if len(through) != 1 or not through <= defined:
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
        """The tensors of the block that stand where the segment has an output of steps of its own."""
        through = {self._before.result} if output == self._copy.result else set[int]()
        for here, there in self._pairs:
            if here is not None and there is not None:
                reads = zip(self._before.columns[here].reads, self._step(there).reads, strict=True)
                through |= {number for number, found in reads if found == output}
        return through

    def _checked(self) -> Pattern | None:
        """The block with the segment, where every copy has its wiring in it."""
        columns, pieces = tuple(self._columns), tuple(self._pieces)
        before = Pattern(columns, pieces, self._before.inputs, self._result, ())
        copies: list[Placed] = []
        for placed in self._before.copies:
            steps = iter(placed.steps)
            places = tuple(None if here is None else next(steps) for here, _ in self._pairs)
            copies.append(Placed(placed.copy, places))
        own = tuple(None if there is None else self._copy.start + there for _, there in self._pairs)
        copies.append(Placed(self._copy, own))
        copies.sort(key=lambda placed: placed.copy.start)
        wired = [wire(self._steps, before, placed) for placed in copies]
        if any(copy is None for copy in wired):
            return None
        return replace(
            before,
            copies=tuple(
                replace(placed, copy=copy) for placed, copy in zip(copies, wired, strict=True) if copy is not None
            ),
        )


def wire(steps: Sequence[Step], pattern: Pattern, placed: Placed) -> Copy | None:
    """A copy with its inputs in the order of the block; None where the block is wired in another way.

    Args:
      steps: each behind those that it needs.
      pattern: of the block.
      placed: where the steps of the copy stand.
    """
    found: dict[int, int] = {}
    for place, (column, index) in enumerate(zip(pattern.columns, placed.steps, strict=True)):
        if index is not None:
            for number, tensor in zip(column.reads, steps[index].reads, strict=True):
                if number not in found and number not in pattern.inputs:
                    return None
                if found.setdefault(number, tensor) != tensor:
                    return None
            found |= dict(zip(column.writes, steps[index].writes, strict=True))
            continue
        if column.piece is None:
            return None
        piece = pattern.pieces[column.piece]
        is_last = all(later.piece != column.piece for later in pattern.columns[place + 1 :])
        if is_last and piece.through in found:
            found[piece.output] = found[piece.through]
        elif is_last and piece.through in pattern.inputs:
            # Where a copy begins with a piece that it has not, its input is what that passes on.
            bound = _bound_input(steps, pattern, placed, place + 1, piece.output)
            if bound is None:
                return None
            found[piece.through] = found[piece.output] = bound
    inside = {number for index in placed.steps if index is not None for number in steps[index].writes}
    if found.get(pattern.result) != placed.copy.result or any(number not in found for number in pattern.inputs):
        return None
    inputs = tuple(found[number] for number in pattern.inputs)
    return None if set(inputs) & inside or len(set(inputs)) < len(inputs) else replace(placed.copy, inputs=inputs)


def _bound_input(steps: Sequence[Step], pattern: Pattern, placed: Placed, start: int, output: int) -> int | None:
    """What a copy reads in place of the output of a piece that it has not."""
    outputs = {output}
    for column, index in zip(pattern.columns[start:], placed.steps[start:], strict=True):
        if index is None:
            piece = pattern.pieces[column.piece] if column.piece is not None else None
            if piece is not None and piece.through in outputs:
                outputs.add(piece.output)
            continue
        for number, tensor in zip(column.reads, steps[index].reads, strict=True):
            if number in outputs:
                return tensor
    return None
