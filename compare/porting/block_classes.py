"""The class of a block: one class for all copies, whose arguments are the values that differ between them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any

from compare.porting.block_names import INPUT_FEATURES, attribute_name, kind_of, parameter_name, plural
from compare.porting.block_units import Unit, lines_of, renumber
from compare.porting.class_text import Unchanged
from compare.porting.code_shapes import merge, with_positions
from compare.porting.identifiers import Names
from compare.porting.patterns import Pattern
from compare.porting.repeats import common_prefix
from compare.porting.variable_names import Variables

_LETTERS = ("y", "z", "u", "v", "w")
_OUTPUTS = re.compile(r"\b(out_features|num_features|features)=")


@dataclass
class _Parameter:
    """A value that differs between copies.

    Attributes:
      hole: the placeholder for its name in texts.
      values: for each copy, the value as Python; None if the copy does not need one.
      uses: for each use, the place of the unit in the block, the argument, and whether it is an argument of the call
        rather than of the constructor.
      name: the name of the parameter.
    """

    hole: str
    values: tuple[str | None, ...]
    uses: list[tuple[int, str, bool]] = field(default_factory=list)
    name: str = ""

    def agrees(self, vector: Sequence[str | None]) -> bool:
        """Whether other values are equal in every copy that has both, and at least two copies have both."""
        both = [(value, other) for value, other in zip(self.values, vector, strict=True) if value and other]
        return len(both) > 1 and all(value == other for value, other in both)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The argument for each copy: 0 or "" if the copy does not need one."""
        some = next(value for value in self.values if value is not None)
        return tuple(value or repr(type(ast.literal_eval(some))()) for value in self.values)


@dataclass(frozen=True)
class Block:
    """The class of a block.

    Attributes:
      text: the text of the class, with `NAME` for its name.
      parameters: the parameters of the constructor.
      rows: for each copy, the arguments of the constructor, as Python.
      units: for each copy, its units with their attributes.
    """

    text: str
    parameters: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    units: tuple[tuple[tuple[Unit, str], ...], ...]


NAME = "Name__"
"""The placeholder for the name of a class in its text."""


def block_of(
    units: Sequence[Unit], pattern: Pattern, names: Mapping[int, str], widths: Mapping[int, int | None]
) -> Block:
    """The class of a block.

    Args:
      names: the parameters of the model's call, by the numbers of tensors.
      widths: the sizes of the last axes of tensors, by number; None or absent if unknown.
    """
    return _BlockWriter(units, pattern, names, widths).block()


