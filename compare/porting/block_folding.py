"""Folding: each repeat in a sequence of calls becomes one class, and its copies become a list with a loop."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from compare.porting.block_classes import Block, block_of, constructor_call, list_call
from compare.porting.block_names import block_class, common_name, plural
from compare.porting.block_search import find_block
from compare.porting.block_units import Unit, own, tensor
from compare.porting.identifiers import snake
from compare.porting.patterns import Pattern
from compare.porting.repeats import Copy, chained_input, common_prefix, last_reads_of, runs_of

AddClass = Callable[[str, str], str]
"""(the preferred name of a class, its text with `NAME` for the name) -> its name."""

AddTable = Callable[[str, str], str]
"""(the preferred name of a table, its rows) -> its name."""

_LEAST_OF_EQUAL = 3
"""How many equal layers in a row become a list with a loop."""

_MANY = 3
"""A tensor with so many readers, such as a mask, belongs to no single block."""


@dataclass(frozen=True)
class Classes:
    """The module that folding adds classes to.

    Attributes:
      add: adds a class.
      add_table: adds a table of arguments.
      model: the name of the model.
      inputs: the parameters of the model's call, by the numbers of tensors.
      comments: the shapes of tensors as comments, by number.
      widths: the sizes of the last axes of tensors, by number; None if unknown.
    """

    add: AddClass
    add_table: AddTable
    model: str
    inputs: Mapping[int, str]
    comments: Mapping[int, str]
    widths: Mapping[int, int | None]


def fold(units: Sequence[Unit], outputs: Sequence[int], classes: Classes) -> list[Unit]:
    """The units with blocks in place of repeats, and with blocks of blocks.

    Args:
      units: the units; each follows the units that it needs.
    """
    units = _by_branches(units, outputs)
    while True:
        steps = [unit.step() for unit in units]
        pattern = find_block(steps, outputs)
        if pattern is None:
            return _fold_equal_layers(units, outputs)
        units = _fold_copies(units, pattern, classes, last_reads_of(steps, outputs))


def _fold_equal_layers(units: Sequence[Unit], outputs: Sequence[int]) -> list[Unit]:
    """The units with one unit in place of each row of equal layers, each of which reads the one before."""
    last_reads = last_reads_of([unit.step() for unit in units], outputs)
    result = list[Unit]()
    for _, group in groupby(enumerate(units), lambda pair: _equal_key(*pair)):
        members = list(group)
        copies = [Copy(index, 1, tuple(dict.fromkeys(unit.reads)), unit.writes[0]) for index, unit in members]
        for run in runs_of(copies, last_reads):
            row = [units[copy.start] for copy in run]
            result += row if len(row) < _LEAST_OF_EQUAL else [_row_unit(row, run)]
    return result


def _equal_key(index: int, unit: Unit) -> object:
    """A value that is equal for layers with the same class and call; unique for what no row contains."""
    constructor = unit.modules.get("", "nnx.")
    is_layer = len(unit.modules) == len(unit.writes) == unit.text.count(own()) == 1 and unit.looped is None
    if unit.stands_alone or not is_layer or constructor.startswith(("nnx.", "jaxport.")):
        return index
    return constructor, unit.shape_text()


def _row_unit(row: Sequence[Unit], run: Sequence[Copy]) -> Unit:
    """The unit for a list of equal layers."""
    first, last = row[0], row[-1]
    chain = chained_input(run)
    assert chain is not None
    return Unit(
        name=common_name([unit.name for unit in row], ""),
        kind=plural(first.kind),
        modules={"": f"nnx.List({first.modules['']} for _ in range({len(row)}))"},
        text=first.text,
        comment=last.comment.rpartition(": ")[2],
        reads=first.reads,
        writes=last.writes,
        inner=tuple(((unit, ""),) for unit in row),
        looped=run[0].inputs[chain],
    )


def _by_branches(units: Sequence[Unit], outputs: Sequence[int]) -> list[Unit]:
    """The units branch by branch; Keras lists them by depth, which mixes branches."""
    makers = {number: unit for unit in units for number in unit.writes}
    reads = Counter(number for unit in units for number in {*unit.reads})
    ordering: dict[int, Unit] = {}
    # A tensor with many readers, such as a mask, comes before its first reader.
    starts = [unit for unit in units if any(reads[number] >= _MANY for number in unit.writes)]
    starts += [makers[number] for number in outputs if number in makers]
    stack = [*reversed([*starts, *units])]
    while stack:
        unit = stack[-1]
        missing = [makers[number] for number in unit.reads if number in makers and id(makers[number]) not in ordering]
        if missing and id(unit) not in ordering:
            stack += reversed(missing)
            continue
        ordering[id(unit)] = stack.pop()
    return list(ordering.values())


def _fold_copies(
    units: Sequence[Unit], pattern: Pattern, classes: Classes, last_reads: Mapping[int, int]
) -> list[Unit]:
    """The units with one unit in place of each list of copies."""
    copies = [occurrence.copy for occurrence in pattern.copies]
    segments = [units[copy.start : copy.stop] for copy in copies]
    block = block_of(units, pattern, classes.inputs, classes.widths)
    prefixes = [common_prefix([unit.name for unit in segment if unit.name]) for segment in segments]
    class_name = classes.add(block_class(prefixes, _role(segments, copies), classes.model), block.text)
    result, place, index = list[Unit](), 0, 0
    for run in runs_of(copies, last_reads):
        members = slice(index, index + len(run))
        result += units[place : run[0].start]
        result.append(_unit(block, class_name, run, members, prefixes[members], classes))
        place, index = run[-1].stop, index + len(run)
    return [*result, *units[place:]]


def _unit(
    block: Block, class_name: str, run: Sequence[Copy], members: slice, prefixes: Sequence[str], classes: Classes
) -> Unit:
    """The unit for a list of copies, or for a single copy."""
    kind, name = snake(class_name), common_name(prefixes, classes.model)
    call = f"{own()}({', '.join(map(tensor, run[0].inputs))})"
    comment = classes.comments.get(run[-1].result, "")
    rows, inner, ends = block.rows[members], block.units[members], (run[0].inputs, (run[-1].result,))
    if len(run) == 1:
        return Unit(name, kind, {"": constructor_call(rows[0], class_name)}, call, comment, *ends, inner=inner)
    chain = chained_input(run)
    assert chain is not None
    table = plural(kind).upper()
    constructor = list_call(block, members, class_name, lambda: classes.add_table(table, _table(block, rows)))
    number = run[0].inputs[chain]
    return Unit(name, plural(kind), {"": constructor}, call, comment, *ends, inner=inner, looped=number)


def _table(block: Block, rows: Sequence[Sequence[str]]) -> str:
    lines = "".join(f"({', '.join(row)}), " for row in rows)
    columns = textwrap.fill(f"{', '.join(block.parameters)}.", 114)
    return f'({lines})\n"""{columns}"""'


def _role(segments: Sequence[Sequence[Unit]], copies: Sequence[Copy]) -> str:
    """A word for the role of a block: Dense, Residual or Stage; "" if none of them fits."""
    texts = [
        unit.text
        for segment, copy in zip(segments, copies, strict=True)
        for unit in segment
        if len(unit.reads) > 1 and set(unit.reads) & set(copy.inputs)
    ]
    if any("concatenate" in text for text in texts):
        return "Dense"
    if texts:
        return "Residual"
    return "Stage" if any(unit.looped is not None for segment in segments for unit in segment) else ""
