"""Optimizers by the formulas that Keras uses, where those of optax are others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxport._slots import Slots, by_rule

Rate = float | Callable[[jax.Array, Any], jax.Array]
"""A learning rate: a number, or a function of the step (i32[], counted from 0) and the dtype to compute in."""


class AdamState(NamedTuple):
    """step: i32[]; momentum and velocity: pytrees like the parameters."""

    step: jax.Array
    momentum: Any
    velocity: Any


def adam(
    learning_rate: Rate, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adam as Keras computes it: epsilon is added to the uncorrected root ("epsilon hat").

    Kingma and Ba 2015 (arXiv:1412.6980), the efficient order at the end of section 2. optax.adam adds
    epsilon after the bias correction instead, which is another step wherever gradients are small.
    Keras also rounds the rate and both betas of the correction to float32, in every dtype policy;
    rounding them here too is what lets the float64 twins agree to the last digits.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: decay of the first moment.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the second moment.
    """
    rate_of, (decay_1, decay_2) = _scheduled(learning_rate), _rounded(beta_1, beta_2)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AdamState]:
        after = _moved(updates, state, beta_1, beta_2)

        def corrected_rate(dtype: Any) -> jax.Array:
            time, rate = after.step.astype(dtype), rate_of(state.step, dtype)
            return rate * jnp.sqrt(1 - decay_2**time) / (1 - decay_1**time)

        def step_of(m: jax.Array, v: jax.Array) -> jax.Array:
            return -m * corrected_rate(m.dtype) / (jnp.sqrt(v) + epsilon)

        return jax.tree.map(step_of, after.momentum, after.velocity), after

    return optax.GradientTransformation(_at_rest, update)


def adamw(
    learning_rate: Rate,
    weight_decay: float,
    exclude: Sequence[str] = (),
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
) -> optax.GradientTransformation:
    """Adam whose weights decay by the rate times `weight_decay`, but for those whose path holds a text in `exclude`.

    Loshchilov and Hutter 2019 (arXiv:1711.05101), in Keras's order: the decay is of the weights before the step.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      weight_decay: share of a weight that a rate of 1 would take away a step.
      exclude: texts; a weight whose path holds one does not decay.
      beta_1: decay of the first moment.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the second moment.
    """
    inner, decay_of = adam(learning_rate, beta_1, beta_2, epsilon), _decay(learning_rate, weight_decay, exclude)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        steps, after = inner.update(updates, state, params)

        def decayed(path: Any, step: jax.Array, weight: jax.Array) -> jax.Array:
            return step - decay_of(path, weight, state.step)

        return jax.tree_util.tree_map_with_path(decayed, steps, params), after

    return optax.GradientTransformation(_at_rest, update)


def lamb(
    learning_rate: Rate,
    weight_decay: float,
    exclude: Sequence[str] = (),
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
) -> optax.GradientTransformation:
    """LAMB as Keras computes it: each array's step is as long as the rate times its weights.

    You et al. 2020 (arXiv:1904.00962), with the decay of AdamW before the step; the paper, and optax.lamb, add
    the decay to the direction before its length is taken.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      weight_decay: share of a weight that a rate of 1 would take away a step.
      exclude: texts; a weight whose path holds one does not decay.
      beta_1: decay of the first moment.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the second moment.
    """
    rate_of, (decay_1, decay_2) = _scheduled(learning_rate), _rounded(beta_1, beta_2)
    decay_of = _decay(learning_rate, weight_decay, exclude)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, AdamState]:
        after = _moved(updates, state, beta_1, beta_2)

        def step_of(path: Any, m: jax.Array, v: jax.Array, weight: jax.Array) -> jax.Array:
            time = after.step.astype(m.dtype)
            direction = m / (1 - decay_1**time) / (jnp.sqrt(v / (1 - decay_2**time)) + epsilon)
            decay = decay_of(path, weight, state.step)
            ratio = _ratio(_length(weight - decay), _length(direction))
            return -decay - ratio * rate_of(state.step, m.dtype) * direction

        return jax.tree_util.tree_map_with_path(step_of, after.momentum, after.velocity, params), after

    return optax.GradientTransformation(_at_rest, update)


def _at_rest(params: Any) -> AdamState:
    zeros = jax.tree.map(jnp.zeros_like, params)
    return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))


def _moved(updates: Any, state: AdamState, beta_1: float, beta_2: float) -> AdamState:
    momentum = jax.tree.map(lambda m, g: m + (g - m) * (1 - beta_1), state.momentum, updates)
    velocity = jax.tree.map(lambda v, g: v + (g * g - v) * (1 - beta_2), state.velocity, updates)
    return AdamState(state.step + 1, momentum, velocity)


