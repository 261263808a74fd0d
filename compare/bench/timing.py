"""The timing part of the record: times of every mode, and the ratios that may be stated."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.bench import power, reasons, stats
from compare.bench.stats import Interval, Rounds
from compare.bench.threads import Threads
from compare.record.vocabulary import CELLS

Samples = Mapping[str, Rounds]
"""Seconds by arm, pair and round: arms run in the same pairs, and are empty in one where they failed."""

PORTS = ("jax/jit", "jax/donated", "jax/tuned")
PEER_MARGIN = 0.10
"""How much slower the same mode came out in a process that ran nothing else: 7 to 10 %."""

WITHIN = (("jax/jit", "jax/eager"), ("tf/jit", "tf/eager"), ("jax/tuned", "jax/jit"))
"""Ratios inside one side: what compiling gained there, and what the port's compiler options did."""


@dataclass(frozen=True)
class Phases:
    """What it cost to get to the steady state, and the page faults of a call there. None: nobody tells."""

    first_call_s: float | None = None
    trace_s: float | None = None
    lower_s: float | None = None
    compile_s: float | None = None
    peak_rss_bytes: int | None = None
    page_faults: float | None = None


@dataclass(frozen=True)
class ModeTiming:
    """One mode: the median over pairs of the medians over rounds, and its phases."""

    median_s: float
    first_call_s: float | None
    trace_s: float | None
    lower_s: float | None
    compile_s: float | None
    peak_rss_bytes: int | None
    page_faults: float | None


@dataclass(frozen=True)
class CellTiming:
    """One program@compiler, executed bare."""

    median_s: float


@dataclass(frozen=True)
class RatioTiming:
    """time(A) / time(B) of "A vs B", and what may be said of A. `withheld` says why there is none.

    `rounds` counts those of all pairs. `note` qualifies a ratio that is given.
    """

    pairs: int
    rounds: int
    ratio: float | None = None
    ci95: Interval | None = None
    ci99: Interval | None = None
    verdict: str = stats.INCONCLUSIVE
    between_pair_share: float | None = None
    withheld: str = ""
    note: str = ""


@dataclass(frozen=True)
class Planted:
    """An arm that is a mode slowed by a known part: what the verdict says of it shows what it can see.

    `against` is the arm of the same mode, not slowed, in the other process.
    """

    arm: str
    mode: str
    against: str
    slowdown: float

    @property
    def name(self) -> str:
        """ "jax/jit +5 %"."""
        return f"{self.mode} +{self.slowdown:.0%}".replace("%", " %")


@dataclass(frozen=True)
class Power:
    """What this run can see. `smallest`: by mode, the slowdown called slower 95 times in 100, as its null shows;
    None where no slowdown of a factor below 100 is."""

    planted: Mapping[str, RatioTiming]
    smallest: Mapping[str, float | None]


@dataclass(frozen=True)
class Timing:
    """`timing` of a workload's record. `margin` is the relative difference too small to be told."""

    modes: Mapping[str, ModeTiming]
    cells: Mapping[str, CellTiming]
    ratios: Mapping[str, RatioTiming]
    null: Mapping[str, RatioTiming]
    margin: float
    power: Power
    threads: Threads | None = None
    """As they were verified; None where they were left to the frameworks."""


def summarise(
    samples: Samples,
    phases: Mapping[str, Phases],
    nulls: Mapping[str, str],
    planted: Sequence[Planted] = (),
    doubt: str = "",
    threads: Threads | None = None,
) -> Timing:
    """Judge what was measured.

    Args:
      samples: what `samples_of` gives.
      phases: by mode.
      nulls: by mode, the arm that ran identical code in a second process. Where one does not come
        out equal to its mode, or is missing, no ratio is given.
      planted: arms with a slowdown of known size, each held against its mode.
      doubt: why no ratio of this run can be trusted, whatever the nulls say.
      threads: as they were verified.
    """
    timed = {arm: pairs for arm, pairs in samples.items() if any(pairs)}
    helping = {*nulls.values(), *(each.arm for each in planted)}
    medians = {arm: median(pairs) for arm, pairs in timed.items() if arm not in helping}
    held = {arm: paired(timed, arm, twin) for arm, twin in nulls.items() if arm in timed}
    margin = stats.equivalence_margin([null for null in held.values() if null is not None])
    doubt = doubt or next(_doubts(held), "")
    return Timing(
        modes={arm: _mode(median, phases.get(arm, Phases())) for arm, median in medians.items() if arm not in CELLS},
        cells={arm: CellTiming(median) for arm, median in medians.items() if arm in CELLS},
        ratios={f"{a} vs {b}": _ratio(timed, a, b, doubt, margin) for a, b in _wanted(list(medians))},
        null={f"{arm} vs itself": _null(arm, null, margin) for arm, null in held.items()},
        margin=margin,
        power=Power(
            planted={each.name: _slowed(timed, each, margin) for each in planted if each.arm in timed},
            smallest={arm: _smallest(null, margin) for arm, null in held.items() if null is not None},
        ),
        threads=threads,
    )


