"""The times of functions over their sizes, as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from compare.record.crossing_part import CrossingPoint, Crossings, SizedRun, SizeRatio, SizeSeries
from compare.record.envelope import Environment
from compare.record.vocabulary import PASS
from compare.report import numbers
from workloads._modes import JAX_JIT, TF_GRAPH, TF_JIT, Pair

MODES = tuple(map(str, (TF_GRAPH, TF_JIT, JAX_JIT)))
PAIRS = tuple(Pair(mode, TF_GRAPH) for mode in (TF_JIT, JAX_JIT))
RATIOS = tuple(map(str, PAIRS))

FASTER, SLOWER = "faster", "slower"


@dataclass(frozen=True)
class RunRow:
    """One size: times by mode, ratios with intervals by name, and why something is missing."""

    size: str
    seconds: tuple[str, ...]
    ratios: tuple[str, ...]
    verdicts: tuple[str, ...]
    remark: str

    @property
    def ratios_with_verdicts(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a ratio and its verdict."""
        return tuple(zip(self.ratios, self.verdicts, strict=True))


def rows(series: SizeSeries) -> list[RunRow]:
    """One a size."""
    return [_row(run) for run in series.runs]


def _row(run: SizedRun) -> RunRow:
    ratios = [run.ratios.get(name, SizeRatio()) for name in RATIOS]
    return RunRow(
        size=numbers.count(run.size),
        seconds=tuple(numbers.seconds(run.seconds.get(mode)) for mode in MODES),
        ratios=tuple(map(ratio_text, ratios)),
        verdicts=tuple(ratio.verdict for ratio in ratios),
        remark="; ".join(_remarks(run, ratios)),
    )


def ratio_text(ratio: SizeRatio) -> str:
    """A ratio with its interval."""
    if ratio.ratio is None:
        return numbers.MISSING
    interval_text = numbers.interval(ratio.interval) if ratio.interval else "(no interval)"
    return f"{numbers.ratio(ratio.ratio)} {interval_text}"


def is_bare(ratio: SizeRatio) -> bool:
    """Whether a ratio is known without an interval."""
    return ratio.ratio is not None and ratio.interval is None


def _remarks(run: SizedRun, ratios: Sequence[SizeRatio]) -> Iterator[str]:
    if run.parity != PASS:
        yield f"not timed: {run.reason or 'parity was not judged'}"
    elif not run.seconds:
        yield "not timed"
    yield from dict.fromkeys(f"withheld: {ratio.withheld}" for ratio in ratios if ratio.withheld)
    yield from dict.fromkeys(f"{failure.doing}: {failure.reason}" for failure in run.failures)


def sentences(series: SizeSeries) -> list[str]:
    """What follows of each ratio."""
    return [sentence(series, pair) for pair in PAIRS]


def sentence(series: SizeSeries, pair: Pair) -> str:
    """Where a ratio crosses 1, or that it does not: "tf/jit is faster than tf/graph from about elements=1,900 on"."""
    crossings = [crossing for crossing in series.crossings if crossing.ratio == str(pair)]
    parts = [_crossing(series, crossing) for crossing in crossings] or [_without(series, str(pair))]
    return f"{pair.left} against {pair.right}: {'; '.join(parts)}"


def _crossing(series: SizeSeries, crossing: CrossingPoint) -> str:
    low, high = map(numbers.count, crossing.between)
    where = f"between {low} and {high}" + (", undecided between them" if crossing.undecided else "")
    return f"{crossing.becomes} from about {series.dimension}={about(crossing.at)} on ({where})"


def about(value: float | None) -> str:
    """A size that was interpolated, to two significant digits: "1,900"."""
    number = numbers.finite(value)
    return numbers.MISSING if number is None else numbers.count(float(f"{number:.1e}"))


def _without(series: SizeSeries, ratio: str) -> str:
    """No crossing: runs of sizes that are decided alike, or not at all."""
    verdicts = [(run.size, run.ratios.get(ratio, SizeRatio()).verdict) for run in series.runs]
    if not any(verdict in (FASTER, SLOWER) for _, verdict in verdicts):
        return "undecided at every size"
    runs = [(verdict, [size for size, _ in group]) for verdict, group in groupby(verdicts, key=lambda entry: entry[1])]
    parts = (f"{_VERDICTS.get(verdict, 'undecided')} {_range(sizes)}" for verdict, sizes in runs)
    return f"no crossing in the range: {', '.join(parts)}"


_VERDICTS = {FASTER: FASTER, SLOWER: SLOWER}


def _range(sizes: Sequence[int | None]) -> str:
    first, last = numbers.count(sizes[0]), numbers.count(sizes[-1])
    return f"at {first}" if first == last else f"from {first} to {last}"


FEW_PAIRS = "An interval needs five pairs of processes: without one a size is undecided."
INTERRUPTED = "Interrupted: what was complete by then is shown."


def origin(environment: Environment | None, threads: int | None) -> list[str]:
    """On what it was measured: processor, threads, versions."""
    environment = environment or Environment()
    on = f"{threads} thread{'s' * (threads != 1)}" if threads is not None else ""
    packages = [
        f"{package} {version}"
        for side, package in (("tf", "tensorflow"), ("jax", "jax"))
        if (version := environment.sides.get(side, {}).get(package))
    ]
    return [part for part in (environment.cpu, on, *packages) if part]


def notes(record: Crossings) -> Iterator[str]:
    """How the intervals are to be read, and what is missing."""
    series = record.series[0] if record.series else SizeSeries()
    if series.level is not None:
        sizes = len(series.runs)
        yield (
            f"Intervals of one ratio hold together at all sizes with 95 % (Bonferroni: {100 * series.level:.2f} % each "
            f"of {sizes}); those of different ratios or functions are not corrected for one another."
        )
    yield (
        "Faster and slower: the interval lies on one side of 1. A size at which parity does not pass is not timed; "
        "one at which identical code differs from itself has no ratio."
    )
    if any(
        is_bare(ratio) for size_series in record.series for run in size_series.runs for ratio in run.ratios.values()
    ):
        yield FEW_PAIRS
    if record.interrupted:
        yield INTERRUPTED