def _rounded(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(value)) for value in values)


def _scheduled(learning_rate: Rate) -> Callable[[jax.Array, Any], Any]:
    """A schedule computes in the dtype that it is asked for; Keras rounds only a rate that is a number."""
    if callable(learning_rate):
        return learning_rate
    (rate,) = _rounded(learning_rate)
    return lambda step, dtype: rate


def _decay(
    learning_rate: Rate, weight_decay: float, exclude: Sequence[str]
) -> Callable[[Any, jax.Array, jax.Array], Any]:
    """(path, weight, step) -> what the weight loses; Keras rounds the factor to float32."""
    rate_of, (factor,) = _scheduled(learning_rate), _rounded(weight_decay)
    kept = re.compile("|".join(map(re.escape, exclude))) if exclude else None

    def decay_of(path: Any, weight: jax.Array, step: jax.Array) -> Any:
        if kept and kept.search(jax.tree_util.keystr(path)):
            return 0
        return weight * factor * rate_of(step, weight.dtype)

    return decay_of


def _length(values: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.sum(values * values))


def _ratio(weight: jax.Array, direction: jax.Array) -> jax.Array:
    """Their quotient, and 1 where either is 0: an array of zeros could never move otherwise."""
    return jnp.where((weight > 0) & (direction > 0), weight / direction, 1)


def sgd(learning_rate: Rate, momentum: float = 0.0, nesterov: bool = False) -> optax.GradientTransformation:
    """SGD with momentum as Keras computes it: the rate scales a gradient before it enters the trace.

    optax.sgd scales what leaves the trace, which is another step as soon as the rate changes. Keras rounds rate and
    momentum to float32, as for Adam.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      momentum: share of the trace that is kept a step.
      nesterov: whether the step looks ahead along the trace.
    """
    (decay,) = _rounded(momentum)
    scaled = (
        _scaled(learning_rate) if callable(learning_rate) else optax.scale_by_learning_rate(*_rounded(learning_rate))
    )
    return optax.chain(scaled, optax.trace(decay, nesterov)) if momentum else scaled


def _scaled(learning_rate: Rate) -> optax.GradientTransformation:
    rate_of = _scheduled(learning_rate)
    return by_rule(lambda gradient, slots, weight, step: (-gradient * rate_of(step, gradient.dtype), slots))


