"""Optimizers in JAX, a few steps each."""

from typing import Any

import jax
import jax.numpy as jnp
import optax

from jaxport import optimizers
from jaxport._slots import Slots, by_rule
from jaxport.gotchas._steps import steps

HALVING = optax.exponential_decay(0.1, 1, 0.5)
NAMES = "kernel", "bias"
WITHOUT_BIAS = optimizers.adamw(1e-2, 0.004, exclude=["bias"])


def _halving(step: jax.Array, dtype: Any) -> jax.Array:
    return 0.1 * jnp.asarray(0.5, dtype) ** step.astype(dtype)


def _every_second(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    return optax.MultiSteps(optimizer, 2).gradient_transformation()


def _ftrl_of_the_paper(rate: float = 0.1, l1: float = 0.1, l2: float = 0.1) -> optax.GradientTransformation:
    """McMahan et al. 2013, algorithm 1, for one array; but for the sum of squares, which starts at 0.1."""

    def rule(g: jax.Array, slots: Slots, w: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        n, z = slots["n"], slots["z"]
        after = n + g * g
        z = z + g - (jnp.sqrt(after) - jnp.sqrt(n)) / rate * w
        solution = -jnp.sign(z) * jnp.maximum(jnp.abs(z) - l1, 0) / (jnp.sqrt(after) / rate + l2)
        return solution - w, {"n": after, "z": z}

    return by_rule(rule, n=lambda w: jnp.full_like(w, 0.1), z=jnp.zeros_like)


def _max_norm_of(weights: jax.Array) -> jax.Array:
    norms = jnp.sqrt(jnp.sum(weights * weights, axis=0, keepdims=True))
    return weights * (jnp.clip(norms, 0, 1) / (1e-7 + norms))


def adamw_exclude(kernel: jax.Array, bias: jax.Array, by_kernel: jax.Array, by_bias: jax.Array) -> jax.Array:
    return steps(WITHOUT_BIAS, kernel, bias, by_kernel, by_bias, names=NAMES)


def naive_adamw_exclude(kernel: jax.Array, bias: jax.Array, by_kernel: jax.Array, by_bias: jax.Array) -> jax.Array:
    return steps(optax.adamw(1e-2, eps=1e-7, weight_decay=0.004), kernel, bias, by_kernel, by_bias, names=NAMES)


def weight_decay_rate(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    return steps(optimizers.with_weight_decay(optimizers.rmsprop(0.1), 0.1, 0.1), weights, gradients)


def naive_weight_decay_rate(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    return steps(optax.chain(optax.rmsprop(0.1, eps=1e-7), optax.add_decayed_weights(-0.1)), weights, gradients)


def clipnorm(kernel: jax.Array, bias: jax.Array, by_kernel: jax.Array, by_bias: jax.Array) -> jax.Array:
    return steps(optax.chain(optimizers.clip_by_norm(1.0), optax.sgd(0.125)), kernel, bias, by_kernel, by_bias)


def naive_clipnorm(kernel: jax.Array, bias: jax.Array, by_kernel: jax.Array, by_bias: jax.Array) -> jax.Array:
    return steps(optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.125)), kernel, bias, by_kernel, by_bias)


def use_ema(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    trajectory = steps(optax.sgd(0.1), weights, gradients)
    average = trajectory[0]
    for now in trajectory[1:]:
        average = 0.9 * average + (1 - 0.9) * now
    return jnp.concatenate([trajectory, average[None]])


def naive_use_ema(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    trajectory, ema = steps(optax.sgd(0.1), weights, gradients), optax.ema(0.9)
    average: Any = trajectory[0]
    state = ema.init(average)
    for now in trajectory:
        average, state = ema.update(now, state)
    return jnp.concatenate([trajectory, average[None]])


def global_clipnorm(kernel: jax.Array, bias: jax.Array, by_kernel: jax.Array, by_bias: jax.Array) -> jax.Array:
    return steps(optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.125)), kernel, bias, by_kernel, by_bias)
