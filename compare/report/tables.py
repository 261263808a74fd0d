"""Rows of the record as text, shared by the page and the console. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from compare.report import numbers
from compare.report.showable import entries, mapping, part, text
from compare.report.verdicts import gate_verdicts, verdict

MODES = (
    "tf/eager",
    "tf/graph",
    "tf/autocluster",
    "tf/jit",
    "tf/keras",
    "jax/eager",
    "jax/jit",
    "jax/donated",
    "jax/tuned",
)
SIDES = {"tf": "TF", "jax": "JAX"}
PORT = "jax/jit"
DONATED = "jax/donated"
TUNED = "jax/tuned"

FAULT_S, FAULTS_SHARE = 1e-6, 0.05
"""What a page fault takes, and from which part of a call on it is told. Without 13,200 faults ResNet's step took 16 ms
less, without 15,600 BERT's 13 ms: docs/results/zoo.md."""
LARGE_PAGE_FAULTS = 512
"""Faults of 4 KiB in one large page of 2 MiB: with fewer, large pages cannot help."""
LARGE_PAGES = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"
"""From glibc 2.35: https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html."""


@dataclass(frozen=True)
class RatioRow:
    """Time of A over time of B, with its interval, or why there is none."""

    name: str
    ratio: str
    interval: str
    verdict: str
    pairs: str
    rounds: str
    between_pair_share: str
    withheld: str
    null: bool
    """Identical code against itself: what the measurement cannot tell apart."""

    @property
    def line(self) -> str:
        """All of it in one cell."""
        return f"{self.name}: withheld" if self.withheld else f"{self.ratio} {self.interval} {self.verdict}"


@dataclass(frozen=True)
class OverviewRow:
    """One workload in one line."""

    name: str
    anchor: str
    size: str
    dtype: str
    verdict: str
    gates: Mapping[str, str]
    instructions: tuple[str, str]
    kernels: tuple[str, str, str]
    """tf/eager, tf/jit, jax/jit."""
    ratio: RatioRow | None
    attribution: tuple[tuple[str, str], ...]
    tuned: RatioRow | None = None
    """The same of jax/tuned, where the port declares compiler options; beside the other, never in its place."""


@dataclass(frozen=True)
class ModeRow:
    """What one mode costs, apart: to get there, and a call once there."""

    mode: str
    median: str
    first_call: str
    trace: str
    compile: str
    peak: str
    page_faults: str


@dataclass(frozen=True)
class KernelRow:
    """Kernels that a profiler counted in one step of a mode, by name."""

    mode: str
    count: str
    names: tuple[tuple[str, int], ...]
    reason: str
    same_as: str
    """The mode that this one is: nothing of its own was compiled."""


@dataclass(frozen=True)
class Cell:
    """One frontend's program compiled by one side's XLA."""

    name: str
    facts: tuple[tuple[str, str], ...]
    reason: str


def _size(workload: object) -> str:
    size, judged = text(workload, "size"), text(workload, "parity_size")
    return f"{size}, parity at {judged}" if judged and judged != size else size


def overview(record: Mapping[str, Any]) -> tuple[OverviewRow, ...]:
    """Every workload, in the record's order."""
    workloads = mapping(record, "workloads")
    return tuple(_overview(name, anchor, workloads[name]) for name, anchor in anchors(workloads).items())


def anchors(names: Iterable[str]) -> dict[str, str]:
    """An identifier for each name: stable, unique, and harmless in an attribute or a URL."""
    seen: Counter[str] = Counter()
    found: dict[str, str] = {}
    for name in names:
        plain = "workload-" + (re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "unnamed")
        seen[plain] += 1
        found[name] = plain if seen[plain] == 1 else f"{plain}~{seen[plain]}"
    return found


def ordered(modes: Iterable[str]) -> list[str]:
    """Modes in the order in which they are told: TF then JAX, eager before compiled, unknown ones last."""
    known = {mode: place for place, mode in enumerate(MODES)}
    return sorted(modes, key=lambda mode: known.get(mode, len(known)))


