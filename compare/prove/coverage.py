"""Whether the cases make both programs decide both ways; inputs that do, where some can be found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.hlo.conditions import MOST_NODES, Condition, Ways
from compare.hlo.watching import Watched, either
from compare.parity import messages
from compare.prove.running import arguments
from compare.prove.subjects import Readable, first_inputs
from workloads import _sweeps
from workloads._framework import Twin
from workloads._spec import Arrays, ArraySpec

CASE = "conditions"
MOST_ELEMENTS = 1 << 14
"""Of all inputs: hundreds of calls are looked among."""
MOST_ORDERS = 40
"""Binary orders of the inputs that are looked among."""


@dataclass
class _Watch:
    """One side's program, and which way it was seen to decide."""

    of: Readable
    watched: Watched
    seen: list[Ways]

    def decides(self, twin: Twin, cases: Sequence[Arrays]) -> list[list[Ways]]:
        """By case and condition, which ways it goes."""
        return self.watched.seen([arguments(self.of.program, twin, case) for case in cases])

    def unseen(self) -> Iterator[tuple[Condition, bool]]:
        """Decisions that came out one way alone, and whether that way was to hold."""
        for condition, (held, failed) in zip(self.watched.conditions, self.seen, strict=True):
            if held != failed:
                yield condition, held


def covering(
    twin: Twin, specs: Mapping[str, ArraySpec], programs: Sequence[Readable], fits: Callable[[Arrays], bool]
) -> tuple[dict[str, Arrays], list[str]]:
    """Cases that decide what the twin's decide one way alone, and remarks on what no such case was found for.

    Args:
      twin: the workload's arrays.
      specs: its inputs, by name.
      programs: of both sides, in float64.
      fits: whether a case tells ports apart: not where float64 overflows.

    Raises:
      UnreadableProgram: XLA does not run a program apart from its framework.
    """
    if twin.weights or sum(math.prod(spec.shape) for spec in specs.values()) > MOST_ELEMENTS:
        return {}, []
    watches = [watch for program in programs if (watch := _watch(program)) is not None]
    for watch in watches:
        for ways in watch.decides(twin, list(twin.cases.values())):
            watch.seen = either(watch.seen, ways)
    cases = _searched(twin, specs, watches, fits) if any(any(watch.unseen()) for watch in watches) else {}
    remarks = [
        messages.unseen(watch.of.side, str(condition), condition.line, held)
        for watch in watches
        for condition, held in watch.unseen()
    ]
    return cases, list(dict.fromkeys(remarks))


def _searched(
    twin: Twin, specs: Mapping[str, ArraySpec], watches: Sequence[_Watch], fits: Callable[[Arrays], bool]
) -> dict[str, Arrays]:
    """Calls of the sweeps, the most ordinary first, that decide in a way that none before did."""
    base = first_inputs(twin, specs)
    probes = [
        probe for probe in _sweeps.probes(specs, moderate=False) if abs(math.log2(probe.magnitude)) <= MOST_ORDERS
    ]
    probes.sort(key=lambda probe: abs(math.log2(probe.magnitude)))
    drawn = [_sweeps.drawn(probe, specs, base) for probe in probes]
    cases: dict[str, Arrays] = {}
    for case, *ways in zip(drawn, *(watch.decides(twin, drawn) for watch in watches), strict=True):
        now = [either(watch.seen, way) for watch, way in zip(watches, ways, strict=True)]
        if any(watch.seen != way for watch, way in zip(watches, now, strict=True)) and fits(case):
            cases[f"{CASE}{len(cases)}"] = case
            for watch, way in zip(watches, now, strict=True):
                watch.seen = way
    return cases


def _watch(of: Readable) -> _Watch | None:
    """The program, ready to be watched; None where it decides nothing."""
    watched = Watched(of.graph) if len(of.graph) <= MOST_NODES else None
    if watched is None or not watched.conditions:
        return None
    return _Watch(of, watched, [Ways(False, False)] * len(watched.conditions))
