"""Finds the user's layers that drop their inputs, such as stochastic depth, by the results of their calls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _keras_variables, _same_masks, _traced_calls
from workloads.protocol.framework import Unsupported

_MOST_ELEMENTS, _MOST_EXAMPLES = 1 << 22, 1 << 13
"""The largest inputs of a layer that is tried."""

_OPEN = 7
"""The size of an axis that is left open."""

_CHANCE = 1e-6
"""How unlikely a layer that drops at its rate may look by chance."""


@dataclass(frozen=True)
class Dropout:
    """The dropout of a layer, with the attributes of Keras' own.

    Attributes:
      rate: the share that is dropped, in (0, 1).
      noise_shape: of its draws, with None for a size of what is dropped; None where there is one for each element.
    """

    rate: float
    noise_shape: list[int | None] | None


def is_identity(layer: Any) -> bool:
    """Whether a layer returns what it is given, but in training."""
    return type(layer) in (*_same_masks.DROPOUTS, *_same_masks.NOISES) or dropout(layer) is not None


def dropout(layer: Any) -> Dropout | None:
    """The Dropout that a layer is; None of one that is none.

    It is one where in training every element is either 0 or as many times what it was as a rate says that the layer has
    as an attribute, drawn at that rate, for each example and maybe for all along some axes at once, each apart from its
    neighbours; and where nothing changes outside of training.
    """
    has_variables = layer.weights or layer._flatten_layers(include_self=False)
    if _keras_variables.is_keras(layer) or has_variables or not _keras_variables.seeds(layer):
        return None
    try:
        input_spec = _traced_calls.first(layer)
    except Unsupported:
        return None
    if (
        not isinstance(input_spec, keras.KerasTensor)
        or "float" not in str(input_spec.dtype)
        or len(input_spec.shape) < 2
    ):
        return None
    x = tf.cast(_example([size or _OPEN for size in input_spec.shape[1:]]), input_spec.dtype)
    try:
        with _keras_variables.seeds_kept(layer) as states, keras.StatelessScope(collect_losses=True) as scope:
            # It draws the same each time.
            for number, state in enumerate(states, 1):
                state.assign(np.full(state.shape, number, str(state.dtype)))
            still, draw = (_numbers(_traced_calls.call(layer, x, training=rates)) for rates in (False, True))
    except _traced_calls.NOT_FOLLOWED:
        return None
    if scope.losses or not np.array_equal(still, _numbers(x)) or draw.shape != still.shape:
        return None
    return _describe(draw, still, [float(value) for value in vars(layer).values() if isinstance(value, float)])


def _example(sizes: list[int]) -> np.ndarray:
    """Numbers of both signs and of many magnitudes."""
    count = max(2, min(_MOST_EXAMPLES, _MOST_ELEMENTS // math.prod(sizes)))
    draws = np.random.default_rng(0)
    return draws.choice([-1.0, 1.0], (count, *sizes)) * 2.0 ** draws.uniform(-8, 8, (count, *sizes))


def _numbers(tensor: Any) -> np.ndarray:
    return np.asarray(tf.cast(tensor, tf.float32))


def _describe(draw: np.ndarray, still: np.ndarray, rates: list[float]) -> Dropout | None:
    """The Dropout that made something of an array.

    Args:
      draw: f[examples, ...], what it made.
      rates: what may be its rate, or what it keeps.
    """
    is_kept = draw != 0
    if is_kept.all() or not is_kept.any():
        return None
    alike = [axis for axis in range(1, is_kept.ndim) if (is_kept == is_kept.take([0], axis)).all()]
    draws = is_kept[(slice(None), *(slice(0, 1 if axis in alike else None) for axis in range(1, is_kept.ndim)))]
    for rate in (candidate for one in rates for candidate in (one, 1 - one) if 0 < candidate < 1):
        # Of numbers in bfloat16 the third digit is one of rounding.
        is_scaled = np.allclose(draw, np.where(is_kept, still / (1 - rate), 0.0), rtol=1e-2, atol=0)
        if is_scaled and _are_likely(draws, 1 - rate):
            return Dropout(rate, _noise(is_kept.ndim, alike))
    return None


def _noise(rank: int, alike: list[int]) -> list[int | None] | None:
    return [None, *(1 if axis in alike else None for axis in range(1, rank))] if alike else None


def _are_likely(draws: np.ndarray, chance: float) -> bool:
    """Whether draws are kept at a chance, each apart from its neighbour along every axis."""
    if not _is_likely(draws, chance):
        return False
    axes = [axis for axis, size in enumerate(draws.shape) if size > 1]
    pairs = ((draws.take(range(0, draws.shape[axis] // 2 * 2, 2), axis),
              draws.take(range(1, draws.shape[axis], 2), axis)) for axis in axes)  # fmt: skip
    return all(_is_likely(one == other, chance**2 + (1 - chance) ** 2) for one, other in pairs)


def _is_likely(truths: np.ndarray, chance: float) -> bool:
    """Whether so many of some draws are true at a chance, by Hoeffding's bound."""
    return bool(2 * np.exp(-2 * truths.size * (truths.mean() - chance) ** 2) > _CHANCE)
