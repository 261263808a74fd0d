"""What the machine can do, and how near to that each mode comes, as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from compare.record.base import Number
from compare.record.cost_parts import Limits
from compare.record.envelope import Record
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.showable import present
from compare.report.tables import order_modes

BOUNDS = {"memory": "memory traffic", "compute": "arithmetic", "dispatch": "dispatch overhead"}
_BOUNDS_BY_FIELD = {f"{bound}_s": limit for bound, limit in BOUNDS.items()}
"""By the names of their seconds in the record."""


@dataclass(frozen=True)
class MachineRow:
    """One figure that was measured on this machine in this run, and by what."""

    threads: str
    figure: str
    value: str
    by: str
    working_set: str


@dataclass(frozen=True)
class LimitRow:
    """One mode: the part of the limit that it reaches."""

    mode: str
    share: str
    note: str


@dataclass(frozen=True)
class Roofline:
    """The least time that a call can take on this machine, and each mode held against it; or why that is not known."""

    sentence: str
    bounds: tuple[tuple[str, str], ...]
    rows: tuple[LimitRow, ...]


def machine(record: Record) -> tuple[MachineRow, ...]:
    """Bandwidth by kind of traffic, then matrix products by type, for each number of threads."""
    limits = {"": record.machine} if record.machine else {name: node.machine for name, node in record.nodes.items()}
    return tuple(row for name, machine in limits.items() for row in _of_machine(name, machine))


def roofline(workload: Workload) -> Roofline | None:
    """None where the record has none."""
    recorded_roofline = present(workload.roofline)
    if recorded_roofline is None:
        return None
    if recorded_roofline.reason:
        return Roofline(f"No lower bound: {recorded_roofline.reason}", (), ())
    bound = recorded_roofline.bound
    traffic = f"{recorded_roofline.kind or ''} traffic at {rate(recorded_roofline.bandwidth_bytes_per_s)}"
    by = f" by {recorded_roofline.bandwidth_by}" if recorded_roofline.bandwidth_by else ""
    return Roofline(
        sentence=(
            f"Lower bound of a call on this machine: about {numbers.seconds(recorded_roofline.limit_s)}, from "
            f"{BOUNDS.get(bound, bound or 'an unknown limit')} (threads: {numbers.count(recorded_roofline.threads)}, "
            f"{numbers.binary_bytes(recorded_roofline.working_set_bytes)} in use, {traffic}{by})"
        ),
        bounds=tuple(
            (_BOUNDS_BY_FIELD.get(name, name), numbers.seconds(value))
            for name, value in recorded_roofline.bounds.items()
        ),
        rows=tuple(
            LimitRow(mode, numbers.share(recorded_roofline.modes[mode].share), recorded_roofline.modes[mode].note)
            for mode in order_modes(recorded_roofline.modes)
        ),
    )


def rate(bytes_per_s: Number) -> str:
    """Bytes a second, in decimal units as memory is sold: "19.0 GB/s"."""
    number = numbers.finite(bytes_per_s)
    return numbers.MISSING if number is None else f"{number / 1e9:,.1f} GB/s"


def _of_machine(node: str, machine: Mapping[str, Limits]) -> Iterator[MachineRow]:
    """The rows of one machine, which say of which node they are where there are several."""
    for count in sorted(machine, key=lambda count: (len(count), count)):
        for row in _machine(count, machine[count]):
            yield replace(row, figure=f"{row.figure} on {node}") if node else row


def _machine(count: str, limits: Limits) -> list[MachineRow]:
    rows = [
        MachineRow(
            threads=count,
            figure=kind,
            value=rate(measurement.bytes_per_s),
            by=measurement.by,
            working_set=numbers.binary_bytes(measurement.working_set_bytes),
        )
        for kind, measurement in (("read", limits.read), ("copy", limits.copy), ("triad", limits.triad))
        if measurement is not None
    ]
    for dtype, product in limits.gemm.items():
        speed = numbers.operations(product.flops_per_s)
        rows.append(MachineRow(count, f"matrix product {dtype}", f"{speed}/s", product.by, numbers.MISSING))
    return rows
