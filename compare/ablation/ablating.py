"""Measures the gain of each pass and feature of XLA for one program: the code, time and parity without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from compare.ablation import leaving_out
from compare.ablation.compiling import Made
from compare.ablation.leaving_out import Omission
from compare.bench import pairs, stats, timing
from compare.bench.pairs import Measured
from compare.parity import measure
from compare.parity.identical import same_leaves
from compare.progress import Reporter
from compare.record.ablation_part import (
    BIT_EQUAL,
    COMPARED,
    GATES_FAIL,
    GATES_HOLD,
    KEPT,
    LOST,
    NOT_RUN,
    REFUSED,
    SAME_CODE,
    UNJUDGED,
    UNSTEADY,
    Ablation,
    LeftOut,
)
from compare.record.timing_part import Ratio
from compare.sides._side import SideError
from compare.tuning.candidate_options import Options
from compare.tuning.option_search import PortFails
from compare.tuning.screening import doubt
from workloads.core.spec import Arrays

FULL = "full pipeline"
AGAIN = "full pipeline again"
"""A second copy of its code, in the same process."""


class Bench(Protocol):
    """The operations of the machine that an ablation needs."""

    def make(self, options: Options) -> Made:
        """The program compiled with options, and run.

        Raises:
          SideError: the compiler does not take them, or the worker ended.
        """
        ...

    def race(self, candidates: Mapping[str, Options], number: int) -> Measured[str]:
        """The times of compilations by name, in the set of fresh processes of that number."""
        ...

    def first_failure(self, options: Options) -> str:
        """The message of the first parity gate that fails with these options; empty if all pass.

        Raises:
          PortFails: the port itself is not the original.
          SideError: a side does not come up, or the compiler does not take the options.
        """
        ...


@dataclass(frozen=True)
class Asked:
    """The omissions, and the number of measurements.

    Attributes:
      omissions: None takes each pass that changed the program, and each feature.
      sets: fresh processes that times are taken in; 0 takes none.
      has_gates: whether results of other bits are judged.
    """

    omissions: Sequence[Omission] | None
    sets: int
    has_gates: bool = True


def ablate(bench: Bench, request: Asked, reporter: Reporter) -> Ablation:
    """The full pipeline, and every omission compared with it.

    Raises:
      SideError: the full pipeline cannot be compiled, run or timed.
    """
    reporter.stage("the full pipeline", 2)
    reporter.step(FULL)
    full = bench.make({})
    reporter.step(AGAIN)
    steady = identical(full.results, bench.make({}).results)
    omissions = leaving_out.everything(full.passes) if request.omissions is None else request.omissions
    reporter.stage("left out one at a time", len(omissions))
    rows: dict[str, LeftOut] = {}
    for omission in omissions:
        reporter.step(omission.name)
        rows[omission.name] = _one(bench, omission, full, steady)
    ablation = Ablation(passes=full.passes, full=full.figures, rows=tuple(rows.values()))
    options = {omission.name: omission.options for omission in omissions}
    if request.has_gates:
        ablation = _judge(bench, ablation, options, reporter)
    return _time(bench, ablation, options, request.sets, reporter) if request.sets else ablation


def _one(bench: Bench, omission: Omission, full: Made, steady: bool) -> LeftOut:
    row = LeftOut(name=omission.name, is_pass=bool(omission.passes), says=omission.says, options=dict(omission.options))
    absent = leaving_out.missing(omission, full.passes)
    if absent:
        return replace(row, outcome=NOT_RUN, reason=absent)
    try:
        product = bench.make(omission.options)
    except SideError as error:
        return replace(row, outcome=LOST if error.lost else REFUSED, reason=error.reason)
    remaining = leaving_out.still_run(omission, product.passes)
    if remaining:
        return replace(row, outcome=KEPT, reason=f"XLA ignores the option and still runs {remaining}")
    equal = identical(product.results, full.results)
    if (product.digest and product.digest == full.digest) or (equal and product.code == full.code):
        return replace(row, outcome=SAME_CODE, reason=_why_same(omission))
    return replace(
        row,
        outcome=COMPARED,
        made=product.figures,
        results=BIT_EQUAL if equal else UNJUDGED if steady else UNSTEADY,
        difference=0.0 if equal else difference(product.results, full.results),
    )


def _why_same(omission: Omission) -> str:
    if omission.passes:
        return "the same machine code: other passes do as much, or it changed only what no kernel shows"
    return "the same machine code: it applies to nothing in this program"


def _judge(bench: Bench, ablation: Ablation, options: Mapping[str, Options], reporter: Reporter) -> Ablation:
    """With the gates' verdict on every row of other bits; where the port itself fails, none can be asked."""
    unlike = [row for row in ablation.rows if row.results in (UNJUDGED, UNSTEADY)]
    if not unlike:
        return ablation
    reporter.stage("the gates", len(unlike))
    verdicts: dict[str, LeftOut] = {}
    for row in unlike:
        reporter.step(row.name)
        try:
            gate = bench.first_failure(options[row.name])
        except PortFails as error:
            return replace(ablation, reason=str(error))
        except SideError as error:
            verdicts[row.name] = replace(row, results=UNJUDGED, gate=f"not judged: {error.reason}")
            continue
        steady = GATES_HOLD if row.results == UNJUDGED else UNSTEADY
        verdicts[row.name] = replace(row, results=GATES_FAIL if gate else steady, gate=gate)
    return replace(ablation, rows=tuple(verdicts.get(row.name, row) for row in ablation.rows))


