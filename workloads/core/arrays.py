"""Seeded arrays: inputs and weights that both sides are given, drawn once and handed over."""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Callable, Mapping

import numpy as np

from workloads.core.spec import Arrays, ArraySpec, Dimensions, Workload, ends_of
from workloads.protocol.framework import KINKS, WEIGHTS

_TRAINING_SEED = 1000
_KINKS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def draw(spec: ArraySpec, name: str, seed: int) -> np.ndarray:
    """Random values for one array; the same name and seed give the same values.

    Args:
      spec: shape, dtype and range of the array.
      seed: not negative.
    """
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    low, high = spec.low, spec.high
    if np.dtype(spec.dtype) == np.bool_:
        return generator.integers(0, 2, spec.shape).astype(np.bool_)
    if np.dtype(spec.dtype).kind == "c":
        return _of_parts(draw, spec, name, seed)
    if not spec.is_float:
        least, most = int(low or 0), _above(spec)
        kind = np.uint64 if most > 2**63 else np.int64
        return generator.integers(least, most, spec.shape, kind).astype(spec.dtype)
    if low is None or high is None:
        return (generator.standard_normal(spec.shape) * spec.scale).astype(spec.dtype)
    return generator.uniform(low, high, spec.shape).astype(spec.dtype)


def draw_kinks(spec: ArraySpec, name: str, seed: int) -> np.ndarray:
    """Draw values where subgradients are chosen, in random order: zeros, ties, the ends of a given range.

    Without a range, all are small multiples of a power of two near the scale of the array, so that sums and products
    of them are exact in every float type and a tie in one framework is a tie in the other. Weights of a large layer
    stay small: with values up to 1 a recurrence of 100 units was chaotic, and TensorFlow departed from itself in
    float64.

    Args:
      spec: shape, dtype and range of the array.
      seed: not negative.
    """
    if np.dtype(spec.dtype).kind == "c":
        return _of_parts(draw_kinks, spec, name, seed)
    if not spec.is_float:
        return draw(spec, name, seed)
    generator = np.random.default_rng([seed, zlib.crc32(name.encode()), 1])
    return generator.choice(np.unique(_within(_KINKS, spec)), spec.shape).astype(spec.dtype)


def place_kinks(spec: ArraySpec, name: str, turn: int, first: int = 0) -> np.ndarray:
    """Draw kinks that occur at every size: the patterns in order, then those of `draw_kinks`, then rows that tie.

    Pattern by pattern all arrays are zero, or tie at another value, or are zeros of unlike signs, or lie at one end
    of their range or at unlike ones. An integer is the first or the last of its range.

    Args:
      spec: shape, dtype and range of the array.
      name: seeds the values that no pattern gives.
      turn: number of the array among those of a call.
      first: the pattern of the first element; above 0 it is that of every element.
    """
    if np.dtype(spec.dtype).kind == "c":
        return _of_parts(lambda part, name, seed: place_kinks(part, name, turn, seed), spec, name, first)
    patterns = _patterns(spec, turn)
    if first:
        return np.full(spec.shape, patterns[first], spec.dtype)
    array = draw_kinks(spec, name, 0)
    flat = array.reshape(-1)
    kinks = patterns[: flat.size]
    flat[: len(kinks)] = kinks
    rows = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array.reshape(1, -1)
    free = len(rows) - math.ceil(len(kinks) / rows.shape[1])
    if spec.is_float and free > _TIED_ROWS:
        rows[-1] = patterns[0]
        rows[-2] = rows[-3]
    return array


def _patterns(spec: ArraySpec, turn: int) -> np.ndarray:
    """The values that an array has at each kink."""
    first, last = _ends(spec)
    if not spec.is_float:
        return np.array([first, last, first, first, last, (first, last)[turn % 2]], spec.dtype)
    signed_zero = -0.0 if turn % 2 == 0 and first < 0 else 0.0
    zero, half, unlike = _within(np.array([0.0, 0.5, signed_zero]), spec)
    return np.array([zero, half, unlike, first, last, (first, last)[turn % 2]]).astype(spec.dtype)


PATTERNS = 6
"""The patterns of kinks; small inputs have a case of each."""

SMALL = 64
"""Elements: inputs of a function of up to so many are too few for every tie within an array and between two."""

_TIED_ROWS = 3


def _ends(spec: ArraySpec) -> tuple[float, float]:
    """The least and the largest value: of a given range, of the kinks, or of what an integer is drawn from."""
    if spec.is_float:
        values = _within(np.array([-1.0, 1.0]), spec)
        return (spec.low, spec.high) if spec.low is not None and spec.high is not None else (values[0], values[1])
    if np.dtype(spec.dtype) == np.bool_:
        return False, True
    return int(spec.low or 0), _above(spec) - 1


def _above(spec: ArraySpec) -> int:
    """The number that an integer is drawn below."""
    return min(10, ends_of(spec.dtype)[1] + 1) if spec.high is None else int(spec.high)


