"""Checks whether the cases make both programs take both branches, and searches inputs that do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from compare.hlo.conditions import MOST_NODES
from compare.hlo.watching import Watched
from compare.parity import unjudged
from compare.prove.subjects import Readable, first_inputs
from compare.prove.watched_decisions import WatchedDecisions, watch_decisions
from workloads.core import sweeps
from workloads.core.spec import Arrays, ArraySpec
from workloads.protocol.framework import Twin

CASE = "conditions"
MOST_ELEMENTS = 1 << 14
"""The most elements of all inputs: the search makes hundreds of calls."""
_AT_ONCE = 64
"""Calls per round of the search: most decisions turn at ordinary magnitudes, which come first."""


def find_covering_cases(
    twin: Twin, specs: Mapping[str, ArraySpec], programs: Sequence[Readable], fits: Callable[[Arrays], bool]
) -> tuple[dict[str, Arrays], list[str]]:
    """Cases that take branches which the twin's cases never take, and remarks on branches that no case takes.

    Args:
      specs: its inputs, by name.
      programs: of both sides, in float64.
      fits: whether a case can tell a right port from a wrong one: not where float64 overflows.

    Raises:
      UnreadableProgram: XLA does not run a program apart from its framework.
    """
    if twin.weights or sum(math.prod(spec.shape) for spec in specs.values()) > MOST_ELEMENTS:
        return {}, []
    short = [program for program in programs if len(program.graph) <= MOST_NODES]
    watches = [watch for of in short if (watch := watch_decisions(of, Watched(of.graph), twin)) is not None]
    cases = _search(twin, specs, watches, fits) if any(any(watch.find_one_sided()) for watch in watches) else {}
    remarks = [
        unjudged.one_branch(watch.of.side, str(condition), condition.line, holds)
        for watch in watches
        for _, condition, holds in watch.find_one_sided()
    ]
    return cases, list(dict.fromkeys(remarks))


def _search(
    twin: Twin, specs: Mapping[str, ArraySpec], watches: Sequence[WatchedDecisions], fits: Callable[[Arrays], bool]
) -> dict[str, Arrays]:
    """Calls of the sweeps, the most ordinary first, that take a branch which no earlier call takes."""
    base = first_inputs(twin, specs)
    probes = iter(sorted(sweeps.probes(specs, moderate=False), key=lambda probe: abs(math.log2(probe.magnitude))))
    cases: dict[str, Arrays] = {}
    while not all(watch.is_settled for watch in watches) and (few := list(itertools.islice(probes, _AT_ONCE))):
        inputs = [sweeps.draw_inputs(probe, specs, base) for probe in few]
        for case, *ways in zip(inputs, *(watch.decides(inputs) for watch in watches), strict=True):
            if any(watch.adds(way) for watch, way in zip(watches, ways, strict=True)) and fits(case):
                cases[f"{CASE}{len(cases)}"] = case
                for watch, way in zip(watches, ways, strict=True):
                    watch.look(way)
    return cases
