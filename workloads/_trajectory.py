"""A training run as every side records it: the loss of every step, and the weights at its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workloads._framework import Twin
from workloads._spec import Arrays


def trajectory(
    twin: Twin,
    checkpoints: Sequence[int],
    step: Callable[[Arrays], Any],
    weights: Callable[[], Mapping[str, Any]],
) -> dict[str, np.ndarray]:
    """Train on every batch of a twin, in order.

    Args:
      twin: its batches are what is trained on.
      checkpoints: after how many steps the weights are kept.
      step: takes one batch, `{input: array}` without the axis of steps, and returns the loss, a scalar.
      weights: the weights as the last step left them, by canonical path, as anything that `np.array` copies.

    Returns:
      "loss": [steps], in the step's own type; "weights@STEP/PATH" after each checkpoint, in the weight's shape.
    """
    losses, kept = [], {}
    for done in range(1, len(next(iter(twin.batches.values()))) + 1):
        losses.append(np.array(step({name: array[done - 1] for name, array in twin.batches.items()})))
        if done in checkpoints:
            kept |= {f"weights@{done}/{path}": np.array(value) for path, value in weights().items()}
    return {"loss": np.array(losses)} | kept
