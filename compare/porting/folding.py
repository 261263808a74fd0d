"""A sequence of calls with each repeat in it as one class, and its copies as a list with a loop."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compare.porting.block_names import block_class, common_name, plural
from compare.porting.block_units import Unit, own, tensor
from compare.porting.blocks import Block, block_of, listed, made
from compare.porting.identifiers import snake
from compare.porting.repeats import Copy, chained_input, common_prefix, last_reads_of, runs_of
from compare.porting.variants import Pattern, find_block

AddClass = Callable[[str, str], str]
"""(the name that a class wants, its text with `NAME` for it) -> the name that it has."""

AddTable = Callable[[str, str], str]
"""(the name that a table wants, its rows) -> the name that it has."""

_MANY = 3
"""How often a tensor is read that is no matter of one block."""


@dataclass(frozen=True)
class Classes:
    """Where blocks are written to.

    Attributes:
      add: takes a class.
      add_table: takes a table of arguments.
      model: the name of the model.
      inputs: the parameters of its call, by the numbers of tensors.
      comments: the shapes of tensors, by number.
    """

    add: AddClass
    add_table: AddTable
    model: str
    inputs: Mapping[int, str]
    comments: Mapping[int, str]


def fold(units: Sequence[Unit], outputs: Sequence[int], classes: Classes) -> list[Unit]:
    """The units with blocks for what repeats, and with blocks of blocks.

    Args:
      units: each behind those that it needs.
      outputs: the tensors that are returned.
      classes: that blocks are written to.
    """
    folded = _by_branches(units, outputs)
    while True:
        steps = [unit.step() for unit in folded]
        pattern = find_block(steps, outputs)
        if pattern is None:
            return folded
        folded = _fold(folded, pattern, classes, last_reads_of(steps, outputs))


def _by_branches(units: Sequence[Unit], outputs: Sequence[int]) -> list[Unit]:
    """The units in an order in which those of one branch follow one another, where Keras goes from depth to depth."""
    makers = {number: unit for unit in units for number in unit.writes}
    reads = Counter(number for unit in units for number in {*unit.reads})
    ordered: dict[int, Unit] = {}
    # What many read, as a mask, stands before what first does.
    starts = [unit for unit in units if any(reads[number] >= _MANY for number in unit.writes)]
    starts += [makers[number] for number in outputs if number in makers]
    stack = [*reversed([*starts, *units])]
    while stack:
        unit = stack[-1]
        missing = [makers[number] for number in unit.reads if number in makers and id(makers[number]) not in ordered]
        if missing and id(unit) not in ordered:
            stack += reversed(missing)
            continue
        ordered[id(unit)] = stack.pop()
    return list(ordered.values())


def _fold(units: Sequence[Unit], pattern: Pattern, classes: Classes, last_reads: Mapping[int, int]) -> list[Unit]:
    """The units with the copies of a block folded."""
    copies = [placed.copy for placed in pattern.copies]
    segments = [units[copy.start : copy.stop] for copy in copies]
    block = block_of(units, pattern, classes.inputs)
    prefixes = [common_prefix([unit.name for unit in segment if unit.name]) for segment in segments]
    class_name = classes.add(block_class(prefixes, _does(segments, copies), classes.model), block.text)
    folded, place, index = list[Unit](), 0, 0
    for run in runs_of(copies, last_reads):
        its = slice(index, index + len(run))
        folded += units[place : run[0].start]
        folded.append(_unit(block, class_name, run, its, prefixes[its], classes))
        place, index = run[-1].stop, index + len(run)
    return [*folded, *units[place:]]


def _unit(
    block: Block, class_name: str, run: Sequence[Copy], its: slice, prefixes: Sequence[str], classes: Classes
) -> Unit:
    """The unit of copies that follow one another, or of one."""
    kind, name = snake(class_name), common_name(prefixes, classes.model)
    call = f"{own()}({', '.join(map(tensor, run[0].inputs))})"
    comment = classes.comments.get(run[-1].result, "")
    rows, inner, ends = block.rows[its], block.units[its], (run[0].inputs, (run[-1].result,))
    if len(run) == 1:
        return Unit(name, kind, {"": made(rows[0], class_name)}, call, comment, *ends, inner=inner)
    chain = chained_input(run)
    assert chain is not None
    table = plural(kind).upper()
    constructor = listed(block, its, class_name, lambda: classes.add_table(table, _table(block, rows)))
    looped = run[0].inputs[chain]
    return Unit(name, plural(kind), {"": constructor}, call, comment, *ends, inner=inner, looped=looped)


def _table(block: Block, rows: Sequence[Sequence[str]]) -> str:
    lines = "".join(f"({', '.join(row)}), " for row in rows)
    columns = textwrap.fill(f"{', '.join(block.parameters)}.", 114)
    return f'({lines})\n"""{columns}"""'


def _does(segments: Sequence[Sequence[Unit]], copies: Sequence[Copy]) -> str:
    """What a block does, in a word."""
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
