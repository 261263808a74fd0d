"""The timing part of the record: times of every mode, and the ratios that may be stated."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from compare.bench import power, reasons, stats
from compare.bench.pairs import Name, same_rounds
from compare.bench.stats import Rounds
from compare.record import timing_part
from compare.record.timing_part import CellTime, Power, Ratio, Threads, Timing
from workloads.core.modes import (
    CELL_PAIRS,
    COMPILED_PORTS,
    IN_OTHER_PROCESSES,
    JAX_APART,
    JAX_EAGER,
    JAX_JIT,
    JAX_TUNED,
    TF_APART,
    TF_AUTOCLUSTER,
    TF_EAGER,
    TF_GRAPH,
    TF_HANDWRITTEN,
    TF_JIT,
    TF_KERAS,
    TF_KERAS_GRAPH,
    TF_KERAS_STEPS,
    Arm,
    Cell,
    CellPair,
    Mode,
    Pair,
)

Samples = Mapping[Arm, Rounds]
"""Seconds by arm, pair and round: arms run in the same pairs, and are empty in one where they failed."""

SLOWDOWNS = {1: 0.05, 2: 0.10}
"""By copy of a side's process, the slowdown that is planted there: each has one, so that the copies stay alike."""

PEER_MARGIN = 0.10
"""How much slower the same mode came out in a process that ran nothing else: 7 to 10 %."""

WITHIN = (
    Pair(JAX_JIT, JAX_EAGER),
    Pair(JAX_TUNED, JAX_JIT),
    *(Pair(elsewhere, JAX_JIT) for elsewhere in IN_OTHER_PROCESSES),
    Pair(TF_GRAPH, TF_EAGER),
    Pair(TF_JIT, TF_EAGER),
    *(Pair(compiled, TF_GRAPH) for compiled in (TF_AUTOCLUSTER, TF_JIT, TF_KERAS)),
    Pair(TF_JIT, TF_APART),
    Pair(JAX_JIT, JAX_APART),
    Pair(TF_KERAS, TF_KERAS_GRAPH),
    Pair(TF_KERAS_STEPS, TF_KERAS),
    *(Pair(mode, TF_HANDWRITTEN) for mode in (TF_GRAPH, TF_JIT)),
)
"""Ratios inside one side: what compiling gains there, and what the port's compiler options do."""


@dataclass(frozen=True)
class Planted:
    """An arm with a slowdown of known size: what the verdict says of it shows what a run can detect.

    `against` is the arm of the same mode, not slowed, in the other process.
    """

    arm: Arm
    against: Arm

    @property
    def name(self) -> str:
        """The name in the record: "jax/jit +5 %"."""
        return planted_name(self.arm)


def itself(arm: Arm) -> str:
    """How the record names the A/A control of an arm."""
    return f"{arm} vs itself"


def percent(slowdown: float) -> str:
    """Text of a slowdown: "+5 %" of 0.05."""
    return f"+{slowdown * 100:.0f} %"


def planted_name(arm: Arm) -> str:
    """How the record names an arm with a planted slowdown, whichever process it ran in: "jax/jit +5 %"."""
    return f"{arm.code} {percent(arm.slowdown)}"


def summarise(
    samples: Samples,
    phases: Mapping[Arm, timing_part.Mode],
    nulls: Mapping[Arm, Arm],
    slowdowns: Sequence[Planted] = (),
    doubt: str = "",
    threads: Threads | None = None,
) -> Timing:
    """Judge what was measured.

    Args:
      phases: by arm of a mode, its times other than the median.
      nulls: by arm of a mode, the arm that ran identical code in a second process. Where one does not come
        out equal to the other, or is missing, no ratio is given.
      doubt: why no ratio of this run can be trusted, whatever the nulls say.
    """
    rounds_by_arm = {arm: pairs for arm, pairs in samples.items() if any(pairs)}
    medians = {arm: median(pairs) for arm, pairs in rounds_by_arm.items() if arm.is_public}
    nulls_by_arm = {arm: pair_ratio(rounds_by_arm, arm, twin) for arm, twin in nulls.items() if arm in rounds_by_arm}
    margin = stats.equivalence_margin([null for null in nulls_by_arm.values() if null is not None])
    doubt = doubt or next(_doubts(nulls_by_arm), "")
    return Timing(
        modes={
            str(arm): msgspec.structs.replace(phases.get(arm, timing_part.Mode()), median_s=median)
            for arm, median in medians.items()
            if isinstance(arm.code, Mode)
        },
        cells={str(arm): CellTime(median) for arm, median in medians.items() if isinstance(arm.code, Cell)},
        ratios={str(pair): _ratio(rounds_by_arm, pair, doubt, margin) for pair in _pairs_of_interest(medians)},
        program_ratios={
            str(pair): _ratio(rounds_by_arm, pair, doubt, margin) for pair in CELL_PAIRS if _ran(rounds_by_arm, pair)
        },
        null={itself(arm): _null(arm, null, margin) for arm, null in nulls_by_arm.items()},
        margin=margin,
        power=Power(
            planted={
                slowdown.name: _slowdown_ratio(rounds_by_arm, slowdown, margin)
                for slowdown in slowdowns
                if slowdown.arm in rounds_by_arm
            },
            smallest={str(arm): _smallest(null, margin) for arm, null in nulls_by_arm.items() if null is not None},
        ),
        threads=threads,
    )


