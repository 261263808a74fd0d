"""Optimizers of a trace of gradients alone: SGD, and Muon, which makes the trace of a matrix orthogonal."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxport._adam_family import adam
from jaxport._optimizer_arithmetic import Rate, length, rate_function, round_to_float32
from jaxport._slots import Slots, by_rule


def sgd(learning_rate: Rate, momentum: float = 0.0, nesterov: bool = False) -> optax.GradientTransformation:
    """SGD with momentum as Keras computes it: the rate scales a gradient before it enters the trace.

    optax.sgd scales what leaves the trace, which is another step as soon as the rate changes. Keras rounds rate and
    momentum to float32, as for Adam.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      momentum: share of the trace that is kept a step.
      nesterov: whether the step looks ahead along the trace.
    """
    (decay,) = round_to_float32(momentum)
    scaling = (
        _scale(learning_rate)
        if callable(learning_rate)
        else optax.scale_by_learning_rate(*round_to_float32(learning_rate))
    )
    return optax.chain(scaling, optax.trace(decay, nesterov)) if momentum else scaling


def _scale(learning_rate: Rate) -> optax.GradientTransformation:
    rate_of = rate_function(learning_rate)
    return by_rule(lambda gradient, slots, weight, step: (-gradient * rate_of(step, gradient.dtype), slots))


def muon(
    learning_rate: Rate,
    momentum: float = 0.95,
    nesterov: bool = True,
    steps: int = 5,
    rms_rate: float | None = 0.2,
    coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
) -> optax.GradientTransformation:
    """Muon as keras.optimizers.Muon: a trace without bias correction, steps scaled by sqrt(longer side) * rms_rate.

    Jordan 2024 and Liu et al. 2025 (arXiv:2502.16982). For matrices; other arrays take `adam`, as in Keras. optax's
    corrects the bias of its trace, and scales by the ratio of the sides.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      momentum: share of the trace that is kept a step.
      nesterov: whether the step looks ahead along the trace.
      rms_rate: root mean square of a step of rate 1; None leaves it unscaled.
    """
    rate_of, (a, b, c) = rate_function(learning_rate), coefficients

    def orthogonal(matrix: jax.Array) -> jax.Array:
        if matrix.shape[0] > matrix.shape[1]:
            return orthogonal(matrix.T).T
        matrix = matrix / (length(matrix) + 1e-7)
        for _ in range(steps):
            square = matrix @ matrix.T
            matrix = a * matrix + (b * square + c * square @ square) @ matrix
        return matrix

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        trace = slots["trace"] + (gradient + slots["trace"] * (momentum - 1))
        change = rate_of(step, gradient.dtype) * orthogonal(gradient + momentum * trace if nesterov else trace)
        if rms_rate is not None:
            change = change * jnp.sqrt(jnp.asarray(max(weight.shape), change.dtype)) * rms_rate
        return -change, {"trace": trace}

    kinds: Any = {"muon": by_rule(rule, trace=jnp.zeros_like), "adam": adam(learning_rate)}
    return optax.partition(kinds, partial(jax.tree.map, lambda weight: "muon" if weight.ndim == 2 else "adam"))
