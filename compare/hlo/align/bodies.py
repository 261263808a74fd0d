"""Bodies of loops, branches and reducers as problems of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compare.hlo.align._alignment import SLOT, Match
from compare.hlo.align._problem import Problem
from compare.hlo.align.calls import Positions
from compare.hlo.align.equal_values import Arguments, Runs
from compare.hlo.align.slots import ResultPair, random_array
from compare.hlo.align.state import SlotPairs, flatten_slots, slot_values, slots_of
from compare.hlo.graph import Graph
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Rewritten


def body_problem(
    outer: Problem,
    bodies: Pair[Graph],
    slots: SlotPairs,
    results: Positions,
    form_of: Callable[[Graph], Rewritten],
) -> Problem:
    """Two bodies as a problem. If the outer graphs are run, the bodies are run too, on random state.

    Args:
      results: positions of results that are one.
    """
    left, right = bodies
    ends = [ResultPair(f"result {one}", left.results[one], right.results[other]) for one, other in results]
    return Problem(
        level=outer.level,
        labels=outer.labels,
        forms=bodies.map(form_of),
        slots=_match_slots(bodies, slots),
        results=ends,
        names=bodies.map(_names),
        paired_by_name=False,
        runs=_runs(outer.runs, bodies, slots) if outer.runs else None,
    )


def _match_slots(bodies: Pair[Graph], slots: SlotPairs) -> list[Match]:
    values = bodies.map(slot_values)
    nodes = bodies.map(lambda body: body.nodes)
    ends = [
        (values.left[slot.left], values.right[slot.right])
        for slot in slots
        if slot.left in values.left and slot.right in values.right
    ]
    arrays = [(one, other) for one, other in ends if nodes.left[one].shape == nodes.right[other].shape]
    tuples = [
        (one, other)
        for one, other in zip(bodies.left.parameters, bodies.right.parameters, strict=False)
        if nodes.left[one].shape.dtype == nodes.right[other].shape.dtype == "tuple"
    ]
    return [Match(one, other, SLOT) for one, other in (*arrays, *tuples)]


def _names(body: Graph) -> dict[int, str]:
    return {
        key: f"parameter {slot.parameter}" if slot.part is None else f"state {slot.part}"
        for slot, key in slot_values(body).items()
    }


def _runs(outer: Runs, bodies: Pair[Graph], slots: SlotPairs) -> Runs | None:
    left, right = bodies.map(flatten_slots)
    if left is None or right is None:
        return None
    return Runs(Pair(left, right), lambda: _random_cases(bodies, slots), outer.tolerance, outer.budget, loops=False)


def _random_cases(bodies: Pair[Graph], slots: SlotPairs) -> list[Arguments]:
    """Arguments of both in the order of their slots; slots that are one get the same arrays."""
    partners = {slot.right: slot.left for slot in slots}
    cases: list[Arguments] = []
    for seed in (0, 1):
        generator = np.random.default_rng(seed)
        left = {slot: random_array(shape, generator) for slot, shape in slots_of(bodies.left).items()}
        right = {slot: random_array(shape, generator) for slot, shape in slots_of(bodies.right).items()}
        right |= {slot: left[one] for slot, one in partners.items() if _fits(left[one], right[slot])}
        cases.append((list(left.values()), list(right.values())))
    return cases


def _fits(one: np.ndarray, other: np.ndarray) -> bool:
    return (one.shape, one.dtype) == (other.shape, other.dtype)
