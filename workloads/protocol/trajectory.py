"""A training run as every side records it: the loss of every step, and the weights at its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workloads.core.spec import Arrays
from workloads.protocol.framework import Twin

LOSS = "loss"
"""The array of the losses of all steps."""

WEIGHTS, STATE = "weights", "state"
"""The arrays beside losses that a run keeps after a step: weights, and the optimizer's state."""


@dataclass(frozen=True)
class KeptArray:
    """The parsed name of an array that a run kept after a step, "weights@STEP/PATH"; only this class parses it.

    Attributes:
      step: after which, from 1.
      path: of the weight, or the name of the state.
      kind: WEIGHTS or STATE.
    """

    step: int
    path: str
    kind: str = WEIGHTS

    def __str__(self) -> str:
        return f"{self.kind}@{self.step}/{self.path}"


def kept_as(name: str) -> KeptArray | None:
    """Parse the name of an array; None for the losses, which belong to all steps."""
    kind, separator, rest = name.partition("@")
    step, slash, path = rest.partition("/")
    return KeptArray(int(step), path, kind) if separator and slash and kind in (WEIGHTS, STATE) else None


@dataclass(frozen=True)
class Guide:
    """Another run's weights, which a training run goes on from: so no step amplifies the errors of those before it.

    Attributes:
      kept: "weights@STEP/PATH" of the other run.
      start_from: makes weights, by canonical path, those that the next step starts from.
    """

    kept: Arrays
    start_from: Callable[[Arrays], None]

    def replace(self, step_number: int) -> None:
        """Go on from the weights that the other run had after so many steps; from one's own where it kept none."""
        kept_arrays = ((kept_as(name), array) for name, array in self.kept.items())
        weights = {
            of.path: array
            for of, array in kept_arrays
            if of is not None and (of.step, of.kind) == (step_number, WEIGHTS)
        }
        if weights:
            self.start_from(weights)


def trajectory(
    twin: Twin,
    checkpoints: Sequence[int],
    step: Callable[[Arrays], Any],
    weights: Callable[[], Mapping[str, Any]],
    guide: Guide | None = None,
) -> dict[str, np.ndarray]:
    """Train on the batches of a twin, in order, up to the last checkpoint.

    Args:
      checkpoints: after how many steps the weights are kept; without any, the run takes every batch.
      step: takes one batch, `{input: array}` without the axis of steps, and returns the loss, a scalar.
      weights: the weights as the last step left them, by canonical path, as anything that `np.array` copies.
      guide: replaces the weights after each checkpoint, once they are kept; None lets the run go on from its own.

    Returns:
      "loss": [steps], in the step's own type; "weights@STEP/PATH" after each checkpoint, in the weight's shape.
    """
    losses, kept_arrays = [], {}
    batches = len(next(iter(twin.batches.values())))
    for step_number in range(1, min(batches, max(checkpoints, default=batches)) + 1):
        losses.append(np.array(step({name: array[step_number - 1] for name, array in twin.batches.items()})))
        if step_number in checkpoints:
            kept_arrays |= {str(KeptArray(step_number, path)): np.array(value) for path, value in weights().items()}
            if guide is not None:
                guide.replace(step_number)
    return {LOSS: np.array(losses)} | kept_arrays
