"""A search for what is faster than the default: screened over few processes, hopeless ones dropped, one confirmed.

Screening ranks and states nothing: the fastest of many candidates is partly the luckiest. What is stated of the
winner comes from further processes, which had no part in choosing it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compare.bench import pairs, reasons, stats, timing
from compare.bench.pairs import Measured
from compare.record.timing_part import Ratio

DEFAULT = "default"
AGAIN = "default again"
"""A second copy of the default's code, beside it in the same process."""

Race = Callable[[Sequence[str], int], Measured[str]]
"""Times candidates by name in fresh processes: rounds of all of them in turn, in the set of that number."""


@dataclass(frozen=True)
class Rules:
    """How long candidates are kept, and how often the winner is measured.

    Attributes:
      screening: sets of processes that a candidate is seen in before it is ranked.
      confirming: further sets for the winner.
      hopeless: a candidate that comes out so much slower than the default is not timed again. Wider than what
        identical code differs by. The fastest is no reference: an option that helps a little may help beside it.
    """

    screening: int = 3
    confirming: int = 8
    hopeless: float = 0.10


@dataclass(frozen=True)
class Standing:
    """A candidate after the screening: its time over that of the default, and why it was not timed to the end."""

    name: str
    ratio: float | None
    pairs: int
    dropped: str = ""


@dataclass
class Screening:
    """Candidates raced against the default, set by set."""

    rules: Rules
    sets: int = 0
    """Sets that were raced; each has a number of its own, so that no order of arms repeats."""
    taken: dict[str, list[Measured[str]]] = field(default_factory=dict)
    standings: dict[str, Standing] = field(default_factory=dict)

    def run(self, names: Sequence[str], race: Race, report: Callable[[str], None] = lambda _: None) -> None:
        """Race these; names that are known are raced again, beside the new ones."""
        alive = list(names)
        for number in range(1, self.rules.screening + 1):
            if not alive:
                return
            report(f"set {number} of {self.rules.screening}: {len(alive)} candidate{'s' * (len(alive) > 1)}")
            results = race((DEFAULT, *alive), self.sets)
            self.sets += 1
            for name in alive:
                self.taken.setdefault(name, []).append(results)
            alive = self._keep(alive, results)

    def leaders(self) -> list[Standing]:
        """The candidates that stayed to the end and were faster than the default, the fastest first."""
        remaining = [standing for standing in self.standings.values() if not standing.dropped]
        return sorted((standing for standing in remaining if _ratio(standing) < 1), key=_ratio)

    def _keep(self, names: Sequence[str], results: Measured[str]) -> list[str]:
        for name in names:
            ratio = self._estimate(name)
            why = results.failures.get(name, "") or self._hopeless(ratio)
            self.standings[name] = Standing(name, ratio, len(self.taken[name]), why)
        return [name for name in names if not self.standings[name].dropped]

    def _hopeless(self, ratio: float | None) -> str:
        if ratio is None:
            return "the default did not run beside it"
        slower = ratio - 1
        return f"{slower:.0%} slower than the default".replace("%", " %") if slower > self.rules.hopeless else ""

    def _estimate(self, name: str) -> float | None:
        ratio = timing.pair_ratio(pairs.samples_of(self.taken[name]), name, DEFAULT)
        return ratio.ratio if ratio else None


@dataclass(frozen=True)
class Confirmed:
    """The winner against the default in processes of their own, and identical code beside them."""

    name: str
    ratio: Ratio
    null: Ratio
    margin: float
    seconds: Mapping[str, float]

    @property
    def faster(self) -> bool:
        """Whether that may be said."""
        return not self.ratio.withheld and self.ratio.verdict == stats.FASTER


def confirm(
    name: str, race: Race, rules: Rules, first: int, report: Callable[[str], None] = lambda _: None
) -> Confirmed:
    """The ratio of one candidate, by the statistics and the conditions of every other ratio.

    Args:
      rules: how many sets confirm it.
      first: the number of the first set: those before it chose the candidate.
    """
    sets_measured = []
    for number in range(rules.confirming):
        report(f"set {number + 1} of {rules.confirming}")
        sets_measured.append(race((DEFAULT, AGAIN, name), first + number))
    samples = pairs.samples_of(sets_measured)
    null = timing.pair_ratio(samples, AGAIN, DEFAULT)
    margin = stats.equivalence_margin([null] if null else [])
    return Confirmed(
        name=name,
        ratio=timing.ratio_of(samples, name, DEFAULT, doubt(null, DEFAULT), margin),
        null=timing.ratio_of(samples, AGAIN, DEFAULT, "", margin),
        margin=margin,
        seconds={arm: timing.median(seconds) for arm, seconds in samples.items() if any(seconds)},
    )


def doubt(null: stats.Ratio | None, name: str) -> str:
    """Why no ratio of a race can be trusted; empty where a second copy of one program came out equal to the first.

    Args:
      null: the second copy's time over the first's; None where they never ran together.
    """
    if null is None:
        return reasons.null_missing(name, reasons.SECOND_COPY)
    interval = stats.excluding_one(null)
    return reasons.null_missed(name, null.ratio, interval, reasons.SECOND_COPY) if interval else ""


def _ratio(standing: Standing) -> float:
    """The ratio for ranking; a candidate without a time comes last."""
    return float("inf") if standing.ratio is None else standing.ratio