def pair_ratio(samples: Mapping[Name, Rounds], a: Name, b: Name) -> stats.Ratio | None:
    """The ratio of two arms over the pairs in which both ran; None where there is none.

    Args:
      samples: seconds by arm, pair and round.
      b: the arm whose time it is divided by.
    """
    ones, others = _rounds_of_both(samples, a, b) if a in samples and b in samples else ([], [])
    return stats.ratio(ones, others) if ones else None


def median(pairs: Rounds) -> float:
    """Seconds of a call: the median over pairs of the medians over rounds."""
    return statistics.median(statistics.median(rounds) for rounds in pairs if rounds)


def _pairs_of_interest(arms: Iterable[Arm]) -> Iterator[Pair]:
    """Every compiled JAX mode against every mode that is not JAX's, then those inside one side."""
    modes = [arm.code for arm in arms if isinstance(arm.code, Mode)]
    for port in COMPILED_PORTS:
        yield from (Pair(port, mode) for mode in modes if port in modes and not mode.is_port)
    yield from (pair for pair in WITHIN if pair.left in modes and pair.right in modes)


def _rounds_of_both(samples: Mapping[Name, Rounds], a: Name, b: Name) -> tuple[Rounds, Rounds]:
    """The rounds in which both arms ran, of the pairs in which they did."""
    both = [same_rounds(one, other) for one, other in zip(samples[a], samples[b], strict=True) if one and other]
    return [one for one, _ in both], [other for _, other in both]


def _doubts(nulls_by_arm: Mapping[Arm, stats.Ratio | None]) -> Iterator[str]:
    """Why the ratios of this run cannot be trusted."""
    for arm, null in nulls_by_arm.items():
        if null is None:
            yield reasons.null_missing(str(arm))
        elif interval := stats.excluding_one(null):
            yield reasons.null_missed(str(arm), null.ratio, interval)


def ratio_of(samples: Mapping[Name, Rounds], a: Name, b: Name, doubt: str, margin: float) -> Ratio:
    """The ratio of two arms, withheld where there is a doubt or no pair in which both ran.

    Args:
      samples: seconds by arm, pair and round.
      b: the arm whose time it is divided by.
      doubt: why no ratio can be trusted; empty where nothing speaks against it.
      margin: the relative difference within which two arms are equivalent.
    """
    ones, others = _rounds_of_both(samples, a, b) if a in samples and b in samples else ([], [])
    if doubt or not ones:
        reason = doubt or reasons.never_together(str(a), str(b))
        return _withhold(reason, len(ones), sum(len(rounds) for rounds in ones))
    return _as_ratio(stats.ratio(ones, others), margin)


def _ran(samples: Samples, pair: CellPair) -> bool:
    return all(Arm(cell) in samples for cell in (pair.left, pair.right))


def _ratio(samples: Samples, pair: Pair | CellPair, doubt: str, margin: float) -> Ratio:
    a, b = Arm(pair.left), Arm(pair.right)
    if isinstance(pair, CellPair):
        return ratio_of(samples, a, b, doubt, margin)
    estimate = pair_ratio(samples, a, b) if pair.right.is_peer and not doubt else None
    if estimate is None:
        return ratio_of(samples, a, b, doubt, margin)
    verdict = stats.verdict(estimate, max(margin, PEER_MARGIN), least=PEER_MARGIN)
    return msgspec.structs.replace(_as_ratio(estimate, margin), verdict=verdict, note=reasons.PEER)


def _slowdown_ratio(samples: Samples, slowdown: Planted, margin: float) -> Ratio:
    estimate = pair_ratio(samples, slowdown.arm, slowdown.against)
    if estimate is None:
        return _withhold(reasons.never_together(slowdown.name, str(slowdown.against)))
    return _as_ratio(estimate, margin)


def _smallest(null: stats.Ratio, margin: float) -> float | None:
    if null.standard_error is None:
        return None
    return power.smallest_slowdown(null.standard_error, null.pairs, margin)


def _null(arm: Arm, null: stats.Ratio | None, margin: float) -> Ratio:
    return _withhold(reasons.null_missing(str(arm))) if null is None else _as_ratio(null, margin)


def _as_ratio(estimate: stats.Ratio, margin: float) -> Ratio:
    return Ratio(
        pairs=estimate.pairs,
        rounds=estimate.rounds,
        ratio=estimate.ratio,
        ci95=estimate.ci95,
        ci99=estimate.ci99,
        verdict=stats.verdict(estimate, margin),
        between_pair_share=estimate.between_pair_share,
        withheld="",
        note=reasons.FEW_PAIRS if estimate.pairs < stats.LEAST_PAIRS else "",
    )


def _withhold(reason: str, pairs: int = 0, rounds: int = 0) -> Ratio:
    return Ratio(pairs=pairs, rounds=rounds, verdict=stats.INCONCLUSIVE, withheld=reason, note="")
