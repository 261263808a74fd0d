"""Measures workloads whose parity holds: ratios, threads, limits, dispatch, phases, batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compare.inputs.request import Extras, Plan, Request
from compare.measure import batch_sizes, machine_limits, phase_processes, thread_handover, timed_samples, timed_sets
from compare.measure.machine_limits import Probed
from compare.measure.phase_processes import Workers
from compare.measure.timed_sets import Timed
from compare.progress import Reporter
from compare.record.cost_parts import Batches, Entry, Handover, Limits, Phases, Roofline
from compare.record.timing_part import Attribution, Timing
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import SIDES, SideError
from compare.sides.workers import WorkerSet, failure_of
from workloads.core.device import CPU
from workloads.protocol.framework import STEP


@dataclass
class Measurements:
    """The measurements of one workload; they are added as they complete, so that an interrupted run keeps them.

    Attributes:
      timing: on the first number of threads.
      attribution: of the ratio in `timing`.
      by_threads: where several numbers were asked for.
      roofline: which limit of the machine binds.
      phases: by mode.
      batches: of a workload that trains.
      failures: results that are missing.
    """

    timing: Timing | None = None
    attribution: Attribution | None = None
    by_threads: dict[str, Timing] = field(default_factory=dict)
    roofline: Roofline | None = None
    phases: Mapping[str, Phases] = field(default_factory=dict)
    batches: Batches | None = None
    failures: list[Failure] = field(default_factory=list)


@dataclass
class Measured:
    """The measurements of one run.

    Attributes:
      workloads: by name.
      machine: limits by number of threads.
      dispatch: by mode, what a call costs at least.
      handover: by side, from which size on its XLA computes on other threads.
      failures: of `dispatch`, which concern every workload.
      interrupted: by Ctrl-C or SIGTERM; the rest is what was complete by then.
    """

    workloads: Mapping[str, Measurements]
    machine: dict[str, Limits] = field(default_factory=dict)
    dispatch: Mapping[str, Entry] = field(default_factory=dict)
    handover: Mapping[str, Handover] = field(default_factory=dict)
    failures: Sequence[Failure] = ()
    interrupted: bool = False


def time_all(request: Request, to_time: Sequence[Timed], scratch: Path, reporter: Reporter) -> Measured:
    """Measure all that was asked for. An interrupt ends it, and what was complete is returned: hours, it may be.

    Args:
      request: what was asked for, with at least one plan.
    """
    results = Measured({one.name: Measurements() for one in to_time})
    try:
        _measure_all(request, to_time, results, scratch, reporter)
    except KeyboardInterrupt:
        results.interrupted = True
    return results


def _measure_all(
    request: Request, to_time: Sequence[Timed], results: Measured, scratch: Path, reporter: Reporter
) -> None:
    own = {name: request.sources[name] for name in SIDES}
    main = Workers(own, scratch, request.timeout_s, request.plans[0].threads)
    extras = request.extras
    results.dispatch, results.failures = phase_processes.dispatch(main, extras.dispatch)
    for plan in request.plans:
        medians = _measure_times(request, plan, to_time, results.workloads, scratch, reporter)
        if plan.threads is not None and extras.limits:
            is_main = plan is request.plans[0]
            # The machine's limits take any workload that is loaded, shares of them each its own.
            workloads = to_time if is_main else to_time[:1]
            workers = dataclasses.replace(main, threads=plan.threads)
            limits = measure_limits(
                workloads, results.workloads, medians if is_main else {}, results.dispatch, workers, reporter
            )
            results.machine[str(plan.threads)] = limits or Limits()
    if extras.handover and to_time and main.device.kind == CPU:
        results.handover = thread_handover.measure(to_time[0].prepared.loading, main, reporter)
    if extras.phases:
        measure_phases(to_time, results.workloads, extras.phases, main, reporter)
    if extras.batches:
        measure_batches(to_time, results.workloads, request.data, extras, main, reporter)


def _measure_times(
    request: Request,
    plan: Plan,
    to_time: Sequence[Timed],
    workloads: Mapping[str, Measurements],
    scratch: Path,
    reporter: Reporter,
) -> dict[str, dict[str, float]]:
    """Add the times on one number of threads; seconds of a call by workload and mode.

    Raises:
      Interrupted: sets of processes that were complete are added all the same.
    """
    sources = request.sources_with_peers()
    try:
        samples = timed_sets.measure(to_time, sources, plan, scratch, request.timeout_s, reporter)
    except timed_sets.Interrupted as interruption:
        complete = {
            name: samples_of_one for name, samples_of_one in interruption.samples.items() if samples_of_one.pairs
        }
        _add_times(request, plan, workloads, complete)
        raise
    _add_times(request, plan, workloads, samples)
    return {name: timed_samples.medians(samples_of_one) for name, samples_of_one in samples.items()}


def _add_times(
    request: Request, plan: Plan, workloads: Mapping[str, Measurements], samples: Mapping[str, timed_samples.Samples]
) -> None:
    recorded_sides = [side for side, source in request.sources.items() if source.recorded is not None]
    for name, samples_of_one in samples.items():
        measurements, summary = workloads[name], timed_samples.summarise(samples_of_one, recorded_sides, plan.threads)
        if plan is request.plans[0]:
            measurements.timing, measurements.attribution = summary.timing, summary.attribution
        if len(request.plans) > 1:
            measurements.by_threads[str(plan.threads)] = summary.timing
        measurements.failures += samples_of_one.failures


def measure_limits(
    to_time: Sequence[Timed],
    workloads: Mapping[str, Measurements],
    medians: Mapping[str, Mapping[str, float]],
    dispatch: Mapping[str, Entry],
    workers: Workers,
    reporter: Reporter,
) -> Limits | None:
    """The machine's limits on so many threads, None where no side could be loaded; adds `roofline` to each workload.

    Asks one process a side. What it computes are probes, so that the first workload that it can load will do.

    Args:
      medians: seconds of a call by workload and mode; a workload that is not among them gets no roofline.
      dispatch: what a call costs at least, by mode.
    """
    limits: Limits | None = None
    threads = workers.threads
    assert threads is not None, "limits are those of some number of threads"
    least_s = min((entry.public_s for entry in dispatch.values() if entry.public_s is not None), default=None)
    reporter.stage(f"limits on {threads} thread{'s' * (threads > 1)}", len(to_time))
    is_loaded = False
    with WorkerSet(workers.start) as group:
        for one in to_time:
            reporter.step(one.name)
            try:
                is_loaded = not group.replace_lost() and is_loaded
                if not is_loaded:
                    group.start(workers.live)
                    for side in group.sides.values():
                        requests.load(side, one.prepared.loading)
                    is_loaded = True
                subject = Probed(group.sides, threads, workers.device)
                limits = limits or machine_limits.measure_machine(subject)
                if one.name in medians and one.work is not None:
                    workloads[one.name].roofline = machine_limits.of_workload(
                        subject,
                        one.work,
                        medians[one.name],
                        limits,
                        None if least_s is None else least_s / one.steps,
                    )
                elif one.name in medians and one.why_no_work:
                    workloads[one.name].roofline = Roofline(reason=one.why_no_work)
            except SideError as error:
                workloads[one.name].failures.append(failure_of(error, "limits"))
    return limits


def measure_phases(
    to_time: Sequence[Timed],
    workloads: Mapping[str, Measurements],
    repeats: int,
    workers: Workers,
    reporter: Reporter,
) -> None:
    """Add `phases` to each workload.

    Args:
      to_time: workloads to start in fresh processes.
    """
    for one in to_time:
        measurements = workloads[one.name]
        measurements.phases, failures = phase_processes.measure(one.prepared, one.modes, workers, reporter, repeats)
        measurements.failures += failures


def measure_batches(
    to_time: Sequence[Timed],
    workloads: Mapping[str, Measurements],
    data: Path | None,
    extras: Extras,
    workers: Workers,
    reporter: Reporter,
) -> None:
    """Add `batches` to each workload that trains.

    Args:
      to_time: workloads; those that do not train are left out.
      data: training data; None is the workload's own.
    """
    for one in to_time:
        workload = one.prepared.workload
        if workload.training is None:
            continue
        measurements = workloads[one.name]
        measurements.batches, failures = batch_sizes.measure(
            workload, one.prepared.size, data, extras.memory_limit, workers, reporter, extras.batches,
            batch_sizes.MODES if one.main_pass == STEP else batch_sizes.STATELESS_MODES, one.main_pass,
        )  # fmt: skip
        measurements.failures += failures
