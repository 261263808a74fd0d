"""Under which conditions a time was taken: threads, statistical power, and peers beside the two sides. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.record.base import Number
from compare.record.cost_parts import Peer, PeerGate
from compare.record.timing_part import Bound, Power, Timing
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.showable import present
from compare.report.tables import SIDES, RatioRow, order_modes, ratio_row, recorded_ratio
from compare.report.verdicts import NOT_JUDGED
from workloads.core.modes import PEER_NAME, PORT, Mode, Pair


@dataclass(frozen=True)
class Threads:
    """The threads requested and those that each side used; `reason` says why they are not equal."""

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


def threads(workload: Workload) -> Threads | None:
    """One sentence; None where the record does not say."""
    usage = present((workload.timing or Timing()).threads)
    if usage is None:
        return None
    count = usage.asked
    request = "as many threads as the frameworks choose" if count is None else f"{_many(count, 'thread')} requested"
    sides = [
        f"{SIDES.get(side, side)} {_usage(bound, usage.equal)} {_many(len(bound.processors) or None, 'processor')}"
        for side, bound in usage.sides.items()
    ]
    equal = usage.equal is not False
    return Threads("; ".join([request, *sides]), equal, "" if equal else usage.reason)


def _usage(bound: Bound, equal: bool | None) -> str:
    """Threads that were not counted are equal only on a GPU, where threads just launch kernels."""
    is_launched = equal and bound.parallelism is None
    return "launched from" if is_launched else f"used {_many(bound.parallelism, 'thread')} on"


def planted_rows(workload: Workload) -> tuple[RatioRow, ...]:
    """Slowdowns of known size and what the verdict said of each."""
    return tuple(ratio_row(name, ratio) for name, ratio in _power(workload).planted.items())


def smallest(workload: Workload) -> tuple[tuple[str, str], ...]:
    """By mode, the smallest slowdown that this run detects 95 times in 100."""
    slowdowns = _power(workload).smallest
    return tuple((mode, _slowdown(slowdowns[mode])) for mode in order_modes(slowdowns))


def by_threads(workload: Workload) -> ByThreads | None:
    """Modes and ratios by number of threads; None for fewer than two numbers."""
    counts = sorted(workload.by_threads, key=_number)
    if len(counts) < 2:
        return None
    timings = [workload.by_threads[count] for count in counts]
    modes = order_modes(dict.fromkeys(mode for timing in timings for mode in timing.modes))
    names = dict.fromkeys(name for timing in timings for name in timing.ratios)
    return ByThreads(
        counts=tuple(counts),
        rows=tuple((mode, _speed_ups([_median(timing, mode) for timing in timings])) for mode in modes),
        ratios=tuple((name, tuple(_ratio(timing, name) for timing in timings)) for name in names),
    )


def peers(workload: Workload) -> tuple[PeerRow, ...]:
    """Every peer, whether it could be run or not."""
    return tuple(_peer(workload, name, peer) for name, peer in workload.peers.items())


def _power(workload: Workload) -> Power:
    return (workload.timing or Timing()).power or Power()


def _ratio(timing: Timing, name: str) -> RatioRow | None:
    return ratio_row(name, timing.ratios[name]) if name in timing.ratios else None


def _peer(workload: Workload, name: str, peer: Peer) -> PeerRow:
    mode, timing = Mode(name, PEER_NAME), workload.timing or Timing()
    return PeerRow(
        name=name,
        version=peer.version or numbers.MISSING,
        verdict=peer.verdict or NOT_JUDGED,
        reason=peer.reason or _complaint(peer.gates),
        median=numbers.seconds(_median(timing, str(mode))),
        ratio=recorded_ratio(timing, Pair(PORT, mode)),
    )


def _median(timing: Timing, mode: str) -> Number:
    mode_times = timing.modes.get(mode)
    return mode_times.median_s if mode_times else None


def _complaint(gates: Mapping[str, PeerGate]) -> str:
    """The messages of the failing gates."""
    failing = {name: gate.message for name, gate in gates.items() if gate.verdict == "fail"}
    return "; ".join(f"{name}: {message}" if message else f"{name} fails" for name, message in failing.items())


def _speed_ups(medians: Sequence[Number]) -> tuple[tuple[str, str], ...]:
    first = numbers.finite(medians[0])
    return tuple((numbers.seconds(median), _speed_up(first, numbers.finite(median))) for median in medians)


def _speed_up(first: float | None, here: float | None) -> str:
    return numbers.ratio(first / here) if first and here else numbers.MISSING


def _slowdown(value: Number) -> str:
    slowdown = numbers.finite(value)
    return f"{100 * slowdown:.1f} %" if slowdown is not None else "none below a factor of 100"


def _many(count: Number, what: str) -> str:
    number = numbers.finite(count)
    if number is None:
        return f"an unknown number of {what}s"
    return f"{round(number, 1):g} {what}{'' if round(number, 1) == 1 else 's'}"


def _number(count: str) -> tuple[float, str]:
    """Numbers by their size, and anything else after them."""
    return (float(count), count) if count.isdecimal() else (float("inf"), count)