def ratios(workload: object) -> tuple[RatioRow, ...]:
    """Every ratio, then the null rows that say how far identical code comes out from itself."""
    groups = (("ratios", False), ("null", True))
    return tuple(
        ratio_row(name, entry, null) for key, null in groups for name, entry in mapping(workload, "timing", key).items()
    )


def against_best(workload: object, port: str = PORT) -> RatioRow | None:
    """The port against the fastest TF mode that was timed with it; None where no such ratio is recorded."""
    timed = mapping(workload, "timing", "modes")
    candidates = {
        name: numbers.finite(part(timed, name.removeprefix(f"{port} vs "), "median_s"))
        for name in mapping(workload, "timing", "ratios")
        if name.startswith(f"{port} vs tf/")
    }
    if not candidates:
        return None
    best = min(candidates, key=lambda name: float("inf") if candidates[name] is None else candidates[name] or 0.0)
    return ratio_row(best, part(workload, "timing", "ratios", best))


def ratio_row(name: str, entry: object, null: bool = False) -> RatioRow:
    """One ratio of the record."""
    withheld = part(entry, "withheld")
    return RatioRow(
        name=name,
        ratio=numbers.ratio(part(entry, "ratio")),
        interval=numbers.interval(part(entry, "ci95")),
        verdict=text(entry, "verdict"),
        pairs=numbers.count(part(entry, "pairs")),
        rounds=numbers.count(part(entry, "rounds")),
        between_pair_share=numbers.share(part(entry, "between_pair_share")),
        withheld="withheld" if withheld is True else str(withheld or ""),
        null=null,
    )


def modes(workload: object) -> tuple[ModeRow, ...]:
    """Times of every mode."""
    timed = mapping(workload, "timing", "modes")
    return tuple(
        ModeRow(
            mode=mode,
            median=numbers.seconds(part(timed, mode, "median_s")),
            first_call=numbers.seconds(part(timed, mode, "first_call_s")),
            trace=numbers.seconds(part(timed, mode, "trace_s")),
            compile=numbers.seconds(part(timed, mode, "compile_s")),
            peak=numbers.binary_bytes(part(timed, mode, "peak_rss_bytes")),
            page_faults=numbers.count(part(timed, mode, "page_faults")),
        )
        for mode in ordered(timed)
    )


def kernels(workload: object) -> tuple[KernelRow, ...]:
    """Kernels of every profiled mode, with how often each name ran."""
    profile = mapping(workload, "profile")
    return tuple(
        KernelRow(
            mode=mode,
            count=numbers.count(part(profile, mode, "kernels")),
            names=tuple(Counter(str(name) for name in entries(profile, mode, "names")).items()),
            reason=text(profile, mode, "reason"),
            same_as=text(profile, mode, "same_as"),
        )
        for mode in ordered(profile)
    )


def matrix(workload: object) -> tuple[tuple[str, tuple[Cell, ...]], ...]:
    """Rows are frontends, columns compilers; empty where nothing was compiled."""
    if not mapping(workload, "compiled"):
        return ()
    return tuple((frontend, tuple(_cell(workload, frontend, compiler) for compiler in SIDES)) for frontend in SIDES)


def compiler_options(workload: object) -> str:
    """What jax/tuned was compiled with, as XLA_FLAGS would say it; empty where the port declares nothing."""
    return " ".join(f"{name}={value}" for name, value in mapping(workload, "compiler_options").items())


def attribution(workload: object) -> tuple[tuple[str, str], ...]:
    """The factors whose product is the jax/tf ratio; empty where there are none."""
    factors = mapping(workload, "attribution")
    return tuple((name, numbers.ratio(part(factors, name))) for name in ("frontend", "compiler", "runtime") if factors)


