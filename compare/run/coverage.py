"""Whether the cases make both programs decide both ways; inputs that do, where some can be found."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from compare.hlo import levels
from compare.hlo.conditions import Condition, Watched, conditions
from compare.hlo.files import hlo_of_artifact
from compare.hlo.levels import Subject
from compare.parity import messages
from compare.run.oracle import Doubles
from compare.sides._side import SIDES
from workloads import _sweeps
from workloads._framework import FORWARD, Program, Twin
from workloads._spec import Arrays, ArraySpec

CASE = "conditions"
MOST_NODES = 500
"""A larger program is a model's: it decides by its weights, and each look at it costs seconds."""
MOST_ELEMENTS = 1 << 18
"""Of all inputs: hundreds of calls are looked among."""
MOST_ORDERS = 40
"""Binary orders of the inputs that are looked among."""


@dataclass
class _Watch:
    """One side's program, and which way it was seen to decide."""

    side: str
    program: Program
    watched: Watched
    seen: list[tuple[bool, bool]]

    def look(self, twin: Twin, case: Arrays) -> bool:
        """Run a case; whether it decided anything in a way that none had before."""
        one = dataclasses.replace(twin, cases={"": case})
        found = self.watched.seen([one.argument(each, "", self.program.states) for each in self.program.parameters])
        before = self.seen
        self.seen = [
            (held or now_held, failed or now_failed)
            for (held, failed), (now_held, now_failed) in zip(before, found, strict=True)
        ]
        return self.seen != before

    def unseen(self) -> Iterator[tuple[Condition, bool]]:
        """Decisions that came out one way alone, and whether that way was to hold."""
        for condition, (held, failed) in zip(self.watched.conditions, self.seen, strict=True):
            if held != failed:
                yield condition, held


def covering(
    twin: Twin, specs: Mapping[str, ArraySpec], doubles: Doubles, fits: Callable[[Arrays], bool]
) -> tuple[dict[str, Arrays], list[str]]:
    """Cases that decide what the twin's decide one way alone, and remarks on what no such case was found for.

    Args:
      fits: whether a case tells ports apart: not where float64 overflows.

    Raises:
      UnreadableProgram: XLA does not run a program apart from its framework.
    """
    if twin.weights or sum(math.prod(spec.shape) for spec in specs.values()) > MOST_ELEMENTS:
        return {}, []
    watches = [watch for side in SIDES if (watch := _watch(side, doubles.programs.get((side, FORWARD)))) is not None]
    for watch in watches:
        for case in twin.cases.values():
            watch.look(twin, case)
    found: dict[str, Arrays] = {}
    base = {name: twin.cases[next(iter(twin.cases))][name] for name in specs}
    for probe in _sweeps.probes(specs, moderate=False):
        if not any(any(watch.unseen()) for watch in watches):
            break
        if abs(math.log2(probe.magnitude)) <= MOST_ORDERS:
            drawn = _sweeps.drawn(probe, specs, base)
            if not fits(drawn):
                continue
            # Both are looked at: one case may serve both.
            if any([watch.look(twin, drawn) for watch in watches]):
                found[f"{CASE}{len(found)}"] = drawn
    remarks = [
        messages.unseen(watch.side, str(condition), condition.line, held)
        for watch in watches
        for condition, held in watch.unseen()
    ]
    return found, list(dict.fromkeys(remarks))


def _watch(side: str, program: Program | None) -> _Watch | None:
    """The program, ready to be watched; None where it decides nothing."""
    if program is None:
        return None
    graph = levels.read(Subject(side, hlo_of_artifact(program.artifact), sources=program.sources))
    watched = conditions(graph) if len(graph) <= MOST_NODES else []
    if not watched:
        return None
    return _Watch(side, program, Watched(graph, watched), [(False, False)] * len(watched))
