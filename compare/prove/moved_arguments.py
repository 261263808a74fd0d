"""Measures how far roundings of its arguments move the results of a program: no port has to be nearer to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from compare.hlo.disturbing import disturb_array
from compare.parity.measure import UNIT_ROUNDOFF, is_float, largest, wide
from compare.prove.running import Running
from workloads.core.spec import Arrays, ArraySpec

SAMPLES = 4
"""The number of samples with moved roundings."""
ROUNDINGS = 64
"""By so many of its own roundings a number is moved, for those of all values inside: of MobileNetV2's gradients, moved
by 8, two samples of eight turned a relu6 that the port turns, and by 64 all eight turned some."""
MANY_ROUNDINGS = 4096
"""Of whole programs beside regions that hold: at 224 pixels, 64 roundings turned no relu of one call of a sweep of
ResNet-50's gradients, where the port turned one."""


def grow_spreads(
    run: Running, call: Sequence[np.ndarray], unit: float = 0.0, roundings: int = ROUNDINGS
) -> Iterator[Mapping[str, float]]:
    """By result of floats, how far any element moves with inputs, weights and states, each moved by a few roundings.

    Args:
      unit: the unit roundoff of what is computed in, where that is wider than that of an argument's own type.
      roundings: by how many each number is moved.
    """
    return measure_spreads(
        lambda seed: run.program.name_results(
            run.executable(call if seed is None else move_roundings(call, seed, unit, roundings))
        )
    )


def measure_spreads(compute: Callable[[int | None], Arrays]) -> Iterator[Mapping[str, float]]:
    """By leaf of floats, how far any finite element moves: after each sample, the largest distance so far.

    Each sample costs a run: a caller stops once a spread suffices.

    Args:
      compute: the leaves, with numbers moved by random roundings of a seed; with None as they are.
    """
    plain = compute(None)
    spread = {name: 0.0 for name, array in plain.items() if is_float(array)}
    for seed in range(SAMPLES):
        sample = compute(seed)
        spread = {name: max(distance, _distance(sample[name], plain[name])) for name, distance in spread.items()}
        yield spread


def move_roundings(
    call: Sequence[np.ndarray], seed: int, unit: float = 0.0, roundings: int = ROUNDINGS
) -> list[np.ndarray]:
    """The arguments of a call, each number moved by a few roundings.

    Args:
      roundings: by how many each number is moved.
    """
    generator = np.random.default_rng(seed)
    return [_move(array, unit, roundings, generator) for array in call]


def clip_to_range(array: np.ndarray, spec: ArraySpec[int] | None) -> np.ndarray:
    """The array within the range that its input declares, if it declares one.

    Args:
      array: x[...].
      spec: of the input; None of a weight.
    """
    return array if spec is None or spec.low is None or spec.high is None else np.clip(array, spec.low, spec.high)


def _move(array: np.ndarray, unit: float, roundings: int, generator: np.random.Generator) -> np.ndarray:
    own = UNIT_ROUNDOFF.get(array.dtype.name)
    if own is None:
        return array
    return disturb_array(array, roundings * max(own, unit), generator).astype(array.dtype, copy=False)


def _distance(variant: np.ndarray, plain: np.ndarray) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(wide(variant) - wide(plain))
    return largest([gap[np.isfinite(gap)]])