def amsgrad(
    learning_rate: Rate, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adam(amsgrad=True) as Keras computes it: the maximum is of second moments without bias correction.

    Reddi et al. 2018 (arXiv:1904.09237). optax.amsgrad takes the maximum of corrected second moments.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: decay of the first moment.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the largest second moment.
    """
    rate_of, (decay_1, decay_2) = _scheduled(learning_rate), _rounded(beta_1, beta_2)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        m = slots["momentum"] + (gradient - slots["momentum"]) * (1 - beta_1)
        v = slots["velocity"] + (gradient * gradient - slots["velocity"]) * (1 - beta_2)
        largest = jnp.maximum(slots["largest"], v)
        rate = rate_of(step, m.dtype) * jnp.sqrt(1 - decay_2**time) / (1 - decay_1**time)
        return -m * rate / (jnp.sqrt(largest) + epsilon), {"momentum": m, "velocity": v, "largest": largest}

    return by_rule(rule, momentum=jnp.zeros_like, velocity=jnp.zeros_like, largest=jnp.zeros_like)


def adamax(
    learning_rate: Rate, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adamax as keras.optimizers.Adamax: epsilon is added to the largest gradient, not to what it is compared with.

    Kingma and Ba 2015 (arXiv:1412.6980), section 7.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: decay of the first moment.
      beta_2: decay of the largest gradient.
      epsilon: is added to the largest gradient.
    """
    rate_of, (decay,) = _scheduled(learning_rate), _rounded(beta_1)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        m = slots["momentum"] + (gradient - slots["momentum"]) * (1 - beta_1)
        norm = jnp.maximum(beta_2 * slots["norm"], jnp.abs(gradient))
        return -rate_of(step, m.dtype) * m / ((1 - decay**time) * (norm + epsilon)), {"momentum": m, "norm": norm}

    return by_rule(rule, momentum=jnp.zeros_like, norm=jnp.zeros_like)


def nadam(
    learning_rate: Rate, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Nadam as keras.optimizers.Nadam: the momentum itself warms up, by 1 - 0.96^step / 2.

    Dozat 2016, "Incorporating Nesterov Momentum into Adam". optax.nadam has no such schedule.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: decay of the first moment once it is warm.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the corrected second moment.
    """
    rate_of, (decay_1, decay_2, warmth) = _scheduled(learning_rate), _rounded(beta_1, beta_2, 0.96)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        now, following = (decay_1 * (1 - 0.5 * warmth**t) for t in (time, time + 1))
        product = slots["product"] * now
        m = slots["momentum"] + (gradient - slots["momentum"]) * (1 - decay_1)
        v = slots["velocity"] + (gradient * gradient - slots["velocity"]) * (1 - decay_2)
        ahead = following * m / (1 - product * following) + (1 - now) * gradient / (1 - product)
        root = jnp.sqrt(v / (1 - decay_2**time))
        after = {"momentum": m, "velocity": v, "product": product}
        return -ahead * rate_of(step, m.dtype) / (root + epsilon), after

    return by_rule(
        rule, momentum=jnp.zeros_like, velocity=jnp.zeros_like, product=lambda weight: jnp.ones((), weight.dtype)
    )


def adadelta(learning_rate: Rate, rho: float = 0.95, epsilon: float = 1e-7) -> optax.GradientTransformation:
    """Adadelta with the defaults of keras.optimizers.Adadelta; optax.adadelta has rho 0.9 and epsilon 1e-6.

    Zeiler 2012 (arXiv:1212.5701).

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      rho: decay of both averages.
      epsilon: is added to both averages, below the root.
    """
    rate_of = _scheduled(learning_rate)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        squares = rho * slots["squares"] + (1 - rho) * gradient * gradient
        change = -jnp.sqrt(slots["changes"] + epsilon) * gradient / jnp.sqrt(squares + epsilon)
        changes = rho * slots["changes"] + (1 - rho) * change * change
        return rate_of(step, change.dtype) * change, {"squares": squares, "changes": changes}

    return by_rule(rule, squares=jnp.zeros_like, changes=jnp.zeros_like)


def adagrad(
    learning_rate: Rate, initial_accumulator_value: float = 0.1, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Adagrad as keras.optimizers.Adagrad; optax.adagrad is the same but where the accumulator is 0.

    Duchi et al. 2011 (JMLR 12).

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      initial_accumulator_value: where the sum of squares starts.
      epsilon: is added to the sum of squares, below the root.
    """
    rate_of = _scheduled(learning_rate)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        squares = slots["squares"] + gradient * gradient
        return -rate_of(step, gradient.dtype) * gradient / jnp.sqrt(squares + epsilon), {"squares": squares}

    return by_rule(rule, squares=lambda weight: jnp.full_like(weight, initial_accumulator_value))


def rmsprop(
    learning_rate: Rate, rho: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-7, centered: bool = False
) -> optax.GradientTransformation:
    """RMSprop as keras.optimizers.RMSprop: epsilon 1e-7 below the root; the rate scales what enters the momentum.

    Hinton 2012, lecture 6e of "Neural Networks for Machine Learning".

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      rho: decay of the averages.
      momentum: share of the step before that is added.
      epsilon: is added to the average of squares, below the root.
      centered: whether the squared average of gradients is taken off the average of squares.
    """
    rate_of = _scheduled(learning_rate)

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
      beta: the paper's beta.
    """
    rate_of = _scheduled(learning_rate)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        rate, squares = rate_of(step, gradient.dtype), slots["squares"] + gradient * gradient
        root, root_before = (each**-learning_rate_power for each in (squares, slots["squares"]))
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
      epsilon_1: is added to squared gradients.
      epsilon_2: the least size that a weight is taken to have.
      clip_threshold: the largest root mean square of a step before it is scaled.
    """
    rate_of = _scheduled(learning_rate)

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
        size = jnp.maximum(_rounded(epsilon_2)[0], _root_mean_square(weight))
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
      steps: of Newton and Schulz.
      rms_rate: root mean square of a step of rate 1; None leaves it unscaled.
      coefficients: of a step of Newton and Schulz.
    """
    rate_of, (a, b, c) = _scheduled(learning_rate), coefficients

    def orthogonal(matrix: jax.Array) -> jax.Array:
        if matrix.shape[0] > matrix.shape[1]:
            return orthogonal(matrix.T).T
        matrix = matrix / (_length(matrix) + 1e-7)
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


def schedule_free_adamw(
    learning_rate: Rate = 0.0025,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-8,
    warmup_steps: int = 0,
) -> optax.GradientTransformation:
    """Schedule-free AdamW as Keras computes it: every step weighs alike in the average, whatever its rate.

    Defazio et al. 2024 (arXiv:2405.15682). The weights that it trains are the paper's y. From y the average is told
    with the z of after the step: Keras means that of before it, but on TensorFlow reads a variable that has moved.

    Args:
      learning_rate: a number, or a schedule: (step i32[], dtype) -> rate.
      beta_1: how far the trained weights are from the steps to their average.
      beta_2: decay of the second moment.
      epsilon: is added to the root of the corrected second moment.
      warmup_steps: the rate grows in a straight line for so many steps.
    """
    rate_of, (decay_1, decay_2) = _scheduled(learning_rate), _rounded(beta_1, beta_2)

    def rule(gradient: jax.Array, slots: Slots, weight: jax.Array, step: jax.Array) -> tuple[jax.Array, Slots]:
        time = (step + 1).astype(gradient.dtype)
        rate = rate_of(step, gradient.dtype) * (jnp.minimum(time / warmup_steps, 1) if warmup_steps else 1)
        v = slots["velocity"] + (gradient * gradient - slots["velocity"]) * (1 - decay_2)
        stepped = slots["stepped"] - rate * gradient / (jnp.sqrt(v / (1 - decay_2**time)) + epsilon)
        average = (weight - (1 - decay_1) * stepped) / decay_1
        average = (1 - 1 / time) * average + 1 / time * stepped
        return (1 - decay_1) * stepped + decay_1 * average - weight, {"stepped": stepped, "velocity": v}

    return by_rule(rule, stepped=jnp.asarray, velocity=jnp.zeros_like)


class Decaying(NamedTuple):
    """step: i32[]; inner: the state of the optimizer whose weights decay."""

    step: jax.Array
    inner: Any


def with_weight_decay(
    inner: optax.GradientTransformation, learning_rate: Rate, weight_decay: float, exclude: Sequence[str] = ()
) -> optax.GradientTransformation:
    """Any optimizer with Keras's `weight_decay`: weights lose their share before the step, and it never enters a slot.

    optax.add_decayed_weights before an optimizer adds the decay to gradients, and so to traces.

    Args:
      inner: the optimizer.
      learning_rate: as that of `inner`: it scales the decay too.
      weight_decay: share of a weight that a rate of 1 would take away a step.
      exclude: texts; a weight whose path holds one does not decay.
    """
    decay_of = _decay(learning_rate, weight_decay, exclude)

    def init(params: Any) -> Decaying:
        return Decaying(jnp.zeros((), jnp.int32), inner.init(params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Decaying]:
        lost = jax.tree_util.tree_map_with_path(lambda path, w: decay_of(path, w, state.step), params)
        left = jax.tree.map(lambda weight, loss: weight - loss, params, lost)
        steps, after = inner.update(updates, state.inner, left)
        return jax.tree.map(lambda step, loss: step - loss, steps, lost), Decaying(state.step + 1, after)

    return optax.GradientTransformation(init, update)


def clip_by_norm(clipnorm: float) -> optax.GradientTransformation:
    """Keras's `clipnorm`: each array's gradient is at most so long; optax.clip_by_global_norm is `global_clipnorm`.

    Args:
      clipnorm: the largest length.
    """

    def clipped(gradient: jax.Array) -> jax.Array:
        return gradient * clipnorm / jnp.maximum(_length(gradient), clipnorm)

    return optax.stateless(lambda updates, params: jax.tree.map(clipped, updates))


class Averaging(NamedTuple):
    """step: i32[]; average: a pytree like the parameters."""

    step: jax.Array
    average: Any


def average_weights(momentum: float = 0.99, overwrite_frequency: int | None = None) -> optax.GradientTransformation:
    """Keras's `use_ema`, as the last of a chain: the average of the weights starts as they are after the first step.

    optax.ema starts at 0 and divides by what is missing, which is another average.

    Args:
      momentum: share of the average that is kept a step.
      overwrite_frequency: every so many steps the weights become the average.
    """

    def init(params: Any) -> Averaging:
        return Averaging(jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Averaging]:
        def moved(average: jax.Array, weight: jax.Array, step: jax.Array) -> jax.Array:
            kept = jnp.where(state.step == 0, 0, jnp.asarray(momentum, weight.dtype))
            return kept * average + (1 - kept) * (weight + step)

        average, after = jax.tree.map(moved, state.average, params, updates), state.step + 1
        if overwrite_frequency:
            due = after % overwrite_frequency == 0
            updates = jax.tree.map(lambda a, w, step: jnp.where(due, a - w, step), average, params, updates)
        return updates, Averaging(after, average)

    return optax.GradientTransformation(init, update)
