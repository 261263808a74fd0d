"""The page of `jaxport crossing`: of every function its times over its sizes, and where compiling it wins. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from compare.record.crossing_part import CrossingPoint, Crossings, SizedRun, SizeRatio, SizeSeries
from compare.record.envelope import Environment
from compare.record.vocabulary import PASS
from compare.report import drawing, numbers, size_charts
from compare.report.pages import Cell, Charts, Column, Page, Section, Table, Tone, columns
from compare.report.showable import printable
from compare.report.size_charts import Across, Mark, Place
from workloads.core.modes import JAX_JIT, TF_GRAPH, TF_JIT, Pair

MODES = tuple(map(str, (TF_GRAPH, TF_JIT, JAX_JIT)))
PAIRS = tuple(Pair(mode, TF_GRAPH) for mode in (TF_JIT, JAX_JIT))
RATIOS = tuple(map(str, PAIRS))

FASTER, SLOWER = "faster", "slower"
_TONES: Mapping[str, Tone] = {FASTER: "pass", SLOWER: "fail"}
REMARK = Column("remark", "wrap")
_RATIO = "Time over that of tf/graph"

_SHAPES = dict(zip(MODES, ("circle", "square", "diamond"), strict=True))
_ASIDE = 1.03
"""The two ratios of one size stand so far left and right of it, as a factor."""


def page(record: Crossings) -> Page:
    """Every function: its times by size, ratios, charts of both, and what follows."""
    safe = printable(record)
    return Page(
        command="jaxport crossing",
        title="From which size on compiling wins",
        origin=origin(safe.environment, safe.threads),
        sections=[_section(series) for series in safe.series],
        notes=list(notes(safe)),
    )


def _section(series: SizeSeries) -> Section:
    charts = Charts(
        (
            ("Time of a call in each mode.", times(series)),
            (f"{_RATIO}, with intervals; below 1 compiling wins. Dotted: where it crosses.", ratios(series)),
        )
    )
    conclusions = [sentence(series, pair) for pair in PAIRS]
    return Section(series.name, series.summary, conclusions, (charts, runs(series)))


def runs(series: SizeSeries) -> Table:
    """One row a size: times by mode, ratios with intervals, and why something is missing."""
    titles = (series.dimension, *MODES, *(f"{pair.left} / {pair.right}" for pair in PAIRS))
    rows = [_row(run) for run in series.runs]
    return Table((*columns(*titles, kind="number"), REMARK), rows, f"{series.name} by size")


def _row(run: SizedRun) -> list[Cell]:
    ratios = [run.ratios.get(name, SizeRatio()) for name in RATIOS]
    return [
        Cell(numbers.count(run.size)),
        *(Cell(numbers.seconds(run.seconds.get(mode))) for mode in MODES),
        *map(ratio_cell, ratios),
        Cell("; ".join(_remarks(run, ratios))),
    ]


def ratio_cell(ratio: SizeRatio) -> Cell:
    """A ratio with its interval."""
    if ratio.ratio is None:
        return Cell(numbers.MISSING)
    interval_text = numbers.interval(ratio.interval) if ratio.interval else "(no interval)"
    return Cell(f"{numbers.ratio(ratio.ratio)} {interval_text}", _TONES.get(ratio.verdict, ""))


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
    if not any(verdict in _TONES for _, verdict in verdicts):
        return "undecided at every size"
    runs = [(verdict, [size for size, _ in group]) for verdict, group in groupby(verdicts, key=lambda entry: entry[1])]
    parts = (f"{verdict if verdict in _TONES else 'undecided'} {_range(sizes)}" for verdict, sizes in runs)
    return f"no crossing in the range: {', '.join(parts)}"


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


def times(series: SizeSeries) -> str:
    """Time of a call by size and mode; empty where nothing was timed."""
    rows = [row for mode in MODES for run in series.runs if (row := _time(run, mode))]
    return size_charts.times(rows, _across(series))


def ratios(series: SizeSeries) -> str:
    """Ratios by size with their intervals, crossings marked; empty where all are withheld."""
    rows = [row for pair in PAIRS for run in series.runs if (row := _ratio(run, pair))]
    crossings = [
        Mark(size, about(size), drawing.color(crossing.ratio))
        for crossing in series.crossings
        if (size := numbers.finite(crossing.at)) is not None
    ]
    return size_charts.ratios(rows, _across(series), _RATIO.lower(), crossings)


def _time(run: SizedRun, mode: str) -> Place | None:
    value = numbers.finite(run.seconds.get(mode))
    return _place(run, mode, value, value, value, 1.0) if value is not None and value > 0 else None


def _ratio(run: SizedRun, pair: Pair) -> Place | None:
    size_ratio = run.ratios.get(str(pair))
    value = numbers.finite(size_ratio.ratio) if size_ratio else None
    if size_ratio is None or value is None or value <= 0:
        return None
    low, high = (numbers.finite(end) for end in size_ratio.interval or (None, None))
    aside = _ASIDE if pair == PAIRS[-1] else 1 / _ASIDE
    return _place(run, str(pair.left), value, low or value, high or value, aside)


def _place(run: SizedRun, mode: str, value: float, low: float, high: float, aside: float) -> Place:
    is_dashed = mode == str(TF_GRAPH)
    return Place(mode, (run.size or 1) * aside, value, low, high, drawing.color(mode), _SHAPES[mode], is_dashed)


def _across(series: SizeSeries) -> Across:
    return Across(series.dimension, [float(run.size) for run in series.runs if run.size])
