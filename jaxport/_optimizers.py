"""Optimizers whose formula in optax is not the one that TensorFlow uses."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax


class AdamState(NamedTuple):
    """step: i32[]; momentum and velocity: pytrees like the parameters."""

    step: jax.Array
    momentum: Any
    velocity: Any


def adam(
    learning_rate: float, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adam as Keras computes it: epsilon is added to the uncorrected root ("epsilon hat").

    Kingma and Ba 2015 (arXiv:1412.6980), the efficient order at the end of section 2. optax.adam adds
    epsilon after the bias correction instead, which is another step wherever gradients are small.
    Keras also rounds the rate and both betas of the correction to float32, in every dtype policy;
    rounding them here too is what lets the float64 twins agree to the last digits.
    """
    rate, decay_1, decay_2 = (float(np.float32(value)) for value in (learning_rate, beta_1, beta_2))

    def init(params: Any) -> AdamState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AdamState]:
        step = state.step + 1

        def corrected_rate(dtype: Any) -> jax.Array:
            time = step.astype(dtype)
            return rate * jnp.sqrt(1 - decay_2**time) / (1 - decay_1**time)

        momentum = jax.tree.map(lambda m, g: m + (g - m) * (1 - beta_1), state.momentum, updates)
        velocity = jax.tree.map(lambda v, g: v + (g * g - v) * (1 - beta_2), state.velocity, updates)
        steps = jax.tree.map(lambda m, v: -m * corrected_rate(m.dtype) / (jnp.sqrt(v) + epsilon), momentum, velocity)
        return steps, AdamState(step, momentum, velocity)

    return optax.GradientTransformation(init, update)


def sgd(learning_rate: float, momentum: float) -> optax.GradientTransformation:
    """SGD with momentum as Keras computes it: the rate scales a gradient before it enters the trace.

    optax.sgd scales what leaves the trace, which is another step as soon as the rate changes. Keras rounds rate and
    momentum to float32, as for Adam.
    """
    rate, decay = (float(np.float32(value)) for value in (learning_rate, momentum))
    return optax.chain(optax.scale_by_learning_rate(rate), optax.trace(decay))
