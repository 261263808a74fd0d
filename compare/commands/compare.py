"""`jaxport history compare`: compare later runs with an earlier one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from compare.commands._arguments import add_history, add_json
from compare.commands._conclusion import Conclusion
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.history import moves, store
from compare.history.moves import Recurrence
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import numbers, terminal
from compare.report.changes import print_changes

HELP = Help(
    description="""\
Compare saved runs with a baseline: how each ratio changed. The first RUN is the baseline. A regression is confirmed
when every later run, of at least two, regressed: a single one may be chance. Runs on unlike machines, versions, thread
counts or inputs are refused, and every difference is named.

RUN is a number in the history, `last`, `last~1`, a results.json, or the folder of a report.
""",
    operands="BASELINE RUN ...",
    examples="""\
  jaxport history compare 1 2
  jaxport history compare last~2 last~1 last         confirmed only if both later runs regressed
  jaxport history compare old-report new-report newer-report
""",
    holds="no regression is confirmed",
    fails="a regression is confirmed, or no ratio could be compared",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("runs", nargs="+", metavar="RUN", help="the baseline, then one or more later runs")
    add_history(command)
    add_json(command, "the changes")


def main(options: argparse.Namespace) -> Conclusion:
    """Compare, print; the verdict."""
    if len(options.runs) < 2:
        raise RequestError("expected two runs or more, found one: name the baseline, then later runs")
    runs = [store.load(store.find(reference, options.history)) for reference in options.runs]
    return tell(moves.compare_all(runs), options.json)


def tell(changes: Sequence[Recurrence], as_json: bool) -> Conclusion:
    """Print how each ratio changed; the verdict."""
    terminal.print_answer(changes, as_json, lambda console: print_changes(changes, console))
    return conclude(changes)


def conclude(changes: Sequence[Recurrence]) -> Conclusion:
    """The verdict on all ratios: without one that was compared, nothing is known of regressions."""
    regressions, ratios = len(moves.select_confirmed(changes)), numbers.count_of(len(changes), "ratio")
    comparable = sum(any(change.verdict != moves.NOT_COMPARED for change in one.changes) for one in changes)
    if not comparable:
        return Conclusion(NOT_JUDGED, f"none of {ratios} could be compared")
    once = sum(one.verdict == moves.SEEN_ONCE for one in changes)
    notes = [f"{once} seen once: run again to confirm"] * bool(once)
    notes += [f"{len(changes) - comparable} not compared"] * (comparable < len(changes))
    summary = "; ".join([f"{numbers.count_of(regressions, 'confirmed regression')} in {ratios}", *notes])
    return Conclusion(FAIL if regressions else PASS, summary)
