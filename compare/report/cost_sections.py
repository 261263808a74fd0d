"""Sections on the costs of a workload beyond a call: startup, the roofline, and batch sizes. Pure."""

from __future__ import annotations

from compare.record.workload_part import Workload
from compare.report import cost_charts, costs, rooflines, tables
from compare.report.pages import Charts, Lines, Section


def sections(workload: Workload) -> list[Section]:
    """The sections that the record has."""
    return [part for part in (_startup(workload), _roofline(workload), _batches(workload)) if part]


def _startup(workload: Workload) -> Section | None:
    if not workload.phases:
        return None
    how = "Each mode in fresh processes of its own, without and with a warm compilation cache."
    alike = [f"{line}." for line in tables.modes_alike(workload, workload.phases)]
    remark = (
        "Derived, since the framework does not time it: the time of the first call minus lowering and one steady call."
    )
    blocks = (
        Lines([how], "note"),
        costs.phases(workload),
        Lines([*alike, *([remark] if costs.has_derived(workload) else [])], "note"),
        costs.storage(workload),
        Lines(["Sizes of arguments, outputs and temporary memory are those that XLA reports."], "note"),
    )
    return Section("Startup", blocks=blocks)


def _roofline(workload: Workload) -> Section | None:
    roofline = rooflines.roofline(workload)
    if roofline is None:
        return None
    caption = "The limits of this machine, and every mode at the arithmetic intensity of the stated cost"
    lines = [f"{roofline.sentence}.", *(f"lower bound from {name}: {seconds}" for name, seconds in roofline.bounds)]
    charts_shown = [(caption, cost_charts.roofline(workload))] if roofline.modes.rows else []
    return Section("Roofline", blocks=(Lines(lines), Charts(charts_shown), roofline.modes))


def _batches(workload: Workload) -> Section | None:
    trials, limit = costs.batches(workload), costs.batch_limit(workload)
    if not trials.rows:
        return None
    caption = f"Peak memory against batch{f', limit {limit}' if limit else ''}"
    largest = [f"{mode}: {batch}" for mode, batch in costs.largest_batches(workload)]
    blocks = (Lines(largest), Charts([(caption, cost_charts.batches(workload))]), trials)
    return Section("Batch sizes", blocks=blocks)
