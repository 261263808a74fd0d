"""The limits of the machine, and each mode's multiple of them, as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compare.record.base import Number
from compare.record.cost_parts import Limits
from compare.record.envelope import Record
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.pages import Column, Table
from compare.report.showable import present
from compare.report.tables import order_modes

BOUNDS = {"memory": "memory traffic", "compute": "arithmetic", "dispatch": "dispatch overhead"}
_BOUNDS_BY_FIELD = {f"{bound}_s": limit for bound, limit in BOUNDS.items()}
"""By the names of their seconds in the record."""


_MACHINE = (
    *(Column("measured in this run"), Column("fastest by"), Column("threads", "number")),
    *(Column("figure", "number strong"), Column("working set", "number")),
)
_MODES = (Column("mode"), Column("note", "wrap"), Column("fraction of the limit", "number strong"))


@dataclass(frozen=True)
class Roofline:
    """The least time of a call on this machine and each mode's multiple of it, or why that is unknown."""

    sentence: str
    bounds: tuple[tuple[str, str], ...]
    modes: Table


def machine(record: Record) -> Table:
    """Bandwidth by kind of traffic, then matrix products by type, for each number of threads."""
    limits = {"": record.machine} if record.machine else {name: node.machine for name, node in record.nodes.items()}
    rows = [
        (f"{figure} on {name}" if name else figure, *rest)
        for name, machine in limits.items()
        for count in sorted(machine, key=lambda count: (len(count), count))
        for figure, *rest in _machine(count, machine[count])
    ]
    return Table(_MACHINE, rows, "machine")


def roofline(workload: Workload) -> Roofline | None:
    """The roofline of a workload; None if the record has none."""
    recorded_roofline = present(workload.roofline)
    if recorded_roofline is None:
        return None
    if recorded_roofline.reason:
        return Roofline(f"No lower bound: {recorded_roofline.reason}", (), Table(_MODES, ()))
    bound, modes = recorded_roofline.bound, recorded_roofline.modes
    rows = [(mode, modes[mode].note, numbers.share(modes[mode].share)) for mode in order_modes(modes)]
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
        modes=Table(_MODES, rows, "fraction of the limit"),
    )


def rate(bytes_per_s: Number) -> str:
    """Bytes a second, in decimal units as memory is sold: "19.0 GB/s"."""
    number = numbers.finite(bytes_per_s)
    return numbers.MISSING if number is None else f"{number / 1e9:,.1f} GB/s"


def _machine(count: str, limits: Limits) -> Iterator[tuple[str, ...]]:
    for kind, measurement in (("read", limits.read), ("copy", limits.copy), ("triad", limits.triad)):
        if measurement is not None:
            working_set = numbers.binary_bytes(measurement.working_set_bytes)
            yield kind, measurement.by, count, rate(measurement.bytes_per_s), working_set
    for dtype, product in limits.gemm.items():
        speed = f"{numbers.operations(product.flops_per_s)}/s"
        yield f"matrix product {dtype}", product.by, count, speed, numbers.MISSING
