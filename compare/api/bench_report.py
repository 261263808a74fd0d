"""The result of `jaxport.bench`: the gates, the times, their ratios, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.api.check_report import CheckReport, report_of
from compare.explaining.sentences import Commands
from compare.explaining.speed_up import Explanation, explain
from compare.plain_json import to_json
from compare.record.envelope import Record
from compare.record.timing_part import Ratio, Timing
from compare.report import numbers, table_page, tables, verdicts
from compare.report.pages import Table, columns
from compare.report.showable import one_line, printable
from compare.report.table_page import Display
from workloads.core.modes import PORT


@dataclass(frozen=True)
class TimeRatio:
    """Time of one mode over that of another.

    Attributes:
      ratio: below 1 the first is faster; None where it is withheld.
      interval: the 95 % interval; None with fewer than five pairs of processes.
      verdict: "faster", "slower", "equivalent" or "inconclusive"; "" where there is no ratio.
      withheld: why there is none; "" where there is one.
    """

    ratio: float | None
    interval: tuple[float, float] | None
    verdict: str
    withheld: str


@dataclass(frozen=True, repr=False)
class BenchReport(Display):
    """How fast a port is, once it is proved. A notebook shows it as HTML; as text it is what the command line prints.

    Attributes:
      parity: what `jaxport.check` finds: a port that fails is not timed.
      times: by mode, seconds of a call.
      ratios: by "A vs B", time of A over time of B.
      fastest: the fastest mode of TensorFlow; "" where none was timed.
      ratio: time of the port in "jax/jit" over that of `fastest`; None where none was timed.
      headline: the same in a sentence.
      reasons: what takes the time, in sentences that each state a measurement; what takes most of a call comes first.
      record: the same and all that it rests on, as results.json has it (docs/results.md).
    """

    parity: CheckReport
    times: Mapping[str, float]
    ratios: Mapping[str, TimeRatio]
    fastest: str
    ratio: TimeRatio | None
    headline: str
    reasons: Sequence[str]
    record: Mapping[str, object]
    _text: str
    _html: str

    @property
    def passed(self) -> bool:
        """Whether every gate holds and no result is missing, however slow the port is."""
        return self.parity.passed


def bench_report(record: Record) -> BenchReport:
    """The report of a record of one workload that was timed, or failed before."""
    ((name, part),) = printable(record).workloads.items()
    timing = part.timing or Timing()
    explanation = explain(record, name, Commands("", "results.json"))
    best = tables.against_best(part)
    fastest = str(best.pair.right) if best and best.pair else ""
    medians = {mode: tables.median(timing, mode) for mode in tables.order_modes(timing.modes)}
    further_lines = [
        explanation.headline,
        *(f"{number}. {reason}." for number, reason in enumerate(_reasons(explanation), 1)),
    ]
    lines, parity = (*verdicts.complaints(name, part), *further_lines), report_of(record, further=further_lines)
    times = {mode: seconds for mode, seconds in medians.items() if seconds is not None}
    return BenchReport(
        parity=parity,
        times=times,
        ratios={pair: _ratio(ratio) for pair, ratio in timing.ratios.items()},
        fastest=fastest,
        ratio=_ratio(timing.ratios[best.name]) if best else None,
        headline=one_line(explanation.headline),
        reasons=_reasons(explanation),
        record=to_json(record),
        _text=str(parity),
        _html=table_page.render(name, parity.verdict, _table(times, timing), lines),
    )


def _reasons(explanation: Explanation) -> tuple[str, ...]:
    return tuple(one_line(sentence.text) for sentence in explanation.sentences)


def _ratio(ratio: Ratio) -> TimeRatio:
    low, high = (numbers.finite(end) for end in ratio.ci95 or (None, None))
    interval = None if low is None or high is None else (low, high)
    return TimeRatio(numbers.finite(ratio.ratio), interval, ratio.verdict, ratio.withheld)


def _table(times: Mapping[str, float], timing: Timing) -> Table:
    """Each mode with its time, and how long the port takes beside it."""
    rows = [(mode, numbers.seconds(seconds), _beside(timing, mode)) for mode, seconds in times.items()]
    return Table(columns("mode", "a call", f"time of {PORT} over it"), rows)


def _beside(timing: Timing, mode: str) -> str:
    ratio = next((ratio for name, ratio in timing.ratios.items() if name == f"{PORT} vs {mode}"), None)
    if ratio is None:
        return ""
    row = tables.ratio_row(f"{PORT} vs {mode}", ratio)
    return f"withheld: {row.withheld}" if row.withheld else f"{row.ratio} {row.interval} {row.verdict}"