def attribution_in_words(workload: object) -> str:
    """One sentence; empty where there is no attribution."""
    factors = attribution(workload)
    if not factors:
        return ""
    values = [numbers.finite(part(workload, "attribution", name)) for name, _ in factors]
    whole = [value for value in values if value is not None]
    total = numbers.ratio(prod(whole)) if len(whole) == len(factors) else "an unknown part"
    return f"jax/jit takes {total} of tf/jit's time: {', '.join(f'{name} {factor}' for name, factor in factors)}"


def page_faults_in_words(workload: object) -> str:
    """One sentence where the port maps memory anew in every call and the fastest TF mode does not; else empty."""
    fastest = against_best(workload)
    mode = fastest.name.removeprefix(f"{PORT} vs ") if fastest else ""
    timed = mapping(workload, "timing", "modes")
    own, other = (numbers.finite(part(timed, each, "page_faults")) for each in (PORT, mode))
    median = numbers.finite(part(timed, PORT, "median_s"))
    if own is None or other is None or median is None:
        return ""
    if own < max(LARGE_PAGE_FAULTS, 10 * other, FAULTS_SHARE * median / FAULT_S):
        return ""
    return (
        f"{PORT} takes {numbers.count(own)} page faults a call, {mode} {numbers.count(other)}, "
        "about a microsecond each: its memory is mapped anew each time. "
        f"{LARGE_PAGES} in the environment asks for large pages"
    )


def environment(record: Mapping[str, Any]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The machine, then each side."""
    found = mapping(record, "environment")
    host = tuple((key, str(value)) for key, value in found.items() if key != "sides" and value is not None)
    sides = tuple(
        (SIDES.get(side, side), tuple((key, str(value)) for key, value in mapping(facts).items() if value is not None))
        for side, facts in mapping(found, "sides").items()
    )
    return tuple((name, facts) for name, facts in (("machine", host), *sides) if facts)


def cost(workload: object) -> str:
    """What the mathematics needs, with its source; empty where the workload does not say."""
    needed = mapping(workload, "cost")
    if not needed:
        return ""
    source = text(needed, "source")
    figures = f"{numbers.operations(part(needed, 'flops'))}, {numbers.binary_bytes(part(needed, 'bytes'))} moved"
    return f"{figures} ({source})" if source else figures


def _overview(name: str, anchor: str, workload: object) -> OverviewRow:
    return OverviewRow(
        name=name,
        anchor=anchor,
        size=_size(workload),
        dtype=text(workload, "dtype"),
        verdict=verdict(workload),
        gates=gate_verdicts(workload),
        instructions=(_program(workload, "tf"), _program(workload, "jax")),
        kernels=(_counted(workload, "tf/eager"), _counted(workload, "tf/jit"), _counted(workload, PORT)),
        ratio=against_best(workload),
        attribution=attribution(workload),
        tuned=against_best(workload, TUNED),
    )


def _program(workload: object, side: str) -> str:
    return numbers.count(part(workload, "programs", side, "instructions"))


def _counted(workload: object, mode: str) -> str:
    return numbers.count(part(workload, "profile", mode, "kernels"))


def _cell(workload: object, frontend: str, compiler: str) -> Cell:
    name = f"{frontend}@{compiler}"
    found = mapping(workload, "compiled", name)
    if not found or text(found, "reason"):
        return Cell(name, (), text(found, "reason") or "not compiled")
    agreement = "the reference" if name == "tf@tf" else numbers.error(part(found, "error"))
    facts = (
        ("median time", numbers.seconds(part(workload, "timing", "cells", name, "median_s"))),
        ("kernels", numbers.count(part(found, "kernels"))),
        ("fusions", numbers.count(part(found, "fusions"))),
        ("instructions", numbers.count(part(found, "instructions"))),
        ("temporary memory", numbers.binary_bytes(part(found, "temp_bytes"))),
        ("arithmetic", numbers.operations(part(found, "flops"))),
        ("bytes accessed", numbers.binary_bytes(part(found, "bytes"))),
        ("compile time", numbers.seconds(part(found, "compile_s"))),
        ("difference from tf@tf", agreement),
    )
    return Cell(name, facts, "")
