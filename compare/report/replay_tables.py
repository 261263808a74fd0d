"""A dump directory that was run again, module by module, on a terminal. From the record alone."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from compare.record.replay_part import ReplayedDump, ReplayedModule
from compare.report import numbers
from compare.report.numbers import count_of
from compare.report.page_console import print_lines, print_rows
from compare.report.pages import Column, Table
from compare.report.showable import on_lines

_COLUMNS = (
    *(Column("module", "number"), Column("function"), Column("from", room="wide"), Column("read back", room="wide")),
    *(Column("compile", "number"), Column("run", "number"), Column("results", room="wide"), Column("optimized")),
)
_AFTER = "after_optimizations"


def print_dump(dump: ReplayedDump, console: Console) -> None:
    """A row a module, below it why one fails, and what of one could not be tried; at last how many fail."""
    safe = on_lines(dump)
    rows = list(map(_cells, safe.modules))
    print_rows(Table(_COLUMNS, rows, most_on_console=len(rows)), console)
    print_lines(list(_lines(safe)), console)


def headline(dump: ReplayedDump) -> str:
    """How many modules were run, and how many of them fail."""
    failing = sum(bool(module.failure) for module in dump.modules)
    sentence = f"{count_of(len(dump.modules), 'module')} run again on inputs of seed {dump.seed}"
    return f"{sentence}, {failing} failed" if failing else f"{sentence}, none failed"


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
