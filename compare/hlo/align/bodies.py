"""Bodies of loops, branches and reducers as problems of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compare.hlo.align._alignment import SLOT, Match
from compare.hlo.align._problem import Problem
from compare.hlo.align.calls import Positions
from compare.hlo.align.equal_values import Arguments, Runs
from compare.hlo.align.slots import ResultPair, random_array
from compare.hlo.align.state import SlotPairs, flattened, slot_values, slots_of
from compare.hlo.graph import Graph
from compare.hlo.rewriting import Rewritten


def body_problem(
    outer: Problem,
    bodies: tuple[Graph, Graph],
    slots: SlotPairs,
    results: Positions,
    form_of: Callable[[Graph], Rewritten],
) -> Problem:
    """Two bodies, the slots that are one filled alike; where the outer graphs are run, so are they, on random state."""
    forms = form_of(bodies[0]), form_of(bodies[1])
    ends = [ResultPair(f"result {one}", bodies[0].results[one], bodies[1].results[other]) for one, other in results]
    return Problem(
        level=outer.level,
        labels=outer.labels,
        forms=forms,
        slots=_matched(bodies, slots),
        results=ends,
        names=(_names(bodies[0]), _names(bodies[1])),
        paired_by_name=False,
        runs=_runs(outer.runs, bodies, slots) if outer.runs else None,
    )


def _matched(bodies: tuple[Graph, Graph], slots: SlotPairs) -> list[Match]:
    values = slot_values(bodies[0]), slot_values(bodies[1])
    found = [
        Match(values[0][one], values[1][other], SLOT) for one, other in slots if one in values[0] and other in values[1]
    ]
    found = [each for each in found if bodies[0].nodes[each.left].shape == bodies[1].nodes[each.right].shape]
    tuples = zip(bodies[0].parameters, bodies[1].parameters, strict=False)
    return found + [
        Match(one, other, SLOT)
        for one, other in tuples
        if bodies[0].nodes[one].shape.dtype == bodies[1].nodes[other].shape.dtype == "tuple"
    ]


def _names(body: Graph) -> dict[int, str]:
    return {
        key: f"parameter {at}" if part is None else f"state {part}" for (at, part), key in slot_values(body).items()
    }


def _runs(outer: Runs, bodies: tuple[Graph, Graph], slots: SlotPairs) -> Runs | None:
    left, right = flattened(bodies[0]), flattened(bodies[1])
    if left is None or right is None:
        return None
    return Runs((left, right), lambda: _random_cases(bodies, slots), outer.tolerance, outer.budget, loops=False)


def _random_cases(bodies: tuple[Graph, Graph], slots: SlotPairs) -> list[Arguments]:
    """Arguments of both in the order of their slots, slots that are one filled alike."""
    partners = {other: one for one, other in slots}
    cases: list[Arguments] = []
    for seed in (0, 1):
        generator = np.random.default_rng(seed)
        made = {slot: random_array(shape, generator) for slot, shape in slots_of(bodies[0]).items()}
        other = {slot: random_array(shape, generator) for slot, shape in slots_of(bodies[1]).items()}
        other |= {slot: made[one] for slot, one in partners.items() if _fits(made[one], other[slot])}
        cases.append((list(made.values()), list(other.values())))
    return cases


def _fits(one: np.ndarray, other: np.ndarray) -> bool:
    return (one.shape, one.dtype) == (other.shape, other.dtype)
