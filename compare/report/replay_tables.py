"""A dump directory that was run again, module by module, on a terminal. From the record alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.record.replay_part import ReplayedDump, ReplayedModule
from compare.report import numbers
from compare.report.numbers import count_of
from compare.report.showable import on_lines
from compare.report.terminal import print_table

_COLUMNS = ("module", "function", "from", "read back", "compile", "run", "results", "optimized")
_NARROW_COLUMNS = ("module", "function", "compile", "run", "optimized")
"""What a terminal of 80 columns has room for."""
_NUMBERS = frozenset({"module", "compile", "run"})
_AFTER = "after_optimizations"


def print_dump(dump: ReplayedDump, console: Console) -> None:
    """A row a module, below it why one fails, and what of one could not be tried; at last how many fail."""
    safe = on_lines(dump)
    print_table(console, _table(safe, _COLUMNS), lambda: _table(safe, _NARROW_COLUMNS))
    for line in _lines(safe):
        console.print(Text(line), soft_wrap=True)


def headline(dump: ReplayedDump) -> str:
    """How many modules were run, and how many of them fail."""
    failing = sum(bool(module.failure) for module in dump.modules)
    sentence = f"{count_of(len(dump.modules), 'module')} run again on inputs of seed {dump.seed}"
    return f"{sentence}, {failing} failed" if failing else f"{sentence}, none failed"


def _table(dump: ReplayedDump, columns: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    for module in dump.modules:
        cells: dict[str, str] = dict(zip(_COLUMNS, _cells(module), strict=True))
        table.add_row(*(Text(cells[name]) for name in columns))
    return table


def _cells(module: ReplayedModule) -> tuple[str, ...]:
    read_back = {None: numbers.MISSING, True: "equal", False: "differs"}[module.read_back]
    times = (numbers.seconds(module.compile_s), numbers.seconds(module.run_s))
    identity = (numbers.count(module.number), module.function, module.framework or numbers.MISSING)
    return (*identity, read_back, *times, _results(module), _agreement(module))


def _results(module: ReplayedModule) -> str:
    if module.results is None:
        return "failed"
    if module.not_finite:
        return f"{module.not_finite} of {module.results} with NaN or inf"
    return f"{module.results} finite"


def _agreement(module: ReplayedModule) -> str:
    if module.optimized_agrees is None:
        return numbers.MISSING
    return f"{'agrees' if module.optimized_agrees else 'differs'}, {numbers.error(module.optimized_error)}"


def _lines(dump: ReplayedDump) -> Iterator[str]:
    for module in dump.modules:
        name = f"{module.number} {module.function}"
        if module.failure:
            yield f"failed: {name}: {module.failure}"
        if module.not_compared:
            yield f"not compared: {name}: {module.not_compared}"
        if module.stage == _AFTER:
            yield f"only its optimized module could be read: {name}"
    if any(module.not_finite for module in dump.modules):
        yield "NaN and infinities need be no error: the inputs were drawn, and a logarithm of one may be either"
    yield headline(dump)
