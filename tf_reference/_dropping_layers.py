"""Layers of the user's own that drop what they are given, as stochastic depth does: told by what their calls return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _keras_variables, _traced_calls
from workloads._framework import Unsupported
from workloads._inspection import Plain

_EXAMPLES, _SIZE = 1 << 15, 2
"""Examples of a call, and the size of every other axis: what drops asks for none."""

_CHANCE = 1e-6
"""How unlikely a layer that drops at its rate may look by chance."""


def dropout(layer: Any) -> Mapping[str, Plain] | None:
    """The attributes of the Dropout that a layer is; None of one that is none.

    It is one where in training every element is either 0 or as many times what it was as its rate says, at that rate,
    one draw for each example or for parts of one, and where nothing changes outside of training.

    Args:
      layer: of a class of the user's, that was called.
    """
    if _keras_variables.is_keras(layer) or layer.weights or not _keras_variables.seeds(layer):
        return None
    try:
        given = _traced_calls.first(layer)
    except Unsupported:
        return None
    if not isinstance(given, keras.KerasTensor) or "float" not in str(given.dtype) or len(given.shape) < 2:
        return None
    x = np.random.default_rng(0).uniform(1, 2, (_EXAMPLES, *(_SIZE for _ in given.shape[1:]))).astype(str(given.dtype))
    states = [(each, each.numpy()) for each in _keras_variables.seeds(layer)]
    try:
        still, drawn = (np.asarray(_traced_calls.call(layer, tf.constant(x), training=told)) for told in (False, True))
    except _traced_calls.NOT_FOLLOWED:
        return None
    finally:
        for state, value in states:
            state.assign(value)
    if not np.array_equal(still, x) or drawn.shape != x.shape:
        return None
    described = _described(drawn / x)
    return described and {**described, "rate": _told(layer, described["rate"])}


def _described(factors: np.ndarray) -> dict[str, Any] | None:
    """The attributes of a Dropout that multiplies elements so.

    Args:
      factors: f[examples, ...].
    """
    kept = factors > 0
    if kept.all() or not kept.any():
        return None
    scale = float(factors[kept].mean())
    alike = [axis for axis in range(1, kept.ndim) if (kept == kept.take([0], axis)).all()]
    draws = kept[(slice(None), *(slice(0, 1 if axis in alike else None) for axis in range(1, kept.ndim)))]
    of_two = np.allclose(factors, np.where(kept, scale, 0.0), rtol=1e-5, atol=0)
    if not of_two or not _is_likely(int(draws.sum()), draws.size, 1 / scale):
        return None
    shape: list[Plain] = [None, *(1 if axis in alike else None for axis in range(1, kept.ndim))]
    return {"rate": 1 - 1 / scale, "noise_shape": shape if alike else None}


def _told(layer: Any, rate: float) -> float:
    """The rate as an attribute of the layer has it, as what is dropped or what is kept."""
    told = [float(each) for each in vars(layer).values() if isinstance(each, float)]
    close = [each for one in told for each in (one, 1 - one) if abs(each - rate) < 1e-5]
    return close[0] if close else rate


def _is_likely(kept: int, draws: int, chance: float) -> bool:
    """Whether so many of some draws are kept at a chance, by Hoeffding's bound."""
    return bool(2 * np.exp(-2 * draws * (kept / draws - chance) ** 2) > _CHANCE)
