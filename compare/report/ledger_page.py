"""The recompilation ledger as one page."""

from __future__ import annotations

from typing import Any

from compare.record.ledger_part import LedgerCall, LedgerCure, RecompilationLedger, SideLedger
from compare.report import ledger_tables, numbers
from compare.report.page_html import styles, templates
from compare.report.showable import printable


def ledger_page(ledger: RecompilationLedger) -> str:
    """The page; every string of the ledger is escaped."""
    safe = printable(ledger)
    return (
        templates()
        .get_template("ledger.html.j2")
        .render(
            ledger=safe,
            sides=[
                (
                    side,
                    side_ledger,
                    [_call(number, call) for number, call in enumerate(side_ledger.calls, start=1)],
                    [_cure(side_ledger, cure) for cure in side_ledger.cures],
                )
                for side, side_ledger in safe.sides.items()
            ],
            totals={side: ledger_tables.totals(side_ledger) for side, side_ledger in safe.sides.items()},
            once=ledger_tables.ONCE,
            style=styles("dump.css"),
        )
    )


def _call(number: int, call: LedgerCall) -> dict[str, Any]:
    return {
        "number": number,
        "arguments": call.call,
        "did": ledger_tables.did(call),
        "why": ledger_tables.why(call),
        "seconds": numbers.seconds(call.seconds),
        "parts": ledger_tables.parts(call),
        "failed": bool(call.error),
        "unknown": call.established is False,
    }


def _cure(side_ledger: SideLedger, cure: LedgerCure) -> dict[str, Any]:
    return {
        "name": cure.cure,
        "change": cure.change,
        "effect": ledger_tables.effect(side_ledger, cure),
        "warns": not cure.refused and not cure.same_results,
    }
