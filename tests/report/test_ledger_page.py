"""The ledger on a console."""

from compare.record.ledger_part import NOT_CALLED, LedgerCall, LedgerCure, RecompilationLedger, SideLedger
from compare.report import terminal
from compare.report.ledger_page import did, effect, page, totals
from compare.report.page_console import print_page
from compare.report.page_html import render

SIDE = SideLedger(
    target="my.py:f", staged="jax.jit()", traces=2, compilations=2, seconds=0.5, failed=1, entries=1, grown_bytes=2048,
    calls=(
        LedgerCall("x=f32[2]", 1, 1, 0.3, 0.1, None, 0.2, why="first call"),
        LedgerCall("x=f32[2]", 0, 0, 0.001),
        LedgerCall("x=f32[3]", 1, 2, 0.2, why="x: [red]f32[2][/red] -> f32[3]", established=True),
        LedgerCall("x=f32[4]", error="ValueError: no\x1b[31m"),
        LedgerCall("x=f32[5]", error=NOT_CALLED),
    ),
    cures=(
        LedgerCure("largest", "padded", 1, 1, 0.1, 3, same_results=False, results="call 1: off"),
        LedgerCure("arrays", "arrays", refused="call 1: TypeError"),
    ),
)  # fmt: skip


def test_every_call_says_what_it_did() -> None:
    assert [did(call) for call in SIDE.calls] == [
        "traced, compiled", "hit", "traced, compiled 2 times", "failed", "not called"
    ]  # fmt: skip


def test_a_cure_that_changes_results_says_so() -> None:
    said = [effect(SIDE, cure) for cure in SIDE.cures]
    assert said[0].startswith("2 -> 1 traces, 2 -> 1 compilations") and "NOT the same results: call 1: off" in said[0]
    assert said[1] == "call 1: TypeError"


def test_totals_count_what_failed() -> None:
    assert totals(SIDE).startswith("5 calls, of which 1 failed, 2 traces, 2 compilations, 1 signature kept")


def test_a_page_has_every_call_and_escapes_what_it_shows() -> None:
    hostile = SideLedger(target="<script>", calls=(LedgerCall("x=<b>", 1, 1, 0.1, why="not known", established=False),))
    shown = render(page(RecompilationLedger("f", "a", "b", "c", {"jax": SIDE, "tf": hostile})))
    assert "<script>" not in shown and "x=&lt;b&gt;" in shown and '<td class="wrap warning">not known' in shown
    assert all(did(call) in shown for call in SIDE.calls) and "NOT the same results: call 1: off" in shown
    assert 'class="fail">failed' in shown and "\x1b" not in shown


def test_nothing_of_a_ledger_steers_a_terminal() -> None:
    console = terminal.console(width=200)
    ledger = RecompilationLedger("f", "a", "b", "c", {"jax": SIDE, "tf": SideLedger("t.py:f", error="no TF")})
    with console.capture() as captured:
        print_page(page(ledger), console)
    shown = captured.get()
    assert "a. b says: c" not in shown and "c says: b" in shown
    assert "[red]f32[2][/red]" in shown and "\x1b[31m" not in shown and "no TF" in shown
