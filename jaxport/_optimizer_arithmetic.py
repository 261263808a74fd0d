"""Arithmetic that optimizers share: rates, decay of weights, norms, and numbers rounded as Keras rounds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Rate = float | Callable[[jax.Array, Any], jax.Array]


def round_to_float32(*values: Any) -> tuple[Any, ...]:
    """Rounded to float32, as Keras holds its hyperparameters in every dtype policy.

    An array is one that `optax.inject_hyperparams` keeps in the state of the optimizer: it stays as it is.
    """
    return tuple(value if isinstance(value, jax.Array) else float(np.float32(value)) for value in values)


def rate_function(learning_rate: Rate) -> Callable[[jax.Array, Any], Any]:
    """(step, dtype) -> rate: a schedule computes in the dtype asked for, Keras rounds only a rate that is a number."""
    if callable(learning_rate):
        return learning_rate
    (rate,) = round_to_float32(learning_rate)
    return lambda step, dtype: rate


def decay_by(
    learning_rate: Rate, weight_decay: float, exclude: Sequence[str]
) -> Callable[[Any, jax.Array, jax.Array], Any]:
    """(path, weight, step) -> what the weight loses; Keras rounds the factor to float32.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      weight_decay: share of a weight that a rate of 1 would take away a step.
      exclude: texts; a weight whose path holds one loses nothing.
    """
    rate_of, (factor,) = rate_function(learning_rate), round_to_float32(weight_decay)
    pattern = re.compile("|".join(map(re.escape, exclude))) if exclude else None

    def decay_of(path: Any, weight: jax.Array, step: jax.Array) -> Any:
        if pattern and pattern.search(jax.tree_util.keystr(path)):
            return 0
        return weight * factor * rate_of(step, weight.dtype)

    return decay_of


def length(values: jax.Array) -> jax.Array:
    """The Euclidean length of an array of any shape."""
    return jnp.sqrt(jnp.sum(values * values))
