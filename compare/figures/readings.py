"""Readings of the record of `jaxport run` or `bench`, of one workload at one size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compare.figures.row import Answer, Reading, Unread
from compare.record.base import Interval
from compare.record.vocabulary import FAIL, NOT_JUDGED

BYTES, SECONDS, FACTOR = "bytes", "s", "x"


def value_at(data: Any, *path: str | int) -> Any:
    """The value at a path of plain JSON.

    Raises:
      Unread: nothing does, or a null.
    """
    for depth, step in enumerate(path):
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            data = None
        if data is None:
            raise Unread(f"the record has no {'.'.join(map(str, path[: depth + 1]))}")
    return data


def number_at(data: Any, *path: str | int) -> float:
    """The number at a path of plain JSON.

    Raises:
      Unread: there is none.
    """
    value = value_at(data, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unread(f"the record has {str(value)[:40]!r} at {'.'.join(map(str, path))}, and no number")
    return float(value)


def reading(name: str, unit: str, read: Callable[[Any], float]) -> Reading:
    """A number without an interval, from the JSON that was printed.

    Args:
      name: what it counts or measures.
    """
    return Reading(name, unit, lambda answer: (read(answer.printed), None))


def workload(data: Any, name: str, size: str) -> dict[str, Any]:
    """One workload's part of a record.

    Raises:
      Unread: the record is of another workload or another size.
    """
    workloads = value_at(data, "workloads")
    if name not in workloads:
        raise Unread(f"expected a record of {name}, found one of {', '.join(workloads) or 'nothing'}")
    if value_at(workloads, name, "size") != size:
        raise Unread(f"expected a record of {name} at size {size}, found size {workloads[name]['size']}")
    return workloads[name]


class OfRun:
    """Readings of one workload at one size; `label` stands before their names where a row has several workloads."""

    def __init__(self, name: str, size: str, label: str = "") -> None:
        self._name, self._size, self._label = name, size, f"{label}: " if label else ""

    def number(self, name: str, unit: str, *path: str | int) -> Reading:
        """The number at a path of the workload's part.

        Args:
          name: what it counts or measures.
        """
        return self.of(name, unit, lambda part: number_at(part, *path))

    def of(self, name: str, unit: str, read: Callable[[dict[str, Any]], float]) -> Reading:
        """A number of the workload's part.

        Args:
          name: what it counts or measures.
        """
        return reading(self._label + name, unit, lambda data: read(workload(data, self._name, self._size)))

    def kernels(self, *modes: str) -> tuple[Reading, ...]:
        """Kernels that a profiler saw in one call of each mode."""
        return tuple(self.number(f"kernels of {mode}", "", "profile", mode, "kernels") for mode in modes)

    def speed_ups(self, over: str, *modes: str) -> tuple[Reading, ...]:
        """The time of `over` divided by that of each mode: above 1 the mode is faster."""
        return tuple(self._speed_up(mode, over) for mode in modes)

    def seconds(self, *modes: str) -> tuple[Reading, ...]:
        """The median time of a call of each mode."""
        return tuple(self.number(f"time of {mode}", SECONDS, "timing", "modes", mode, "median_s") for mode in modes)

    def gates(self) -> Reading:
        """How many gates of parity hold; none where one fails."""
        return self.of("gates of parity that hold", "", _gates)

    def _speed_up(self, mode: str, over: str) -> Reading:
        def read(answer: Answer) -> tuple[float, Interval]:
            return _inverse(workload(answer.printed, self._name, self._size), mode, over)

        return Reading(f"{self._label}{mode} faster than {over}", FACTOR, read)


def _inverse(part: dict[str, Any], mode: str, over: str) -> tuple[float, Interval]:
    """The record has time over time, and the documents speed-ups."""
    ratio = value_at(part, "timing", "ratios", f"{mode} vs {over}")
    if ratio.get("withheld"):
        raise Unread(f"withheld: {ratio['withheld']}")
    value = number_at(ratio, "ratio")
    interval = ratio.get("ci95")
    return 1 / value, interval and (1 / number_at(interval, 1), 1 / number_at(interval, 0))


def _gates(part: dict[str, Any]) -> float:
    gates = value_at(part, "parity", "gates")
    failing = [name for name, gate in gates.items() if gate["verdict"] in (FAIL, NOT_JUDGED)]
    if failing:
        raise Unread(f"{', '.join(failing)} does not hold")
    return sum(gate["verdict"] == "pass" for gate in gates.values())