class _BlockWriter:
    def __init__(
        self,
        units: Sequence[Unit],
        pattern: Pattern,
        names: Mapping[int, str],
        widths: Mapping[int, int | None],
    ) -> None:
        self._pattern, self._widths = pattern, widths
        self._copies = [
            [None if index is None else units[index] for index in occurrence.steps] for occurrence in pattern.copies
        ]
        self._columns = [list(column) for column in zip(*self._copies, strict=True)]
        self._firsts = [next(unit for unit in column if unit is not None) for column in self._columns]
        self._names = Names()
        arguments, letters = Names(), iter(_LETTERS)
        self._arguments = {
            number: arguments.of("x" if index == 0 else names.get(number) or next(letters, "x"))
            for index, number in enumerate(pattern.inputs)
        }
        self._attributes = self._name_attributes()
        self._flags = self._name_flags()
        self._parameters: list[_Parameter] = []

    def block(self) -> Block:
        places = range(len(self._columns))
        assignments = [self._assign_modules(place) for place in places]
        calls = [self._call(place) for place in places]
        self._name_parameters()
        self._complete_widths()
        head = {parameter.hole: parameter.name for parameter in self._parameters}
        body = {parameter.hole: f"self.{parameter.name}" for parameter in self._parameters}
        attributes = [parameter.name for parameter in self._parameters if any(use[2] for use in parameter.uses)]
        constructor = [f"self.{name} = {name}" for name in (*attributes, *self._flags)]
        for flag, group in groupby(places, self._flag):
            lines = [_fill_holes(line, head) for place in group for line in assignments[place]]
            constructor += [f"if {flag}:", *(f"    {line}" for line in lines)] if flag and lines else lines
        arguments = {parameter.name: _type_of(parameter.values) for parameter in self._parameters}
        arguments |= dict.fromkeys(self._flags, "bool")
        parameters = "".join(f"{name}: {kind}, " for name, kind in arguments.items())
        signature = ", ".join(f"{name}: jax.Array" for name in self._arguments.values())
        lines = [
            f"class {NAME}(nnx.Module):",
            f'    """A block of the model, which has {len(self._copies)} of them."""',
            "",
            f"    def __init__(self, {parameters}*, rngs: nnx.Rngs) -> None:",
            *(f"        {line}" for line in constructor or ["pass"]),
            "",
            f"    def __call__(self, {signature}) -> jax.Array:",
            *(f"        {line}" for line in self._body([_fill_holes(text, body) for text in calls])),
        ]
        columns = [parameter.arguments for parameter in self._parameters]
        flags = [tuple(map(str, presence)) for presence in self._presences()]
        rows = tuple(zip(*columns, *flags, strict=True)) or ((),) * len(self._copies)
        units = tuple(
            tuple((unit, name) for unit, name in zip(copy, self._attributes, strict=True) if unit is not None)
            for copy in self._copies
        )
        return Block("\n".join(lines), tuple(arguments), rows, units)

    def _presences(self) -> list[tuple[bool, ...]]:
        """For each flag, whether each copy has the pieces of this flag."""
        return list(dict.fromkeys(self._presence(number) for number in range(len(self._pattern.pieces))))

    def _presence(self, piece: int) -> tuple[bool, ...]:
        """For each copy, whether it has a piece."""
        place = next(place for place, column in enumerate(self._pattern.columns) if column.piece == piece)
        return tuple(unit is not None for unit in self._columns[place])

    def _flag(self, place: int) -> str:
        """The parameter that says whether a copy has a unit; "" if all copies have it."""
        piece = self._pattern.columns[place].piece
        return "" if piece is None else self._flags[self._presences().index(self._presence(piece))]

    def _name_flags(self) -> list[str]:
        flags: list[str] = []
        for presence in self._presences():
            places = [
                place
                for place, column in enumerate(self._pattern.columns)
                if column.piece is not None and self._presence(column.piece) == presence
            ]
            with_modules = [place for place in places if self._firsts[place].modules] or places
            flags.append(self._names.of(f"has_{self._attributes[with_modules[0]]}"))
        return flags

    def _body(self, texts: Sequence[str]) -> list[str]:
        """The lines of the method `__call__`."""
        pattern = self._pattern
        uses = Counter(number for column in pattern.columns for number in column.reads)
        uses.update([pattern.result])
        # A copy without the piece still reads it.
        read_before = [self._is_read_before(piece) for piece in range(len(pattern.pieces))]
        uses.update(piece.through for piece, is_read in zip(pattern.pieces, read_before, strict=True) if is_read)
        variables, lines = Variables(self._arguments, uses), list[str]()
        for piece, group in groupby(range(len(self._columns)), lambda place: pattern.columns[place].piece):
            places, before = list(group), variables.names
            of_piece: list[str] = []
            for place in places:
                of_piece += self._lines(place, texts[place], variables)
            if piece is None:
                lines += of_piece
                continue
            number, through = pattern.pieces[piece].output, before[pattern.pieces[piece].through]
            output = variables.names[number]
            if through not in variables.names.values() and of_piece[-1].startswith(f"{output} = "):
                # The name is free again, so a copy without the piece needs no assignment.
                of_piece[-1] = f"{through}{of_piece[-1].removeprefix(output)}"
                output = variables.names[number] = through
            lines += [f"if self.{self._flag(places[0])}:", *(f"    {line}" for line in of_piece)]
            lines += [] if output == through else ["else:", f"    {output} = {through}"]
            if read_before[piece]:
                variables.read([pattern.pieces[piece].through])
        result = variables.names[pattern.result]
        if lines[-1].startswith(f"{result} = "):
            return [*lines[:-1], f"return {lines[-1].removeprefix(f'{result} = ')}"]
        return [*lines, f"return {result}"]

    def _is_read_before(self, piece: int) -> bool:
        """Whether all steps that read what replaces a piece come before the piece."""
        columns, through = self._pattern.columns, self._pattern.pieces[piece].through
        start = next(place for place, column in enumerate(columns) if column.piece == piece)
        return through != self._pattern.result and all(through not in column.reads for column in columns[start:])

    def _lines(self, place: int, text: str, variables: Variables) -> list[str]:
        column, first = self._pattern.columns[place], self._firsts[place]
        number = None if first.looped is None else column.reads[first.reads.index(first.looped)]
        unit = replace(
            first, text=text, comment=self._comment(place), reads=column.reads, writes=column.writes, looped=number
        )
        lines, _ = lines_of(unit, self._attributes[place], variables)
        return [str(line) for line in lines if not isinstance(line, Unchanged)]

    def _comment(self, place: int) -> str:
        # A comment may begin with the name of the layer, which differs between copies; the shape follows it.
        comments = {unit.comment.rpartition(": ")[2] for unit in self._columns[place] if unit is not None}
        return comments.pop() if len(comments) == 1 else ""

    def _name_attributes(self) -> list[str]:
        prefixes = [common_prefix([unit.name for unit in copy if unit and unit.name]) for copy in self._copies]
        attributes: list[str] = []
        for column, first in zip(self._columns, self._firsts, strict=True):
            kind = kind_of(first.modules.values(), first.kind)
            pairs = [(unit.name, prefix) for unit, prefix in zip(column, prefixes, strict=True) if unit is not None]
            names = [name.removeprefix(prefix) for name, prefix in pairs]
            name = attribute_name(names, kind) if all(names) else kind
            name = plural(name) if first.looped is not None else name
            attributes.append(self._names.of(name) if first.modules else name)
        return attributes

    def _assign_modules(self, place: int) -> list[str]:
        """The lines of the constructor for the modules of a unit, with holes."""
        units = [unit for unit in self._columns[place] if unit is not None]
        texts = {
            suffix: merge(
                [unit.modules[suffix] for unit in units], lambda label, values: self._hole(place, label, values)
            )
            for suffix in units[0].modules
        }
        return [f"self.{self._attributes[place]}{suffix} = {with_positions(text)}" for suffix, text in texts.items()]

    def _call(self, place: int) -> str:
        """The call of a unit, with holes."""
        units = [unit for unit in self._columns[place] if unit is not None]
        reads = self._pattern.columns[place].reads
        texts = [renumber(unit.text, dict(zip(unit.reads, reads, strict=True))) for unit in units]
        return merge(texts, lambda label, values: self._hole(place, label, values, in_call=True))

    def _hole(self, place: int, label: str, values: tuple[str, ...], *, in_call: bool = False) -> str:
        """The expression for a value that differs between the copies of a unit."""
        rest = iter(values)
        vector = tuple(None if unit is None else next(rest) for unit in self._columns[place])
        condition = self._condition(vector)
        if condition and not in_call:
            return condition
        candidates = [parameter for parameter in self._parameters if parameter.agrees(vector)]
        parameter = max(candidates, key=_count_equal(vector), default=None)
        if parameter is None:
            parameter = _Parameter(f"hole__{len(self._parameters)}__", vector)
            self._parameters.append(parameter)
        parameter.values = tuple(value or other for value, other in zip(parameter.values, vector, strict=True))
        parameter.uses.append((place, label, in_call))
        return parameter.hole

    def _condition(self, vector: Sequence[str | None]) -> str:
        """The conditional expression for a string that depends on a piece; "" if it depends on none."""
        for flag, presence in zip(self._flags, self._presences(), strict=True):
            pairs = {(has, value) for has, value in zip(presence, vector, strict=True) if value is not None}
            by_flag = dict(pairs)
            if len(pairs) == len(by_flag) == 2 and by_flag[True].startswith(("'", '"')):
                return f"{by_flag[True]} if {flag} else {by_flag[False]}"
        return ""

    def _name_parameters(self) -> None:
        constructors = [" ".join(unit.modules.values()) for unit in self._firsts]
        last = max((place for place, text in enumerate(constructors) if _OUTPUTS.search(text)), default=-1)
        inputs, has_hidden = set(self._pattern.inputs), False
        for parameter in self._parameters:
            uses = [
                (self._attributes[place], label, bool(inputs & {*self._pattern.columns[place].reads}), place == last)
                for place, label, _ in parameter.uses
            ]
            name = parameter_name(uses)
            if name.endswith("_features") and name not in ("in_features", "out_features") and not has_hidden:
                name, has_hidden = "hidden", True
            parameter.name = self._names.of(name)

    def _complete_widths(self) -> None:
        """Set the features of an input to its width in copies that do not need them: 0 would be wrong there."""
        for parameter in self._parameters:
            for widths in self._input_widths(parameter):
                if parameter.agrees(widths):
                    parameter.values = tuple(
                        value or width for value, width in zip(parameter.values, widths, strict=True)
                    )

    def _input_widths(self, parameter: _Parameter) -> Iterator[tuple[str | None, ...]]:
        """For each input whose features a parameter is, the width of the input in every copy; None if unknown."""
        places = [place for place, label, in_call in parameter.uses if label in INPUT_FEATURES and not in_call]
        for number in (number for place in places for number in self._pattern.columns[place].reads):
            if number in self._pattern.inputs:
                index = self._pattern.inputs.index(number)
                widths = [self._widths.get(occurrence.copy.inputs[index]) for occurrence in self._pattern.copies]
                yield tuple(None if width is None else str(width) for width in widths)