def _within(values: np.ndarray, spec: ArraySpec) -> np.ndarray:
    """Multiples of a power of two near the array's scale, or what a given range leaves of the values."""
    if spec.low is not None and spec.high is not None:
        return np.clip(values, spec.low, spec.high)
    return values * power_of_two(spec.scale)


def _of_parts(
    drawing: Callable[[ArraySpec, str, int], np.ndarray], spec: ArraySpec, name: str, seed: int
) -> np.ndarray:
    """Complex numbers whose real and imaginary parts are drawn alike, each with values of its own."""
    part = dataclasses.replace(spec, dtype="float32" if spec.dtype == "complex64" else "float64")
    real, imaginary = (drawing(part, f"{name} {which}", seed) for which in ("real", "imaginary"))
    return (real + 1j * imaginary).astype(spec.dtype)


def power_of_two(scale: float) -> float:
    """The power of two that is nearest in ratio; 0 for scale 0."""
    return 2.0 ** round(math.log2(abs(scale))) if scale else 0.0


def draw_weights(workload: Workload, dimensions: Dimensions) -> dict[str, np.ndarray]:
    """The canonical flat weights: the arrays of the workload, and draws of its specs."""
    specs = workload.weight_specs(dimensions)
    return {
        path: draw(spec, path, 0) if isinstance(spec, ArraySpec) else np.asarray(spec) for path, spec in specs.items()
    }


def draw_cases(
    workload: Workload, dimensions: Dimensions, seeds: int, data: Arrays | None, kinks: bool = True
) -> dict[str, Arrays]:
    """Draw the calls that are compared: `seeds` random ones, the example, and, if asked for, those at kinks.

    Where there is data, a random case is a batch of it.

    Args:
      data: examples by input, along the first axis; None draws from the specs.
      kinks: whether cases of kinks are made.
    """
    specs = workload.input_specs(dimensions)
    cases: dict[str, Arrays] = {}
    for seed in range(seeds):
        if data is None:
            cases[f"seed{seed}"] = {name: draw(spec, name, seed) for name, spec in specs.items()}
        else:
            batches = _batches(specs, data, seed, 1, _batch_size(workload, dimensions))
            cases[f"seed{seed}"] = {name: batch[0] for name, batch in batches.items()}
    if workload.example:
        cases["example"] = {**cases["seed0"], **workload.example}
    if not kinks:
        return cases
    # A model's ties lie behind its weights, and its inputs must have a meaning: not padding alone.
    few = not workload.weight_specs(dimensions) and all(math.prod(spec.shape) <= SMALL for spec in specs.values())
    patterns = {"": 0} | {str(pattern): pattern for pattern in range(1, PATTERNS if few else 1)}
    return cases | {KINKS + number: _kinks(workload, dimensions, pattern) for number, pattern in patterns.items()}


def _kinks(workload: Workload, dimensions: Dimensions, pattern: int) -> dict[str, np.ndarray]:
    specs = workload.input_specs(dimensions)
    edges = {name: place_kinks(spec, name, turn, pattern) for turn, (name, spec) in enumerate(specs.items())}
    for path, spec in workload.weight_specs(dimensions).items():
        # Arrays of the workload are not changed: another value may mean nothing to the model.
        if isinstance(spec, ArraySpec):
            edges[WEIGHTS + path] = draw_kinks(spec, path, pattern)
    return edges


def draw_batches(workload: Workload, dimensions: Dimensions, data: Arrays) -> dict[str, np.ndarray]:
    """Inputs of the whole training run: real examples, shuffled once, steps along the first axis.

    Args:
      data: examples by input, along the first axis.
    """
    assert workload.training is not None
    specs = workload.input_specs(dimensions)
    return _batches(specs, data, _TRAINING_SEED, workload.training.steps, _batch_size(workload, dimensions))


def _batch_size(workload: Workload, dimensions: Dimensions) -> int:
    assert workload.training is not None
    return dimensions[workload.training.batch]


def _batches(specs: Mapping[str, ArraySpec], data: Arrays, seed: int, steps: int, size: int) -> dict[str, np.ndarray]:
    """Examples in an order shuffled by the seed, [steps, size, ...], from the start again when they run out.

    An input that the data lacks (the draws of a dropout) is drawn from its spec, anew for every step.
    """
    examples = len(next(iter(data.values())))
    order = np.random.default_rng(seed).permutation(examples)
    picks = np.resize(order, steps * size).reshape(steps, size)
    return {
        name: data[name][picks].astype(spec.dtype) if name in data else _drawn_anew(spec, name, seed, steps)
        for name, spec in specs.items()
    }


def _drawn_anew(spec: ArraySpec, name: str, seed: int, steps: int) -> np.ndarray:
    whole = dataclasses.replace(spec, shape=(steps, *spec.shape))
    return draw(whole, name, seed)
