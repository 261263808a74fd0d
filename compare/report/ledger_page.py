"""The recompilation ledger as a page: call by call, then the totals, then what each cure changed. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from compare.record.ledger_part import NOT_CALLED, LedgerCall, LedgerCure, RecompilationLedger, SideLedger
from compare.report import numbers
from compare.report.pages import Cell, Column, Lines, Page, Section, Table

ONCE = "Seconds are one measurement on this machine as it was: compare counts, and seconds by their order of magnitude."
_CALLS = (
    *(Column("", "number"), Column("call", "code wrap"), Column("did"), Column("why", "wrap")),
    *(Column("seconds", "number"), Column("of these")),
)
_CURES = (Column("cure"), Column("what is changed", "wrap"), Column("effect", "wrap"))


def page(ledger: RecompilationLedger) -> Page:
    """Both sides of a ledger."""
    summary = f"{ledger.summary}. {ledger.source} says: {ledger.statement}"
    return Page(
        command="jaxport compilation recompiles",
        title=f"What {ledger.name} traces and compiles",
        summary=summary if ledger.summary else "",
        sections=[_section(side, side_ledger) for side, side_ledger in ledger.sides.items()],
        notes=[ONCE],
    )


def _section(side: str, side_ledger: SideLedger) -> Section:
    summary = f"{side_ledger.target}, {side_ledger.staged or 'not run'}"
    if side_ledger.error:
        return Section(side, summary, blocks=[Lines([side_ledger.error], "fail")])
    calls = [_call(number, call) for number, call in enumerate(side_ledger.calls, start=1)]
    cures = [_cure(side_ledger, cure) for cure in side_ledger.cures]
    blocks = (
        Table(_CALLS, calls, f"calls of {side}"),
        Lines([f"{totals(side_ledger)}."]),
        Table(_CURES, cures, f"cures of {side}"),
    )
    return Section(side, summary, blocks=blocks)


def _call(number: int, call: LedgerCall) -> list[Cell]:
    return [
        Cell(str(number)),
        Cell(call.call),
        Cell(did(call), "fail" if call.error else ""),
        Cell(call.error or call.why, "warning" if call.established is False else ""),
        Cell(numbers.seconds(call.seconds)),
        Cell(_parts(call)),
    ]


def _cure(side_ledger: SideLedger, cure: LedgerCure) -> list[Cell]:
    tone = "note" if cure.refused else "" if cure.same_results else "warning"
    return [Cell(cure.cure), Cell(cure.change), Cell(effect(side_ledger, cure), tone)]


def did(call: LedgerCall) -> str:
    """The effect of a call, in a few words."""
    if call.error:
        return "not called" if call.error == NOT_CALLED else "failed"
    parts = [_times("traced", call.traces or 0), _times("compiled", call.compilations or 0)]
    return ", ".join(filter(None, parts)) or "hit"


def _parts(call: LedgerCall) -> str:
    """Where the seconds of a call went."""
    phases = (("trace", call.trace_s), ("lower", call.lower_s), ("XLA", call.compile_s))
    return ", ".join(f"{name} {numbers.seconds(seconds)}" for name, seconds in phases if seconds)


def totals(side_ledger: SideLedger) -> str:
    """A side in one line."""
    return ", ".join(_totals(side_ledger))


def effect(side_ledger: SideLedger, cure: LedgerCure) -> str:
    """The effect of a cure, or why it did not apply."""
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