def _count_equal(vector: Sequence[str | None]) -> Callable[[_Parameter], int]:
    """A function that counts the copies in which a parameter has the value of a vector."""
    return lambda parameter: sum(
        value is not None and value == other for value, other in zip(vector, parameter.values, strict=True)
    )


def _fill_holes(text: str, names: Mapping[str, str]) -> str:
    for hole in sorted(names, key=len, reverse=True):
        text = text.replace(hole, names[hole])
    return text


def _type_of(values: Sequence[str | None]) -> str:
    kinds = {type(ast.literal_eval(value)).__name__ for value in values if value is not None}
    return "float" if kinds == {"int", "float"} else " | ".join(sorted(kinds))


def constructor_call(row: Sequence[str], class_name: str) -> str:
    """The call of the constructor for one copy."""
    return f"{class_name}({''.join(f'{value}, ' for value in row)}rngs=rngs)"


def list_call(block: Block, members: slice, class_name: str, add_table: Callable[[], str]) -> str:
    """The call that makes a list of copies."""
    rows = block.rows[members]
    if len({*rows}) == 1:
        return f"nnx.List({constructor_call(rows[0], class_name)} for _ in range({len(rows)}))"
    if len(block.parameters) == 1:
        (name,) = block.parameters
        return f"nnx.List({class_name}({name}, rngs=rngs) for {name} in {_sequence([row[0] for row in rows])})"
    return f"nnx.List({class_name}(*row, rngs=rngs) for row in {add_table()})"


def _sequence(values: Sequence[str]) -> str:
    """The text of a tuple of values, or of the range with the same values."""
    numbers: list[Any] = [ast.literal_eval(value) for value in values]
    if len(numbers) > 2 and all(type(number) is int for number in numbers):
        step = numbers[1] - numbers[0]
        if step and all(after - before == step for before, after in pairwise(numbers)):
            return f"range({numbers[0]}, {numbers[-1] + step}, {step})"
    return f"({''.join(f'{value}, ' for value in values)})"
