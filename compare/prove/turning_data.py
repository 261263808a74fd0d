"""Finds batches and weights that turn decisions of a training step about its gradients or its loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from compare.hlo.conditions import Ways
from compare.parity import unjudged
from compare.prove.placed_training import Change, Placement
from compare.prove.running import MOST_BYTES, arguments
from compare.prove.step_sides import StepSide
from workloads.protocol.framework import WEIGHTS, Twin

FACTORS = (*(2.0 ** (sign * exponent) for exponent in (1, 2, 3, 4, 6, 8, 10, 14, 20) for sign in (1, -1)), 0.0)
"""The factors of batches or weights, the most ordinary first."""
STEPS = 2
"""Steps of a run with changed batches: after a large step the next ones are larger still."""

Missing = tuple[int, bool]
"""A decision, by position, with one result on all data, and whether that was true."""


def runs_that_turn(
    twin: Twin, sides: Sequence[StepSide], ways: Mapping[str, Sequence[Ways]]
) -> tuple[list[Placement], list[str]]:
    """Runs whose batches turn decisions over data, and remarks on those that nothing turns.

    Args:
      ways: by side, which ways its decisions over data went in ordinary steps.

    Raises:
      UnreadableProgram: XLA cannot run a step with the values that it decides by as results.
    """
    changes: dict[str, Change] = {}
    remarks: list[str] = []
    for side in sides:
        missing = list(_one_sided(ways.get(side.side, ())))
        turning = _changes_that_turn(twin, side, missing) if missing else {}
        changes |= {str(change): change for change in turning.values()}
        for position, holds in missing:
            if (position, holds) not in turning:
                decision = side.decisions[position]
                remarks.append(unjudged.never_turned(side.side, str(decision), decision.line, holds))
    return [Placement(f"trajectory with {name}", 0, STEPS, change=change) for name, change in changes.items()], remarks


def _one_sided(ways_by_decision: Sequence[Ways]) -> Iterator[Missing]:
    for position, ways in enumerate(ways_by_decision):
        if ways.held != ways.failed:
            yield position, ways.held


def _changes_that_turn(twin: Twin, side: StepSide, missing: Sequence[Missing]) -> dict[Missing, Change]:
    """By decision, the most ordinary change that turns it."""
    turning: dict[Missing, Change] = {}
    changes = list(_changes(twin))
    of_one = sum(array.nbytes for array in _first_call(twin, side, changes[0]))
    at_once = max(1, MOST_BYTES // max(of_one, 1))
    for start in range(0, len(changes), at_once):
        some = changes[start : start + at_once]
        for change, call in zip(some, side.observe([_first_call(twin, side, change) for change in some]), strict=True):
            for position, holds in missing:
                is_turned = call.ways[position].failed if holds else call.ways[position].held
                # A batch that is not finite shows only how the step treats such batches.
                fits = bool(change.infinite) if side.decisions[position].is_special else np.isfinite(call.loss)
                if is_turned and fits:
                    turning.setdefault((position, holds), change)
        if len(turning) == len(missing):
            break
    return turning


def _changes(twin: Twin) -> Iterator[Change]:
    floats = tuple(name for name in twin.inputs if twin.batches[name].dtype.kind == "f")
    for inputs in dict.fromkeys([floats, *((name,) for name in floats), ()]):
        yield from (Change(inputs, factor) for factor in FACTORS)
    yield from (Change(infinite=name) for name in floats)


def _first_call(twin: Twin, side: StepSide, change: Change) -> list[np.ndarray]:
    """The arguments of the first step of a run."""
    twin = change.apply(twin)
    own = {name: array for name, array in twin.cases[twin.first_case].items() if name.startswith(WEIGHTS)}
    return arguments(side.program, twin, {**own, **{name: array[0] for name, array in twin.batches.items()}})
