"""Whether both optimizers train alike: they take steps with the same gradients, and the weights are compared.

From where Keras' optimizer is, its slots carried: a count that is off, moments that are swapped or another rate are
seen. And from a fresh start, where squares are small: another epsilon is seen. Gradients spread over eight orders of
magnitude, as those of a model do; those of the last step are so large that whatever clips them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from compare.weights.matching import Finding
from compare.weights.planning import Move
from compare.weights.transforms import Transform
from workloads.core.spec import Arrays
from workloads.protocol.optimizer_transfer import SourceOptimizer

STEPS = 5
SEED = 25
SMALLEST = -8.0
"""Power of ten of the smallest gradient; the largest are 1, but for those of the last step."""

LARGE = 1e4
"""The size of the last step's gradients, in place of 1: it shows smaller clips. Float16 holds no more than 65504."""

SHARE = 1e-4
"""Of the way that a weight has gone, by which the two may differ. Float32 leaves some 1e-5 of 1 - 0.999; an epsilon of
optax.adam in place of Keras' is 3e-4 where gradients are of 1e-3."""

ROUNDINGS = 4
"""The roundings of float32 that a step may add, relative to the weight."""


@dataclass(frozen=True)
class Trained:
    """A weight that an optimizer trains, and what it is in the module.

    Attributes:
      key: of the leaf.
      transform: what becomes of it, and of its gradient.
      variables: that it becomes.
    """

    key: str
    transform: Transform
    variables: tuple[str, ...]


def trained_weights(optimizer: SourceOptimizer, moves: Sequence[Move]) -> tuple[Trained, ...]:
    """The weights that an optimizer trains."""
    by_key = {move.leaf.key: move for move in moves}
    trained_moves = (by_key[key] for key in optimizer.trained if key in by_key)
    return tuple(Trained(move.leaf.key, move.transform, move.variables) for move in trained_moves)


def gradients(weights: Sequence[Trained], arrays: Arrays) -> dict[str, np.ndarray]:
    """A gradient for every step and weight, as "STEP/KEY".

    Args:
      arrays: of them, by key.
    """
    random, result = np.random.default_rng(SEED), {}
    for step in range(STEPS):
        for weight in weights:
            like = arrays[weight.key]
            sizes = 10 ** random.uniform(SMALLEST, 0, like.shape) * random.choice((-1, 1), like.shape)
            result[f"{step}/{weight.key}"] = np.asarray(sizes * (LARGE if step == STEPS - 1 else 1), like.dtype)
    return result


def carry(weights: Sequence[Trained], by_step: Arrays) -> dict[str, np.ndarray]:
    """Convert arrays by "STEP/KEY" to arrays of the module by "STEP/VARIABLE"."""
    return {
        f"{step}/{variable}": array
        for step in range(STEPS)
        for weight in weights
        for variable, array in zip(
            weight.variables, weight.transform.forward(by_step[f"{step}/{weight.key}"]), strict=True
        )
    }


def apart(start: Arrays, keras: Arrays, optax: Arrays, whence: str) -> Iterator[Finding]:
    """The weights that differ after steps of both; of each variable the first step.

    Args:
      keras: those after each step, as "STEP/VARIABLE"; of what Keras does not train there is none.
      whence: "from the carried state".
    """
    for variable, before in start.items():
        way, last, dtype = np.zeros(before.shape), before.astype(np.float64), before.dtype
        size = np.abs(last)
        for step in range(STEPS):
            there = keras.get(f"{step}/{variable}", before).astype(np.float64)
            way, last, size = way + np.abs(there - last), there, np.maximum(size, np.abs(there))
            here = optax[f"{step}/{variable}"].astype(np.float64)
            bound = SHARE * way + ROUNDINGS * (step + 1) * _epsilon(dtype) * size
            # This comparison is false for NaN.
            if not np.all(np.abs(here - there) <= bound):
                yield Finding("steps", _line(variable, step, whence, there, here, bound))
                break


def _epsilon(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 2.0**-8


def _line(variable: str, step: int, whence: str, there: np.ndarray, here: np.ndarray, bound: np.ndarray) -> str:
    over = np.nan_to_num(np.abs(here - there) - bound, nan=np.inf)
    worst = np.unravel_index(int(np.argmax(over)), over.shape)
    place = f"{variable}{[int(index) for index in worst]}" if worst else variable
    return (
        f"{place} after step {step + 1} {whence}: expected {there[worst]:.9g} as Keras' optimizer makes it, found "
        f"{here[worst]:.9g}, further than {bound[worst]:.2g}"
    )
