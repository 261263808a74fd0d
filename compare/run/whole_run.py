"""A run: every workload through every judge, one record at the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from compare.errors import RequestError
from compare.files import Json
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.levels import ALGEBRA
from compare.inputs.at_size import Prepared, on_pass
from compare.inputs.port_files import Unreadable, prepare_both
from compare.inputs.request import Request
from compare.inputs.sizes import choose_size
from compare.measure import measurements, peers, timed_sets
from compare.progress import Reporter
from compare.prove import cells, index_ranges, on_targets, program_alignment, program_pairs, unrolling
from compare.prove.both_sides import BothSides, ask_both
from compare.prove.collect import Collected
from compare.prove.collect_program import collect_program
from compare.prove.judging import compare_strictly, judge_gates
from compare.prove.other_sizes import with_others
from compare.prove.program_alignment import Examined, Scope
from compare.prove.refused_cases import PassEvidence, collect_with_doubles
from compare.prove.stability_gate import with_stability
from compare.record.envelope import Environment, Node, Record
from compare.record.parity_part import Parity
from compare.record.target_part import Target
from compare.record.vocabulary import FAIL, PASS, PASS_WORDS
from compare.record.workload_part import Failure, Workload
from compare.run import record_parts
from compare.run.first_failure import judge_first_failure, locate_failure
from compare.run.kept_judgements import Judgement, Judgements
from compare.run.planned_checks import GATES, PROGRAMS, describe_gates, describe_pass, plan_checks, plan_passes
from compare.sides._side import SIDES, BadTarget
from compare.sides.pool import Pool
from compare.sides.workers import failure_of
from workloads.core.declared import AnyWorkload
from workloads.core.modes import TF
from workloads.core.spec import STABILITY
from workloads.protocol.framework import UNROLLED, Scalar


@dataclass(frozen=True)
class RunResult:
    """A record, and beside it what pages show of every pair of programs that was aligned, as JSON.

    `interrupted` says whether a signal ended the run before all was judged and timed.
    """

    record: Record
    views: tuple[Json, ...] = ()
    interrupted: bool = False


@dataclass(frozen=True)
class _AllJudged:
    """The judged workloads by name, the sides, and whether a signal left some out."""

    workloads: Mapping[str, Judgement]
    sides: Mapping[str, Mapping[str, Scalar]]
    interrupted: bool = False

    @property
    def parts(self) -> dict[str, Workload]:
        return {name: judgement.part for name, judgement in self.workloads.items()}

    @property
    def to_time(self) -> list[timed_sets.Timed]:
        return [judgement.timed for judgement in self.workloads.values() if judgement.timed is not None]

    @property
    def views(self) -> tuple[Json, ...]:
        return tuple(judgement.view for judgement in self.workloads.values() if judgement.view is not None)


def run(
    request: Request, reporter: Reporter, pool: Pool | None = None, judgements: Judgements | None = None
) -> RunResult:
    """Judge every workload; the record, not yet written.

    Args:
      pool: workers that judge it and outlive it; by default it starts its own.
      judgements: what a run that was killed has judged, and this one adds to; None keeps nothing.

    Raises:
      RequestError, BadTarget: what was asked for cannot be carried out.
    """
    _check_sizes(request)
    with tempfile.TemporaryDirectory(prefix="jaxport-") as folder:
        scratch = Path(folder)
        with nullcontext(pool) if pool else Pool(request.sources_with_peers(), scratch, request.timeout_s) as judging:
            all_judged = _judge_all(request, judging, scratch, reporter, judgements)
        environment = record_parts.environment(all_judged.sides)
        if not all_judged.to_time or not request.plans:
            record = record_parts.envelope(environment, all_judged.parts, request.size)
            return RunResult(record, all_judged.views, all_judged.interrupted)
        return _time(request, all_judged, environment, scratch, reporter)


def _time(
    request: Request, all_judged: _AllJudged, environment: Environment, scratch: Path, reporter: Reporter
) -> RunResult:
    """The run with what time tells."""
    times = measurements.time_all(request, all_judged.to_time, scratch, reporter)
    parts = record_parts.with_measurements(all_judged.parts, times)
    node = Node(machine=times.machine, dispatch=times.dispatch, handover=times.handover)
    record = record_parts.envelope(environment, parts, request.size, None if times.interrupted else node)
    return RunResult(record, all_judged.views, times.interrupted)


def _check_sizes(request: Request) -> None:
    """Raise RequestError for a size that a workload lacks, before any workload is judged."""
    for workload in request.workloads:
        if not isinstance(workload, Unreadable):
            for size in (request.size, request.parity_size):
                choose_size(workload, size)


def _check_unrolled(workload: AnyWorkload, steps: int) -> None:
    """Raise RequestError where a workload does not train for so many steps."""
    training = workload.training
    if steps and training is None:
        raise RequestError(f"expected a workload that trains with --unroll, found {workload.name}: drop --unroll")
    if training is not None and steps > training.steps:
        raise RequestError(
            f"expected --unroll of at most {training.steps}, the training steps of {workload.name}, found {steps}: "
            "lower it"
        )


def _judge_all(request: Request, pool: Pool, scratch: Path, reporter: Reporter, store: Judgements | None) -> _AllJudged:
    """A workload that cannot be judged costs itself.

    Raises:
      RequestError, BadTarget: what the first one lacks, where none of them could be judged.
    """
    judgements: dict[str, Judgement] = {}
    refusals: list[RequestError | BadTarget] = []
    try:
        for workload in request.workloads:
            folder = Path(tempfile.mkdtemp(dir=scratch))
            workload_judged = _Judging(request, pool, folder, reporter).judge(workload, refusals, store)
            if workload_judged.timed is None or not request.plans:
                # Times are taken after all judgements; only workloads that are timed keep their arrays until then.
                shutil.rmtree(folder, ignore_errors=True)
            # Asked while the workers live: interrupted, the record tells of them all the same.
            pool.environments()
            judgements[workload.name] = workload_judged
            if request.fail_fast and workload_judged.fails:
                break
    except KeyboardInterrupt:
        if len(refusals) == len(judgements):
            raise  # nothing was judged
        parts_only = _without_times(judgements, request)
        return _AllJudged(parts_only, pool.environments(), interrupted=True)
    if refusals and len(refusals) == len(judgements):
        raise refusals[0]
    if request.fail_fast and any(judgement.fails for judgement in judgements.values()):
        return _AllJudged(_stop_run(judgements, request), pool.environments())
    return _AllJudged(judgements, pool.environments())


def _without_times(judgements: Mapping[str, Judgement], request: Request) -> dict[str, Judgement]:
    """The judgements of a run that ended early. They name what is missing, and are not timed."""
    names = [workload.name for workload in request.workloads]
    parts = {name: one.part for name, one in judgements.items()}
    parts = record_parts.with_missing(parts, names, record_parts.INTERRUPTED)
    return {name: Judgement(parts[name], judgement.view) for name, judgement in judgements.items()}


def _stop_run(judgements: Mapping[str, Judgement], request: Request) -> dict[str, Judgement]:
    """The judgements of a run that stops at the first failure; those that hold say that they are not timed."""
    reason = "stopped at the first failure"
    note = Failure("both sides", "timing", reason)
    parts = {
        name: record_parts.failing(one.part, note) if one.timed is not None and request.plans else one.part
        for name, one in judgements.items()
    }
    names = [workload.name for workload in request.workloads]
    if len(parts) < len(names):
        parts = record_parts.with_missing(parts, names, reason)
    return {name: Judgement(parts[name], judgement.view) for name, judgement in judgements.items()}


def _failure(error: Exception) -> Failure:
    match error:
        case BadTarget():
            return failure_of(error)
        case RequestError():
            return Failure("both sides", "judge", str(error))
        case _:
            defect = f"expected no {type(error).__name__} here, found one: {error}"
            return Failure("both sides", "judge", f"{defect}: judge it alone with --debug and report it")


@dataclass(frozen=True)
class _Judging:
    """Judges one workload of a run, with a folder of its own."""

    request: Request
    pool: Pool
    scratch: Path
    reporter: Reporter

    def judge(
        self, workload: AnyWorkload, refusals: list[RequestError | BadTarget], store: Judgements | None
    ) -> Judgement:
        """Like `_judge_one`; the part of a workload that cannot be judged has the reason."""
        request, reporter = self.request, self.reporter
        try:
            both = prepare_both(workload, request.size, request.data, self.scratch, request.parity_size)
            _check_unrolled(workload, request.unrolled)
            small, large = on_pass(both, UNROLLED if request.unrolled else request.main_pass, request.unrolled)
            reporter.stage(f"{workload.name}: parity and programs", plan_checks(small, request))
            judge = partial(self._judge_one, small, large)
            return store.judge(self.pool, (small, large), judge, reporter.result) if store else judge()
        except (RequestError, BadTarget) as error:
            refusals.append(error)
            return Judgement(record_parts.not_judged(workload, request.size, _failure(error)))
        except Exception as error:
            if len(request.workloads) == 1:
                raise
            return Judgement(record_parts.not_judged(workload, request.size, _failure(error)))

    def _judge_one(self, small: Prepared, large: Prepared) -> Judgement:
        """Nothing may be timed where parity fails."""
        request, pool, reporter = self.request, self.pool, self.reporter
        evidence, first_failure = self._collect(small)
        sides = evidence.sides
        if large is small:
            large = sides.instance
        elif evidence.tables:
            large = index_ranges.draw_within(large, evidence.tables)
        if first_failure is not None:
            return _stop(large, small.size, sides, first_failure)
        reporter.step(GATES)
        small = sides.instance
        sides = sides.with_more_cases().with_late_steps()
        deliveries, failures = sides.deliveries, sides.failures

        def collect_main(name: str) -> Collected:
            if not deliveries[name].lost:
                reload = large is not small or bool(parity.sizes)
                collect_program(pool.get(name), large, deliveries[name], reporter, reload)
            if request.unrolled and not deliveries[name].lost:
                deliveries[name].failures += unrolling.check(pool.get(name), large, deliveries[name], reporter)
            return deliveries[name]

        parity = judge_gates(sides)
        reporter.result(f"{small.workload.name}: {describe_gates(parity.gates)}")
        was_failing = parity.verdict == FAIL
        parity = with_stability(sides, parity)
        if not was_failing:
            reporter.result(f"{small.workload.name}: {describe_gates({STABILITY: parity.gates[STABILITY]})}")
        if request.fail_fast and parity.verdict == FAIL:
            return _stop(large, small.size, sides, locate_failure(sides, parity))
        parity = with_others(sides, parity, self.scratch)
        if request.fail_fast and parity.verdict == FAIL:
            return _stop(large, small.size, sides, parity)
        lacking = failures or any(evidence.failures for evidence in deliveries.values())
        reporter.result(f"{small.workload.name}: parity {_outcome(parity, bool(lacking))}")
        if request.parity_only:
            no_cells = record_parts.empty_cells("parity alone was asked for")
            return Judgement(record_parts.workload(large, small.size, deliveries, parity, no_cells, None, failures))
        reporter.step(PROGRAMS)
        deliveries = ask_both(failures, collect_main, names=list(deliveries))
        table = _cells(pool, deliveries, large, failures)
        examination = self._examine(large, deliveries, table, failures) if request.alignment else None
        part = record_parts.workload(large, small.size, deliveries, parity, table.described, examination, failures)
        part = replace(part, targets=self._on_targets(deliveries))
        view = examination.view if examination else None
        if parity.verdict != PASS:
            return Judgement(part, view)
        part = record_parts.failing(part, *cells.disagreements(table.described))
        to_time = timed_sets.prepare_timing(large, deliveries, part)
        if request.extras.peers:
            reporter.step("peers")
            results = peers.judge(pool, small, deliveries, sides.doubles)
            part = replace(part, peers=results)
            to_time = peers.join(to_time, results, deliveries["tf"].main_pass)
        return Judgement(part, view, to_time)

    def _collect(self, instance: Prepared) -> tuple[PassEvidence, Parity | None]:
        """The evidence of both sides, pass by pass, and the first failure, at which --fail-fast stops.

        After each pass a line says which gates hold there.
        """
        request, reporter = self.request, self.reporter
        passes = plan_passes(instance)
        collecting = collect_with_doubles(self.pool, instance, reporter, request.modes, [[pass_] for pass_ in passes])
        for pass_ in passes[:-1]:
            evidence = self._collect_next(collecting, pass_)
            first_failure = judge_first_failure(evidence.sides, evidence.passes) if request.fail_fast else None
            if first_failure is not None:
                evidence.sides.note_changes()
                return evidence, first_failure
        return self._collect_next(collecting, passes[-1]), None

    def _collect_next(self, collecting: Iterator[PassEvidence], pass_: str) -> PassEvidence:
        self.reporter.step(PASS_WORDS[pass_])
        evidence = next(collecting)
        sides = evidence.sides
        sides.check_structure()
        if not any(map(sides.is_lost, SIDES)):
            summary = describe_pass(pass_, compare_strictly(sides, pass_), sides.deliveries[TF].explain_refusal(pass_))
            self.reporter.result(f"{sides.instance.workload.name}: {summary}")
        return evidence

    def _on_targets(self, deliveries: Mapping[str, Collected]) -> dict[str, Target]:
        """By device that was asked for, both programs compiled for it; nothing where a side cannot be asked."""
        if self.request.targets is None or any(evidence.lost for evidence in deliveries.values()):
            return {}
        sides = {name: self.pool.get(name) for name in SIDES}
        main_pass, folder = deliveries["tf"].main_pass, self.scratch / "targets"
        targets = on_targets.compile_for_all(self.request.targets, sides, main_pass, folder, self.reporter)
        return {name: target.part for name, target in targets.items()}

    def _examine(
        self, instance: Prepared, deliveries: Mapping[str, Collected], table: cells.Cells, failures: list[Failure]
    ) -> Examined | None:
        """Compare both programs; None where a side gave none."""
        try:
            pair = program_pairs.of_deliveries(instance, deliveries, table, self.pool.environments())
            return program_alignment.examine(pair, ALGEBRA, self.reporter, Scope.SHOWN_BY_VALUE) if pair else None
        except UnreadableProgram as error:
            failures.append(Failure("jax", "align the programs", str(error)))
            return None


def _stop(instance: Prepared, parity_size: str, sides: BothSides, parity: Parity) -> Judgement:
    """The judgement of a port whose first failure was found."""
    sides.reporter.result(f"{instance.workload.name}: parity fails")
    no_cells = record_parts.empty_cells("--fail-fast stops at the first failure")
    return Judgement(
        record_parts.workload(instance, parity_size, sides.deliveries, parity, no_cells, None, sides.failures)
    )


def _outcome(parity: Parity, lacking: bool) -> str:
    """The line of progress about a workload; the summary at the end lists what is missing."""
    holds = {PASS: "holds", FAIL: "fails"}.get(parity.verdict or "", "is not judged")
    return f"{holds}; results are missing" if lacking else holds


def _cells(pool: Pool, deliveries: Mapping[str, Collected], instance: Prepared, failures: list[Failure]) -> cells.Cells:
    live = {name: pool.get(name) for name, evidence in deliveries.items() if not evidence.lost}
    table = cells.compile_cells(live, deliveries, instance.loading.cases[0])
    for error in table.lost:
        failures.append(failure_of(error))
    return table