def _time(bench: Bench, ablation: Ablation, options: Mapping[str, Options], sets: int, reporter: Reporter) -> Ablation:
    """With times of every row that has code of its own. Nothing is timed where there is none."""
    contestants = {row.name: options[row.name] for row in ablation.rows if row.outcome == COMPARED}
    if not contestants:
        return ablation
    reporter.stage("times", sets)
    sets_measured: list[Measured[str]] = []
    for number in range(sets):
        reporter.step(f"set {number + 1} of {sets}: {len(contestants)} programs")
        sets_measured.append(bench.race({FULL: {}, AGAIN: {}, **contestants}, number))
    return with_times(ablation, sets_measured)


def with_times(ablation: Ablation, sets_measured: Sequence[Measured[str]]) -> Ablation:
    """The ablation with what may be said of times.

    Where a second copy of the full pipeline's code does not come out equal to the first, every ratio is withheld.

    Args:
      ablation: whose rows were raced by their names.
      sets_measured: by set, the times of FULL, of AGAIN, and of rows.
    """
    samples = pairs.samples_of(sets_measured)
    null = timing.pair_ratio(samples, AGAIN, FULL)
    margin = stats.equivalence_margin([null] if null else [])
    doubt_reason = doubt(null, FULL)
    failures = {name: reason for one_set in sets_measured for name, reason in one_set.failures.items()}

    def against_full(name: str, why: str) -> Ratio:
        return timing.ratio_of(samples, name, FULL, why, margin)

    def with_time(row: LeftOut) -> LeftOut:
        if row.outcome != COMPARED:
            return row
        seconds = timing.median(samples[row.name]) if any(samples.get(row.name, ())) else None
        program = row.made and replace(row.made, seconds=seconds)
        ratio = against_full(row.name, doubt_reason)
        return replace(row, made=program, time=ratio, untimed=failures.get(row.name, ""))

    return replace(
        ablation,
        full=ablation.full and replace(ablation.full, seconds=timing.median(samples[FULL])),
        rows=tuple(map(with_time, ablation.rows)),
        null=against_full(AGAIN, ""),
    )


def identical(actual: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> bool:
    """Whether every result of every case is equal to the last bit."""
    return actual.keys() == expected.keys() and all(same_leaves(actual[case], expected[case]) for case in expected)


def difference(actual: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> float:
    """The largest difference, relative to the largest value of its array; infinite where one has no counterpart."""
    return max((_of_case(actual.get(case, {}), arrays) for case, arrays in expected.items()), default=0.0)


def _of_case(actual: Arrays, expected: Arrays) -> float:
    if any(name not in actual or actual[name].shape != expected[name].shape for name in expected):
        return float("inf")
    errors = (
        measure.distance(actual[name], array, measure.scale_of(array, 0.0)).error for name, array in expected.items()
    )
    return max(errors, default=0.0)