def paired(samples: Samples, a: str, b: str) -> stats.Ratio | None:
    """The ratio of two arms over the pairs in which both ran; None where there is none."""
    ones, others = _shared(samples, a, b) if a in samples and b in samples else ([], [])
    return stats.ratio(ones, others) if ones else None


def median(pairs: Rounds) -> float:
    """Seconds of a call: the median over pairs of the medians over rounds."""
    return statistics.median(statistics.median(rounds) for rounds in pairs if rounds)


def _mode(median: float, phases: Phases) -> ModeTiming:
    return ModeTiming(median, **vars(phases))


def _wanted(arms: list[str]) -> Iterator[tuple[str, str]]:
    """Every compiled JAX mode against every mode that is not JAX's, then each compiled mode against its eager one."""
    for port in PORTS:
        yield from ((port, arm) for arm in arms if port in arms and not arm.startswith("jax/") and arm not in CELLS)
    yield from ((a, b) for a, b in WITHIN if a in arms and b in arms)


def _shared(timed: Samples, a: str, b: str) -> tuple[Rounds, Rounds]:
    """The pairs in which both arms ran."""
    both = [(one, other) for one, other in zip(timed[a], timed[b], strict=True) if one and other]
    return [one for one, _ in both], [other for _, other in both]


def _doubts(held: Mapping[str, stats.Ratio | None]) -> Iterator[str]:
    """Why the ratios of this run cannot be trusted."""
    for arm, null in held.items():
        if null is None:
            yield reasons.null_missing(arm)
        elif not null.ci99[0] <= 1 <= null.ci99[1]:
            yield reasons.null_missed(arm, null)


def ratio_of(samples: Samples, a: str, b: str, doubt: str, margin: float) -> RatioTiming:
    """The ratio of two arms, withheld where there is a doubt or no pair in which both ran."""
    ones, others = _shared(samples, a, b) if a in samples and b in samples else ([], [])
    if doubt or not ones:
        withheld = doubt or reasons.never_together(a, b)
        return RatioTiming(len(ones), sum(len(rounds) for rounds in ones), withheld=withheld)
    return _stated(stats.ratio(ones, others), margin)


def _ratio(timed: Samples, a: str, b: str, doubt: str, margin: float) -> RatioTiming:
    found = None if doubt or b.startswith(("tf/", "jax/")) else paired(timed, a, b)
    if found is None:
        return ratio_of(timed, a, b, doubt, margin)
    said = stats.verdict(found, max(margin, PEER_MARGIN), least=PEER_MARGIN)
    return dataclasses.replace(_stated(found, margin), verdict=said, note=reasons.PEER)


def _slowed(timed: Samples, planted: Planted, margin: float) -> RatioTiming:
    found = paired(timed, planted.arm, planted.against)
    if found is None:
        return RatioTiming(0, 0, withheld=reasons.never_together(planted.name, planted.against))
    return _stated(found, margin)


def _smallest(null: stats.Ratio, margin: float) -> float | None:
    if null.standard_error is None:
        return None
    return power.smallest_slowdown(null.standard_error, null.pairs, margin)


def _null(arm: str, null: stats.Ratio | None, margin: float) -> RatioTiming:
    return RatioTiming(0, 0, withheld=reasons.null_missing(arm)) if null is None else _stated(null, margin)


def _stated(found: stats.Ratio, margin: float) -> RatioTiming:
    return RatioTiming(
        pairs=found.pairs,
        rounds=found.rounds,
        ratio=found.ratio,
        ci95=found.ci95,
        ci99=found.ci99,
        verdict=stats.verdict(found, margin),
        between_pair_share=found.between_pair_share,
        note=reasons.FEW_PAIRS if found.pairs < stats.LEAST_PAIRS else "",
    )
