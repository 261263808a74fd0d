"""The recompilation ledger on a console: call by call, then the totals, then what each cure changed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from compare.record.ledger_part import NOT_CALLED, LedgerCall, LedgerCure, RecompilationLedger, SideLedger
from compare.report import numbers
from compare.report.terminal import cell, print_table

ONCE = "Seconds are one measurement on this machine as it was: compare counts, and seconds by their order of magnitude."


def print_ledger(ledger: RecompilationLedger, console: Console) -> None:
    """Print a ledger."""
    if ledger.summary:
        console.print(Text(f"{ledger.name}: {ledger.summary}", style="bold"), soft_wrap=True)
        console.print(Text(f"{ledger.source} says: {ledger.statement}"), soft_wrap=True)
        console.print()
    for side, side_ledger in ledger.sides.items():
        console.print(
            Text(f"{side}: {side_ledger.target}, {side_ledger.staged or 'not run'}", style="bold"), soft_wrap=True
        )
        if side_ledger.error:
            console.print(Padding(Text(side_ledger.error, style="red"), (0, 0, 1, 2)))
            continue
        print_table(console, _calls(side_ledger))
        console.print(Text(f"  {totals(side_ledger)}"), soft_wrap=True)
        if side_ledger.cures:
            console.print()
            print_table(console, _cures(side_ledger))
        console.print()
    console.print(Text(ONCE, style="dim"), soft_wrap=True)


def did(call: LedgerCall) -> str:
    """What a call did, in a few words."""
    if call.error:
        return "not called" if call.error == NOT_CALLED else "failed"
    parts = [_times("traced", call.traces or 0), _times("compiled", call.compilations or 0)]
    return ", ".join(filter(None, parts)) or "hit"


def why(call: LedgerCall) -> str:
    """What made it trace or compile, or why it failed."""
    return call.error or call.why


def parts(call: LedgerCall) -> str:
    """Where the seconds of a call went."""
    phases = (("trace", call.trace_s), ("lower", call.lower_s), ("XLA", call.compile_s))
    return ", ".join(f"{name} {numbers.seconds(seconds)}" for name, seconds in phases if seconds)


def totals(side_ledger: SideLedger) -> str:
    """A side in one line."""
    return ", ".join(_totals(side_ledger))


def effect(side_ledger: SideLedger, cure: LedgerCure) -> str:
    """What a cure changed, or why it did not apply."""
    if cure.refused:
        return cure.refused
    counts = (
        f"{side_ledger.traces} -> {cure.traces} traces, "
        f"{side_ledger.compilations} -> {cure.compilations} compilations, "
        f"{numbers.seconds(side_ledger.seconds)} -> {numbers.seconds(cure.seconds)}"
    )
    if cure.same_results is None:
        return f"{counts}; results {cure.results}"
    return counts if cure.same_results else f"{counts}; NOT the same results: {cure.results}"


def _totals(side_ledger: SideLedger) -> Iterator[str]:
    yield numbers.count_of(len(side_ledger.calls), "call")
    if side_ledger.failed:
        yield f"of which {side_ledger.failed} failed"
    yield numbers.count_of(side_ledger.traces, "trace")
    yield numbers.count_of(side_ledger.compilations, "compilation")
    if side_ledger.entries is not None:
        yield f"{numbers.count_of(side_ledger.entries, 'signature')} kept"
    yield numbers.seconds(side_ledger.seconds)
    if side_ledger.grown_bytes is not None:
        yield f"the process {numbers.binary_bytes(max(0, side_ledger.grown_bytes))} larger than after the first call"


def _times(what: str, count: int) -> str:
    return "" if not count else what if count == 1 else f"{what} {count} times"


def _calls(side_ledger: SideLedger) -> Table:
    table = Table(
        Column("", justify="right"), Column("call", overflow="fold"), Column("did", no_wrap=True), "why",
        Column("seconds", justify="right", no_wrap=True), "of these", box=None, pad_edge=False,
    )  # fmt: skip
    for number, call in enumerate(side_ledger.calls, start=1):
        cells = (f"  {number}", call.call, did(call), why(call), numbers.seconds(call.seconds), parts(call))
        style = "red" if call.error else "yellow" if call.established is False else None
        table.add_row(*map(cell, cells), style=style)
    return table


def _cures(side_ledger: SideLedger) -> Table:
    table = Table(Column("  cure", no_wrap=True), "what is changed", "effect", box=None, pad_edge=False)
    for cure in side_ledger.cures:
        style = "dim" if cure.refused else None if cure.same_results else "yellow"
        table.add_row(*map(cell, (f"  {cure.cure}", cure.change, effect(side_ledger, cure))), style=style)
    return table
