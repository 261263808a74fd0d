"""Kernels of a training step, grouped by phase. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from compare.record.base import Number
from compare.record.vocabulary import BACKWARD, BOTH
from compare.report import numbers

_Kernel = TypeVar("_Kernel")

UNKNOWN = "phase unknown"
"""Kernels of which neither a name nor a value tells the phase."""


def by_phase(
    kernels: Iterable[_Kernel], phase: Callable[[_Kernel], str], seconds: Callable[[_Kernel], Number]
) -> list[tuple[str, list[_Kernel]]]:
    """Kernels with the title of their phase, the phase that takes longest first; "" where there is no training step.

    Args:
      phase: of a kernel, one of vocabulary.PHASES, or "" where nothing tells it.
    """
    groups: dict[str, list[_Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(phase(kernel), []).append(kernel)
    if not groups.keys() & {BACKWARD, BOTH}:
        return [("", [kernel for group in groups.values() for kernel in group])] if groups else []
    times = {name: _sum(seconds(kernel) for kernel in group) for name, group in groups.items()}
    total = sum(times.values()) or 1.0
    longest = sorted(groups, key=lambda name: -times[name])
    return [(title(name, times[name], times[name] / total), groups[name]) for name in longest]


def title(phase: str, seconds: Number, share: Number) -> str:
    """A phase with its time.

    Args:
      phase: one of vocabulary.PHASES, or "".
    """
    return f"{phase or UNKNOWN}: {numbers.seconds(seconds)}, {numbers.share(share)}"


def _sum(times: Iterable[Number]) -> float:
    finite_times: Sequence[float | None] = [numbers.finite(time) for time in times]
    return sum(filter(None, finite_times))
