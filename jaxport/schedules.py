"""Learning rates that change from step to step, computed in the dtype of the weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp


def warm_up(peak: float, steps: int, total: int) -> Callable[[jax.Array, Any], jax.Array]:
    """From 0 to the peak in `steps` steps, then down to 0 at step `total`, both in straight lines, as BERT's.

    Args:
      peak: the highest rate.
      steps: the number of steps of the warm-up.
      total: the step at which the rate is 0 again.
    """

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        time = step.astype(dtype)
        return peak * jnp.minimum(time / steps, 1 - time / total)

    return rate


def inverse_square_root(width: int, steps: int) -> Callable[[jax.Array, Any], jax.Array]:
    """Up in a straight line for `steps` steps, then down with the root of the step (Vaswani et al. 2017, 5.3)."""

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        time = (step + 1).astype(dtype)
        return width**-0.5 * jnp.minimum(jax.lax.rsqrt(time), time * steps**-1.5)

    return rate


def exponential_decay(
    initial: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Callable[[jax.Array, Any], jax.Array]:
    """keras.optimizers.schedules.ExponentialDecay: the initial rate times decay_rate^(step / decay_steps).

    Args:
      initial: the rate of step 0.
      decay_steps: the number of steps in which the rate is multiplied by decay_rate.
      decay_rate: the factor of the rate in `decay_steps` steps.
      staircase: whether it falls once every `decay_steps` steps.
    """

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        return initial * jnp.asarray(decay_rate, dtype) ** _periods(step, dtype, decay_steps, staircase)

    return rate


def inverse_time_decay(
    initial: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Callable[[jax.Array, Any], jax.Array]:
    """keras.optimizers.schedules.InverseTimeDecay: the initial rate over 1 + decay_rate * step / decay_steps.

    Args:
      initial: the rate of step 0.
      decay_steps: the unit in which steps are counted.
      decay_rate: the factor of the step in the divisor.
      staircase: whether it falls once every `decay_steps` steps.
    """

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        return initial / (1 + decay_rate * _periods(step, dtype, decay_steps, staircase))

    return rate


def polynomial_decay(
    initial: float, decay_steps: int, end: float = 1e-4, power: float = 1.0, cycle: bool = False
) -> Callable[[jax.Array, Any], jax.Array]:
    """keras.optimizers.schedules.PolynomialDecay, whose default end is 1e-4.

    Args:
      initial: the rate of step 0.
      decay_steps: the step at which the end is reached.
      end: the last rate.
      power: the exponent of the remaining share.
      cycle: whether the rate starts to fall again, from below `initial`, in an ever longer period.
    """

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        time = step.astype(dtype)
        periods = jnp.where(time == 0, 1, jnp.ceil(time / decay_steps)) if cycle else 1
        share = (time if cycle else jnp.minimum(time, decay_steps)) / (decay_steps * periods)
        return (jnp.asarray(initial, dtype) - end) * (1 - share) ** power + end

    return rate


def piecewise_constant(boundaries: Sequence[int], values: Sequence[float]) -> Callable[[jax.Array, Any], jax.Array]:
    """keras.optimizers.schedules.PiecewiseConstantDecay: at a boundary the value before it still holds.

    Args:
      boundaries: steps, from the first on.
      values: rates, one more than boundaries.

    Raises:
      ValueError: another number of values.
    """
    if len(values) != len(boundaries) + 1:
        raise ValueError(f"expected one value more than the {len(boundaries)} boundaries, found {len(values)}")

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        boundaries_passed = jnp.searchsorted(jnp.asarray(boundaries, step.dtype), step, side="left")
        return jnp.asarray(values, dtype)[boundaries_passed]

    return rate


def cosine_decay(
    initial: float, decay_steps: int, alpha: float = 0.0, warmup_target: float | None = None, warmup_steps: int = 0
) -> Callable[[jax.Array, Any], jax.Array]:
    """keras.optimizers.schedules.CosineDecay: decay_steps come after the warm-up; without a target there is none.

    Args:
      initial: the rate of step 0.
      decay_steps: the number of steps of decay.
      alpha: the last rate as a share of the highest.
      warmup_target: the rate that the warm-up leads to.
      warmup_steps: the number of steps of the warm-up.
    """
    warm, peak = (0, initial) if warmup_target is None else (warmup_steps, warmup_target)

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        time = jnp.minimum(step.astype(dtype), decay_steps + warm)
        decay = peak * ((1 - alpha) * 0.5 * (1 + jnp.cos(jnp.pi * ((time - warm) / decay_steps))) + alpha)
        return jnp.where(time < warm, (peak - initial) * (time / max(warm, 1)) + initial, decay)

    return rate


def cosine_decay_restarts(
    initial: float, first_decay_steps: int, t_mul: float = 2.0, m_mul: float = 1.0, alpha: float = 0.0
) -> Callable[[jax.Array, Any], jax.Array]:
    """keras.optimizers.schedules.CosineDecayRestarts: periods grow by t_mul; the floor is alpha * initial in all.

    Args:
      initial: the rate of step 0.
      first_decay_steps: the length of the first period.
      t_mul: the length of a period over that of the period before it.
      m_mul: the first rate of a period over that of the period before it.
      alpha: the lowest rate as a share of `initial`.
    """

    def rate(step: jax.Array, dtype: Any) -> jax.Array:
        periods = step.astype(dtype) / first_decay_steps
        if t_mul == 1:
            restarts = jnp.floor(periods)
            share = periods - restarts
        else:
            longer = jnp.asarray(t_mul, dtype)
            restarts = jnp.floor(jnp.log(1 - periods * (1 - longer)) / jnp.log(longer))
            share = (periods - (1 - longer**restarts) / (1 - longer)) / longer**restarts
        decay = 0.5 * jnp.asarray(m_mul, dtype) ** restarts * (1 + jnp.cos(jnp.pi * share))
        return initial * ((1 - alpha) * decay + alpha)

    return rate


def _periods(step: jax.Array, dtype: Any, decay_steps: int, staircase: bool) -> jax.Array:
    periods = step.astype(dtype) / decay_steps
    return jnp.floor(periods) if staircase else periods
