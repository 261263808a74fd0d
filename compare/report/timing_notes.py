"""Under which conditions a time was taken: threads, what the run could see, and peers beside the two sides. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.report import numbers
from compare.report.showable import entries, mapping, part, text
from compare.report.tables import SIDES, RatioRow, ordered, ratio_row


@dataclass(frozen=True)
class Threads:
    """What was asked for and what each side computed on; `reason` says why they are not equal."""

    sentence: str
    equal: bool
    reason: str


@dataclass(frozen=True)
class ByThreads:
    """Modes by number of threads: for each number the median, and the speed-up over the fewest threads."""

    counts: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    ratios: tuple[tuple[str, tuple[RatioRow | None, ...]], ...]


@dataclass(frozen=True)
class PeerRow:
    """Another port of the same model: whether it computes the same, and its time beside JAX's."""

    name: str
    version: str
    verdict: str
    reason: str
    median: str
    ratio: RatioRow | None


def threads(workload: object) -> Threads | None:
    """One sentence; None where the record does not say."""
    found = mapping(workload, "timing", "threads")
    if not found:
        return None
    asked = part(found, "asked")
    wanted = "as many threads as the frameworks choose" if asked is None else f"{_many(asked, 'thread')} asked for"
    sides = [
        f"{SIDES.get(side, side)} computed on {_many(part(each, 'parallelism'), 'thread')} of "
        f"{_many(len(entries(each, 'processors')) or None, 'processor')}"
        for side, each in mapping(found, "sides").items()
    ]
    equal = part(found, "equal") is not False
    return Threads("; ".join([wanted, *sides]), equal, "" if equal else text(found, "reason"))


def planted(workload: object) -> tuple[RatioRow, ...]:
    """Slowdowns of known size and what the verdict said of each."""
    return tuple(ratio_row(name, row) for name, row in mapping(workload, "timing", "power", "planted").items())


def smallest(workload: object) -> tuple[tuple[str, str], ...]:
    """By mode, the smallest slowdown that this run calls 95 times in 100."""
    found = mapping(workload, "timing", "power", "smallest")
    return tuple((mode, _slowdown(found[mode])) for mode in ordered(found))


def by_threads(workload: object) -> ByThreads | None:
    """Modes and ratios by number of threads; None for fewer than two numbers."""
    found = mapping(workload, "by_threads")
    counts = sorted(found, key=_number)
    if len(counts) < 2:
        return None
    timed = [mapping(found, count, "modes") for count in counts]
    modes = ordered(dict.fromkeys(mode for each in timed for mode in each))
    stated = [mapping(found, count, "ratios") for count in counts]
    names = dict.fromkeys(name for each in stated for name in each)
    return ByThreads(
        counts=tuple(counts),
        rows=tuple((mode, _speed_ups([part(each, mode, "median_s") for each in timed])) for mode in modes),
        ratios=tuple(
            (name, tuple(ratio_row(name, each[name]) if name in each else None for each in stated)) for name in names
        ),
    )


def peers(workload: object) -> tuple[PeerRow, ...]:
    """Every peer, whether it could be had or not."""
    return tuple(_peer(workload, name, found) for name, found in mapping(workload, "peers").items())


def _peer(workload: object, name: str, found: object) -> PeerRow:
    mode = f"{name}/jit"
    ratio = part(workload, "timing", "ratios", f"jax/jit vs {mode}")
    return PeerRow(
        name=name,
        version=text(found, "version") or numbers.MISSING,
        verdict=text(found, "verdict") or "not_judged",
        reason=text(found, "reason") or _complaint(mapping(found, "gates")),
        median=numbers.seconds(part(workload, "timing", "modes", mode, "median_s")),
        ratio=ratio_row(f"jax/jit vs {mode}", ratio) if ratio else None,
    )


def _complaint(gates: Mapping[str, Any]) -> str:
    """What the failing gates say."""
    said = [(name, text(gate, "message")) for name, gate in gates.items() if part(gate, "verdict") == "fail"]
    return "; ".join(f"{name}: {message}" if message else f"{name} fails" for name, message in said)


def _speed_ups(medians: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    first = numbers.finite(medians[0])
    cells = []
    for median in medians:
        here = numbers.finite(median)
        cells.append((numbers.seconds(median), numbers.ratio(first / here) if first and here else numbers.MISSING))
    return tuple(cells)


def _slowdown(value: object) -> str:
    found = numbers.finite(value)
    return f"{100 * found:.1f} %" if found is not None else "none below a factor of 100"


def _many(count: object, what: str) -> str:
    found = numbers.finite(count)
    if found is None:
        return f"{what}s not counted"
    return f"{round(found, 1):g} {what}{'' if round(found, 1) == 1 else 's'}"


def _number(count: str) -> tuple[float, str]:
    """Numbers by their size, and anything else after them."""
    return (float(count), count) if count.isdecimal() else (float("inf"), count)
