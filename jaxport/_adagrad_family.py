"""Adagrad, and the optimizers that divide as it does, by a sum or an average of squared gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax

from jaxport._optimizer_arithmetic import Rate, rate_function, round_to_float32
from jaxport._slots import Slots, by_rule


def adagrad(
    learning_rate: Rate, initial_accumulator_value: float = 0.1, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adagrad as keras.optimizers.Adagrad; optax.adagrad is the same but where the accumulator is 0.

    Duchi et al. 2011 (JMLR 12).

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      initial_accumulator_value: where the sum of squares starts.
    """
    rate_of = rate_function(learning_rate)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        squares = slots["squares"] + gradient * gradient
        return -rate_of(step, gradient.dtype) * gradient / jnp.sqrt(squares + epsilon), {"squares": squares}

    return by_rule(rule, squares=lambda weight: jnp.full_like(weight, initial_accumulator_value))


def adadelta(learning_rate: Rate, rho: float = 0.95, epsilon: float = 1e-7) -> optax.GradientTransformation:
    """Adadelta with the defaults of keras.optimizers.Adadelta; optax.adadelta has rho 0.9 and epsilon 1e-6.

    Zeiler 2012 (arXiv:1212.5701).

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
    """
    rate_of = rate_function(learning_rate)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        squares = rho * slots["squares"] + (1 - rho) * gradient * gradient
        change = -jnp.sqrt(slots["changes"] + epsilon) * gradient / jnp.sqrt(squares + epsilon)
        changes = rho * slots["changes"] + (1 - rho) * change * change
        return rate_of(step, change.dtype) * change, {"squares": squares, "changes": changes}

    return by_rule(rule, squares=jnp.zeros_like, changes=jnp.zeros_like)


def rmsprop(
    learning_rate: Rate, rho: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-7, centered: bool = False
) -> optax.GradientTransformation:
    """RMSprop as keras.optimizers.RMSprop: epsilon 1e-7 below the root; the rate scales what enters the momentum.

    Hinton 2012, lecture 6e of "Neural Networks for Machine Learning".

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      momentum: share of the step before that is added.
      centered: whether the squared average of gradients is taken off the average of squares.
    """
    rate_of = rate_function(learning_rate)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        squares = rho * slots["squares"] + (1 - rho) * gradient * gradient
        mean = rho * slots["mean"] + (1 - rho) * gradient if centered else slots["mean"]
        change = rate_of(step, gradient.dtype) * gradient / jnp.sqrt(squares - mean * mean + epsilon)
        trace = momentum * slots["trace"] + change
        return -trace, {"squares": squares, "mean": mean, "trace": trace}

    return by_rule(rule, squares=jnp.zeros_like, mean=jnp.zeros_like, trace=jnp.zeros_like)


def ftrl(
    learning_rate: Rate,
    learning_rate_power: float = -0.5,
    initial_accumulator_value: float = 0.1,
    l1: float = 0.0,
    l2: float = 0.0,
    l2_shrinkage: float = 0.0,
    beta: float = 0.0,
) -> optax.GradientTransformation:
    """FTRL-Proximal as keras.optimizers.Ftrl, which optax has not.

    McMahan et al. 2013, "Ad Click Prediction". l2 enters twice as large as in the paper; with beta it is
    l2 + beta / (2 rate), and l2_shrinkage adds to the gradient.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      learning_rate_power: at most 0; how fast the rate falls with the sum of squares.
      initial_accumulator_value: where the sum of squares starts.
      l1: weights whose linear term is within it are 0.
      l2: pulls weights to 0.
      l2_shrinkage: pulls weights to 0 by way of the gradient.
    """
    rate_of = rate_function(learning_rate)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        rate, squares = rate_of(step, gradient.dtype), slots["squares"] + gradient * gradient
        root, root_before = (accumulator**-learning_rate_power for accumulator in (squares, slots["squares"]))
        linear = slots["linear"] + (gradient + 2 * l2_shrinkage * weight) - (root - root_before) / rate * weight
        quadratic = root / rate + 2 * (l2 + beta / (2 * rate))
        after = (jnp.clip(linear, -l1, l1) - linear) / quadratic
        return after - weight, {"squares": squares, "linear": linear}

    return by_rule(rule, squares=lambda weight: jnp.full_like(weight, initial_accumulator_value), linear=jnp.zeros_like)


def adafactor(
    learning_rate: Rate,
    beta_2_decay: float = -0.8,
    epsilon_1: float = 1e-30,
    epsilon_2: float = 1e-3,
    clip_threshold: float = 1.0,
) -> optax.GradientTransformation:
    """Adafactor as keras.optimizers.Adafactor: the rate is at most 1 / sqrt(step), every matrix is factored.

    Shazeer and Stern 2018 (arXiv:1804.04235). optax.adafactor keeps the rate and factors from 128 rows on.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_2_decay: below 0; how fast the averages become slow.
    """
    rate_of = rate_function(learning_rate)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        rate = jnp.minimum(rate_of(step, gradient.dtype), 1 / jnp.sqrt(time))
        share = 1 - time**beta_2_decay
        squares = gradient * gradient + epsilon_1
        parts = (squares.mean(-1), squares.mean(-2)) if weight.ndim > 1 else (squares,)
        after = {
            name: share * slots[name] + (1 - share) * part for name, part in zip(_factors(weight), parts, strict=True)
        }
        if weight.ndim > 1:
            rows, columns = after["rows"], after["columns"]
            velocity = (rows / rows.mean(-1, keepdims=True))[..., None] * columns[..., None, :]
        else:
            velocity = after["velocity"]
        change = gradient / jnp.sqrt(velocity)
        change = change / jnp.maximum(1, _root_mean_square(change) / clip_threshold)
        size = jnp.maximum(round_to_float32(epsilon_2)[0], _root_mean_square(weight))
        return -size * rate * change, {**slots, **after}

    return by_rule(
        rule,
        rows=lambda w: _unless_vector(w, -1),
        columns=lambda w: _unless_vector(w, -2),
        velocity=lambda w: jnp.zeros_like(w) if w.ndim < 2 else jnp.zeros((), w.dtype),
    )


def _factors(weight: jax.Array) -> tuple[str, ...]:
    return ("rows", "columns") if weight.ndim > 1 else ("velocity",)


def _unless_vector(weight: jax.Array, axis: int) -> jax.Array:
    return jnp.zeros_like(weight.mean(axis)) if weight.ndim > 1 else jnp.zeros((), weight.dtype)


def _root_mean_square(values: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.mean(values * values))
