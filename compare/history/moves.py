"""How far ratios moved between runs, and whether a regression was seen again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compare.bench.stats import LEAST_MARGIN, WIDEST_MARGIN, Interval
from compare.history import estimates
from compare.history.estimates import Estimate
from compare.history.likeness import differences, refuse_unlike
from compare.record.envelope import Record
from compare.record.results_file import RecordError
from compare.record.timing_part import Mode, Ratio, Timing
from compare.record.workload_part import Workload
from workloads.core.modes import BadName, Pair, parse_pair

IMPROVED = "improved"
REGRESSED = "regressed"
UNCHANGED = "unchanged"
INCONCLUSIVE = "inconclusive"
NOT_COMPARED = "not compared"

CONFIRMED = "regression confirmed"
SEEN_ONCE = "regressed, not confirmed"

BASELINE = 5
"""Runs that a baseline is made of at most: older ones tell of code that is long gone."""


@dataclass(frozen=True)
class Change:
    """How one ratio "A vs B" changed: `change` is the ratio after over the ratio before, above 1 A lost ground.

    Attributes:
      medians: seconds of A and of B before and after. Context only: seconds of two runs are not comparable, for
        the machine is never in the same state twice; a ratio was measured within one run.
      margin: the smallest relative difference that counts, the larger of both runs'.
      reason: why it was not compared.
    """

    workload: str
    ratio: str
    verdict: str
    before: float | None = None
    after: float | None = None
    change: float | None = None
    ci95: Interval | None = None
    margin: float | None = None
    reason: str = ""
    medians: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Recurrence:
    """One ratio of several later runs against one baseline; `baseline` holds the times of its runs.

    Attributes:
      verdict: "regression confirmed" where every later run, two or more, regressed; "regressed, not confirmed" where
        the last one did; else what the last change says.
      reason: why there is nothing to compare.
    """

    workload: str
    ratio: str
    verdict: str
    confirmed: bool
    baseline: tuple[str, ...]
    changes: tuple[Change, ...]
    reason: str = ""


def compare_all(runs: Sequence[Record]) -> tuple[Recurrence, ...]:
    """The first run against every later one: what `jaxport history compare RUN RUN [RUN ...]` shows.

    Ratios are compared and never seconds: a ratio was measured within one run, in the same minutes of the same
    machine, while seconds move from run to run with all that happens to it.

    A regression is confirmed when every later run, at least two of them, regressed. So two runs never confirm one:
    measure the new state once more.

    Raises:
      RecordError: fewer than two runs; or a later run is not of the same machine, versions, threads, sizes and inputs
        as the first: every key that differs is named with both values.
    """
    first, *later = runs
    if not later:
        raise RecordError("expected two runs or more to compare, found one: name a later run too")
    for run in later:
        refuse_unlike(first, run)
    names = [name for name in first.workloads if any(name in run.workloads for run in later)]
    return tuple(recurring(runs, name, ratio, len(later)) for name in names for ratio in ratio_names(runs, name))


def recurring(history: Sequence[Record], workload: str, ratio: str, later: int = 2) -> Recurrence:
    """Whether the last `later` runs all regressed against the baseline: the runs before them, five at most.

    One regression in a single run is reported and never confirmed: whatever else the machine did in those minutes
    reads the same. Runs that are unlike the last one are left out, and of the baseline those without the ratio too;
    a later run without it confirms nothing. With noise alone (pairs that spread by 4 %, eight of them), about one
    run in 150 reads as regressed and one history in 1,000 as confirmed, one in 10,000 and less with a baseline of
    three runs; a true slowdown of 10 % is confirmed 97 times in 100.

    Args:
      history: runs, oldest first.
      ratio: the name of a ratio, such as "jax/jit vs tf/jit".
      later: how many of the last runs are compared with the baseline.
    """
    alike = [run for run in history if workload in run.workloads and not differences(run, history[-1], [workload])]
    earlier, latest = alike[:-later], alike[-later:]
    usable = [run for run in earlier if isinstance(estimates.estimate(row_of(run, workload, ratio)), Estimate)]
    baseline = (usable or earlier)[-BASELINE:]
    changes = tuple(_change(baseline, run, workload, ratio) for run in latest) if baseline else ()
    is_confirmed = len(changes) == later >= 2 and all(change.verdict == REGRESSED for change in changes)
    verdict_text = _recurrence_verdict(changes, is_confirmed)
    reason = "" if baseline else f"expected {later + 1} comparable runs that measured it, found {len(alike)}"
    return Recurrence(workload, ratio, verdict_text, is_confirmed, tuple(map(_creation, baseline)), changes, reason)


def _recurrence_verdict(changes: Sequence[Change], is_confirmed: bool) -> str:
    if is_confirmed:
        return CONFIRMED
    last = changes[-1].verdict if changes else NOT_COMPARED
    return SEEN_ONCE if last == REGRESSED else last


def recurring_all(history: Sequence[Record]) -> tuple[Recurrence, ...]:
    """Every ratio of the last run, as `recurring` judges it."""
    last = history[-1]
    return tuple(recurring(history, name, ratio) for name in last.workloads for ratio in ratio_names([last], name))


def select_confirmed(recurrences: Sequence[Recurrence]) -> tuple[Recurrence, ...]:
    """The regressions that were seen again: the only ones that fail a command."""
    return tuple(recurrence for recurrence in recurrences if recurrence.confirmed)


def ratio_names(runs: Sequence[Record], workload: str) -> list[str]:
    """Ratios that any of the runs has, in the order in which they are met."""
    return list(dict.fromkeys(name for run in runs for name in _timing(run, workload).ratios))


def _change(baseline: Sequence[Record], after: Record, workload: str, ratio: str) -> Change:
    """One ratio against one baseline, of one run or pooled over several."""
    try:
        pair = parse_pair(ratio)
    except BadName as error:
        return Change(workload, ratio, NOT_COMPARED, reason=f"{error}: compare it with the jaxport that wrote it")
    medians = _medians(baseline[-1], after, workload, pair)
    old = [estimates.estimate(row_of(run, workload, ratio)) for run in baseline]
    new = estimates.estimate(row_of(after, workload, ratio))
    usable = [estimate for estimate in old if isinstance(estimate, Estimate)]
    if isinstance(new, str) or not usable:
        reasons = [
            f"{reason} {when}" for reason, when in ((old[-1], "before"), (new, "after")) if isinstance(reason, str)
        ]
        return Change(workload, ratio, NOT_COMPARED, reason="; ".join(reasons), medians=medians)
    base = estimates.pool(usable)
    move = estimates.difference(new, base)
    margin = max(_margin(run, workload) for run in (*baseline, after))
    return Change(
        workload=workload,
        ratio=ratio,
        verdict=verdict(move, margin),
        before=estimates.factor(base.log),
        after=estimates.factor(new.log),
        change=estimates.factor(move.log),
        ci95=move.interval(0.95),
        margin=margin,
        medians=medians,
    )


def verdict(move: Estimate, margin: float) -> str:
    """The verdict on a change.

    Unchanged: its 90 % interval lies inside (1 / (1 + margin), 1 + margin), two one-sided tests at 5 % (Schuirmann
    1987, https://doi.org/10.1007/BF01068419), where the margin is at most `WIDEST_MARGIN`. Improved or regressed:
    its 95 % interval lies on one side of 1, and the change itself is larger than the margin: identical code may
    come out that far apart. Else inconclusive.
    """
    inside = 1 / (1 + margin), 1 + margin
    low, high = move.interval(0.90)
    if inside[0] < low and high < inside[1]:
        return UNCHANGED if margin <= WIDEST_MARGIN else INCONCLUSIVE
    low, high = move.interval(0.95)
    change = estimates.factor(move.log)
    if high < 1 and change < inside[0]:
        return IMPROVED
    return REGRESSED if low > 1 and change > inside[1] else INCONCLUSIVE


def row_of(run: Record, workload: str, ratio: str) -> Ratio | None:
    """The ratio of a run; None where it is missing or null."""
    row = _timing(run, workload).ratios.get(ratio)
    return None if row == Ratio() else row


def _timing(run: Record, workload: str) -> Timing:
    return (run.workloads.get(workload) or Workload()).timing or Timing()


def _margin(run: Record, workload: str) -> float:
    margin = _timing(run, workload).margin
    # Without one, too few pairs were timed to say how far identical code comes out from itself.
    return max(LEAST_MARGIN, margin) if margin is not None and math.isfinite(margin) else math.inf


def _medians(before: Record, after: Record, workload: str, pair: Pair) -> dict[str, tuple[float | None, float | None]]:
    first, later = (_timing(run, workload).modes for run in (before, after))
    names = (str(pair.left), str(pair.right))
    return {name: (first.get(name, Mode()).median_s, later.get(name, Mode()).median_s) for name in names}


def _creation(run: Record) -> str:
    return run.created or "at an unknown time"
