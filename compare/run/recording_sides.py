"""A run of one side alone, kept to be replayed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_others
from compare.progress import Reporter
from compare.prove import other_sizes
from compare.prove.collect import attempt, collect_evidence
from compare.prove.collect_program import collect_program
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import Side
from workloads.core.modes import Mode
from workloads.protocol.framework import Program


def record_side(
    side: Side,
    small: Prepared,
    large: Prepared,
    scratch: Path,
    reporter: Reporter,
    selection: Collection[Mode] = (),
) -> list[Failure]:
    """Ask a recording side for all that a run will ask of its record; what it failed at.

    Args:
      selection: the modes to record; empty takes all but those on request. The reference always runs.

    Raises:
      SideError: the side cannot be started, or was lost.
    """
    others = [instance for instance in prepare_others(small, scratch) if isinstance(instance, Prepared)]
    reporter.stage(f"{small.workload.name}: recording the {side.name} side", 2 + len(others))
    reporter.step("every pass")
    delivery = collect_evidence(side, small, reporter, selection)
    reporter.step("programs")
    if not delivery.lost:
        collect_program(side, large, delivery, reporter, reload=large is not small)
    program, case = delivery.portable, large.loading.cases[0]
    if program is not None and not delivery.lost:
        # A refusal is kept in the record too: a run finds that cell empty, with the reason.
        attempt(delivery, lambda: _run_compiled(side, program, case))
    return delivery.failures + ([] if delivery.lost else _record_others(side, others, reporter))


def _record_others(side: Side, others: Sequence[Prepared], reporter: Reporter) -> list[Failure]:
    """Request the results of a run at the other sizes. A size that the side refuses is no failure."""
    for instance in others:
        reporter.step(f"{side.name} at {instance.at}")
        delivery = collect_evidence(side, instance, reporter, other_sizes.MODES)
        if delivery.lost:
            return delivery.failures
    return []


def _run_compiled(side: Side, program: Program, case: str) -> None:
    handle = requests.compile_program(side, program).handle
    requests.execute(side, handle, case)
    requests.optimized(side, handle)
    requests.profile(side, handle)
