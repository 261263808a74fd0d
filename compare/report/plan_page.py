"""The page of `jaxport plan`: a table for each workload and size, what was judged, and what the figures are. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from compare.record.plan_part import Planned, PlannedCluster, PlannedLayout, PlannedStep
from compare.report import numbers
from compare.report.pages import Lines, Page, Section, Table, columns

_COLUMNS = (
    *columns("target", "layout"),
    *columns("batch", "sent inside", "sent between", "arguments", "temporaries", "peak", "fits", kind="number"),
    *columns("compute", "memory", "link", "network", "largest bound", "largest batch", "largest model", kind="number"),
)
NOTES = (
    "figures are those of one device and one step; nothing ran on a target, and nothing was tuned for it",
    "compute, memory, link and network are lower bounds, by published peaks: never times, and never added up",
    "bytes sent are the least that any algorithm for the collectives sends from one device; latency counts nothing",
    "XLA chose what lies between the split arrays; collectives in a loop count once",
    "without cuDNN and cuBLAS here, workspaces on a GPU are likely understated",
)


def page(record: Planned) -> Page:
    """Every step, and what is to be known of its figures."""
    versions = [f"{name} {version}" for name, version in record.packages.items()]
    return Page(
        command="jaxport plan",
        title="What a training step needs on a cluster",
        sections=[_section(step) for step in record.steps],
        notes=[*NOTES, *([", ".join(versions)] if versions else [])],
    )


def _section(step: PlannedStep) -> Section:
    return Section(_heading(step), blocks=(Table(_COLUMNS, list(_rows(step))), Lines(list(_lines(step)))))


def _heading(step: PlannedStep) -> str:
    count = f"{step.parameters:,} parameters" if step.parameters else ""
    line = f"on the line through {' and '.join(map(str, step.line_through))} layers" if step.line_through else ""
    return ", ".join(filter(None, [f"{step.workload} at size {step.size}", count, line]))


def _rows(step: PlannedStep) -> Iterator[tuple[str, ...]]:
    for cluster in step.clusters:
        for row in cluster.layouts:
            if row.peak_bytes is None:
                continue
            fits = "yes" if row.fits else "no"
            yield (
                cluster.target,
                _layout(row),
                numbers.count(row.batch),
                numbers.binary_bytes(row.inside_bytes),
                numbers.binary_bytes(row.between_bytes) if "network" in cluster.links else "",
                numbers.binary_bytes(row.argument_bytes),
                numbers.binary_bytes(row.temp_bytes),
                numbers.binary_bytes(row.peak_bytes),
                "" if row.fits is None else fits,
                *(numbers.seconds(bound) for bound in (row.compute_s, row.memory_s, row.inside_s)),
                numbers.seconds(row.between_s) if "network" in cluster.links else "",
                row.bound_by,
                _largest(row),
                _model(row),
            )


def _layout(row: PlannedLayout) -> str:
    sizes = " x ".join(str(size) for size in row.axes.values())
    return f"{row.layout} {sizes}"


def _largest(row: PlannedLayout) -> str:
    if row.largest_batch is None:
        return ""
    if row.too_large_batch:
        return f"{row.largest_batch:,}"
    line = f", about {row.expected_batch:,} by the line" if row.expected_batch else ""
    return f"{row.largest_batch:,} or more{line}"


def _model(row: PlannedLayout) -> str:
    if row.largest_layers is None:
        return ""
    more = "" if row.too_large_layers else " or more"
    return f"{row.largest_layers:,} layers{more}, {numbers.count(row.largest_parameters)} parameters"


def _lines(step: PlannedStep) -> Iterator[str]:
    if step.line_through:
        few, more = step.line_through
        yield f"compiled with {few} and with {more} layers, nothing whole: figures are on the line through both"
    for one in step.judged:
        where = " x ".join(f"{size} {axis}" for axis, size in one.axes.items())
        if one.reason:
            yield f"{one.layout} was not run on CPU devices: {one.reason}"
        else:
            result = "the same as on one" if one.agrees else "something else than on one"
            error = f"error {numbers.error(one.error)}" if one.error else "to within the rounding of float32"
            yield f"{one.layout} on {where} CPU devices at size smoke computes {result}: {error}"
    for cluster in step.clusters:
        if cluster.reason:
            yield f"{cluster.target}: {cluster.reason}"
        yield from (f"{cluster.target}, {row.layout}: {row.reason}" for row in cluster.layouts if row.reason)
        yield from _collectives(cluster)
    yield from dict.fromkeys(
        f"{row.layout}: {row.note}" for cluster in step.clusters for row in cluster.layouts if row.note
    )
    yield from dict.fromkeys(f"{cluster.target}: {source}" for cluster in step.clusters for source in cluster.sources)


def _collectives(cluster: PlannedCluster) -> Iterator[str]:
    for row in cluster.layouts:
        parts = [
            f"{f'{one.count} ' if one.count else ''}{one.kind} of {numbers.binary_bytes(one.bytes)} among {one.devices}"
            f"{f' on {one.hosts} hosts' if (one.hosts or 1) > 1 else ''}"
            for one in row.collectives
        ]
        if parts:
            yield f"{cluster.target}, {row.layout}: {'; '.join(parts)}"
