"""What the machine can do, and how near to that each mode comes, as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compare.report import numbers
from compare.report.showable import mapping, part, text
from compare.report.tables import ordered

TRAFFIC = ("read", "copy", "triad")
BOUNDS = {"memory": "moving its bytes", "compute": "its arithmetic", "dispatch": "calling it at all"}


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
    """The least time that a step can take on this machine, and each mode held against it."""

    sentence: str
    bounds: tuple[tuple[str, str], ...]
    rows: tuple[LimitRow, ...]


def machine(record: object) -> tuple[MachineRow, ...]:
    """Bandwidth by kind of traffic, then matrix products by type, for each number of threads."""
    found = mapping(record, "machine")
    return tuple(row for count in sorted(found, key=lambda each: (len(each), each)) for row in _machine(found, count))


def roofline(workload: object) -> Roofline | None:
    """None where the record has none."""
    found = mapping(workload, "roofline")
    if not found:
        return None
    bound = text(found, "bound")
    traffic = f"{text(found, 'kind')} traffic at {rate(part(found, 'bandwidth_bytes_per_s'))}"
    by = f" by {text(found, 'bandwidth_by')}" if text(found, "bandwidth_by") else ""
    return Roofline(
        sentence=(
            f"A step takes about {numbers.seconds(part(found, 'limit_s'))} at least here: that is "
            f"{BOUNDS.get(bound, bound or 'not said')} (threads: {numbers.count(part(found, 'threads'))}, "
            f"{numbers.binary_bytes(part(found, 'working_set_bytes'))} in use, {traffic}{by})"
        ),
        bounds=tuple(
            (BOUNDS.get(name.removesuffix("_s"), name), numbers.seconds(value))
            for name, value in mapping(found, "bounds").items()
        ),
        rows=tuple(
            LimitRow(mode, numbers.share(part(found, "modes", mode, "share")), text(found, "modes", mode, "note"))
            for mode in ordered(mapping(found, "modes"))
        ),
    )


def rate(bytes_per_s: Any) -> str:
    """Bytes a second, in decimal units as memory is sold: "19.0 GB/s"."""
    found = numbers.finite(bytes_per_s)
    return numbers.MISSING if found is None else f"{found / 1e9:,.1f} GB/s"


def _machine(found: Mapping[str, Any], count: str) -> list[MachineRow]:
    rows = [
        MachineRow(
            threads=count,
            figure=kind,
            value=rate(part(found, count, kind, "bytes_per_s")),
            by=text(found, count, kind, "by"),
            working_set=numbers.binary_bytes(part(found, count, kind, "working_set_bytes")),
        )
        for kind in TRAFFIC
        if mapping(found, count, kind)
    ]
    for dtype, product in mapping(found, count, "gemm").items():
        speed = numbers.operations(part(product, "flops_per_s"))
        rows.append(MachineRow(count, f"matrix product {dtype}", f"{speed}/s", text(product, "by"), numbers.MISSING))
    return rows
