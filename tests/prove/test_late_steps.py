"""Decisions of a training step that an ordinary run never comes to are judged there, or named."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from trained_steps import by, judged, loss_of

pytestmark = pytest.mark.usefixtures("programs_here")

RATE = 0.0625


def scheduled(schedule: Any) -> Any:
    return by(optax.sgd(schedule))


def at_boundaries(*boundaries: int) -> Any:
    """A rate that halves after each boundary, by comparing as Keras does."""
    return scheduled(lambda step: RATE * 0.5 ** sum(jnp.where(step > boundary, 1.0, 0.0) for boundary in boundaries))


def piecewise(*boundaries: int) -> Any:
    return scheduled(optax.piecewise_constant_schedule(RATE, dict.fromkeys(boundaries, 0.5)))


def warmed_up(steps: int) -> Any:
    return scheduled(optax.warmup_cosine_decay_schedule(0.0, RATE, steps, 1000))


def by_hand(steps: int) -> Any:
    """The same, written as one curve with a choice."""

    def rate(step: jax.Array) -> jax.Array:
        gone = jnp.minimum((step - steps) / (1000 - steps), 1.0)
        return jnp.where(step < steps, RATE * step / steps, RATE * 0.5 * (1 + jnp.cos(jnp.pi * gone)))

    return scheduled(rate)


def accumulated(steps: int) -> Any:
    """Gradients added up, and one update of their mean in so many steps, by the number of the step as Keras does."""

    def init(weights: Any) -> Any:
        return {"sum": jax.tree.map(jnp.zeros_like, weights), "count": jnp.zeros((), jnp.int32)}

    def step(weights: Any, state: Any, x: jax.Array, t: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss_of)(weights, x, t)
        sums = jax.tree.map(jnp.add, state["sum"], gradients)
        now = (state["count"] + 1) % steps == 0
        weights = jax.tree.map(lambda w, s: jnp.where(now, w - RATE * s / steps, w), weights, sums)
        sums = jax.tree.map(lambda s: jnp.where(now, 0.0, s), sums)
        return weights, {"sum": sums, "count": state["count"] + 1}, value

    return init, step


def multi_steps(steps: int) -> Any:
    return by(optax.MultiSteps(optax.sgd(RATE), steps).gradient_transformation())


def averaged(every: int, starts_with_weights: bool = False) -> Any:
    """Weights overwritten by their moving average every so many steps; the first step takes the weights for it."""

    def init(weights: Any) -> Any:
        average = weights if starts_with_weights else jax.tree.map(jnp.zeros_like, weights)
        return {"average": average, "count": jnp.zeros((), jnp.int32)}

    def step(weights: Any, state: Any, x: jax.Array, t: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss_of)(weights, x, t)
        weights = jax.tree.map(lambda w, g: w - RATE * g, weights, gradients)
        momentum = jnp.where(state["count"] == 0, 0.0, 0.75)
        average = jax.tree.map(lambda a, w: momentum * a + (1 - momentum) * w, state["average"], weights)
        now = (state["count"] + 1) % every == 0
        weights = jax.tree.map(lambda w, a: jnp.where(now, a, w), weights, average)
        return weights, {"average": average, "count": state["count"] + 1}, value

    return init, step


def clipped(*limits: float) -> Any:
    return by(optax.chain(*map(optax.clip_by_global_norm, limits), optax.sgd(RATE)))


def clipped_by_minimum(limit: float) -> Any:
    """Gradients of a global norm above a limit brought to it, as TensorFlow writes it."""

    def update(gradients: Any, weights: Any) -> Any:
        factor = limit * jnp.minimum(1.0 / optax.tree.norm(gradients), 1.0 / limit)
        return jax.tree.map(lambda g: -RATE * factor * g, gradients)

    return by(optax.stateless(update))


def scaled_loss(growth: int, halves_rate_after: int | None = None) -> Any:
    """A loss times a scale that doubles after so many finite steps, and steps left out whose gradients are not."""

    def init(weights: Any) -> Any:
        return {"scale": jnp.float32(1024), "good": jnp.zeros((), jnp.int32)}

    def step(weights: Any, state: Any, x: jax.Array, t: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(lambda w: loss_of(w, x, t) * state["scale"])(weights)
        loss = value / state["scale"]
        finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(gradients)]))
        rate = RATE / state["scale"]
        if halves_rate_after is not None:
            rate = jnp.where(state["good"] > halves_rate_after, rate / 2, rate)
        after = jax.tree.map(lambda w, g: w - rate * g, weights, gradients)

        def is_finite() -> Any:
            grown = state["good"] + 1 == growth
            scale = jnp.where(grown, state["scale"] * 2, state["scale"])
            return after, {"scale": scale, "good": jnp.where(grown, 0, state["good"] + 1)}

        def is_not() -> Any:
            return weights, {"scale": state["scale"] / 2, "good": jnp.zeros((), jnp.int32)}

        weights, state = jax.lax.cond(finite, is_finite, is_not)
        return weights, state, loss

    return init, step


def between_fours(values: jax.Array) -> jax.Array:
    """Values brought to -4 or 4 where they are beyond."""
    return jnp.minimum(jnp.maximum(values, -4.0), 4.0)


def without_infinities() -> Any:
    """Steps left out whose gradients are not finite."""

    def update(gradients: Any, weights: Any) -> Any:
        finite = jnp.isfinite(optax.tree.norm(gradients))
        return jax.tree.map(lambda g: jnp.where(finite, -RATE * g, 0.0), gradients)

    return by(optax.stateless(update))


PAIRS = {
    "boundary at 60": (at_boundaries(60, 200), piecewise(61, 201), piecewise(60, 201)),
    "boundary at 30000": (at_boundaries(30000), piecewise(30001), piecewise(30000)),
    "warm-up": (by_hand(100), warmed_up(100), warmed_up(101)),
    "end of a cosine": (
        scheduled(optax.cosine_decay_schedule(RATE, 300, 0.25)),
        scheduled(lambda step: RATE * (0.375 * (1 + jnp.cos(jnp.pi * jnp.minimum(step / 300, 1.0))) + 0.25)),
        scheduled(lambda step: RATE * (0.375 * (1 + jnp.cos(jnp.pi * step / 300)) + 0.25)),
    ),
    "staircase": (
        scheduled(optax.exponential_decay(RATE, 5000, 0.5, staircase=True)),
        scheduled(lambda step: RATE * 0.5 ** (step // 5000)),
        scheduled(lambda step: RATE * 0.5 ** (step // 5001)),
    ),
    "curve": (
        scheduled(optax.exponential_decay(RATE, 5000, 0.5)),
        scheduled(lambda step: RATE * jnp.exp(step * (jnp.log(0.5) / 5000))),
        scheduled(lambda step: RATE * jnp.exp(-step * (0.6931 / 5000))),
    ),
    "accumulation of 100": (accumulated(100), multi_steps(100), multi_steps(99)),
    "average every 100": (averaged(100), averaged(100, starts_with_weights=True), averaged(99)),
    "clip by global norm": (clipped_by_minimum(4.0), clipped(4.0), clipped(3.0)),
    "clip by value": (
        by(optax.chain(optax.clip(4.0), optax.sgd(RATE))),
        by(optax.chain(optax.stateless(lambda g, _: jax.tree.map(between_fours, g)), optax.sgd(RATE))),
        by(optax.chain(optax.clip(3.0), optax.sgd(RATE))),
    ),
    "steps that are not finite": (
        scaled_loss(2000), without_infinities(), by(optax.sgd(RATE)),
    ),
    "a rate by finite steps": (scaled_loss(2000, halves_rate_after=70),) * 2 + (scaled_loss(2000),),
}  # fmt: skip
"""What is decided: the original, a port that is right, and one that is wrong."""


@pytest.mark.parametrize("name", PAIRS)
def test_a_port_that_decides_otherwise_beyond_the_ordinary_run_is_found(name: str) -> None:
    original, right, wrong = PAIRS[name]
    found, errors = judged(original, wrong)
    assert max(errors.values()) > 1e-7, errors
    found, errors = judged(original, right)
    assert found.remarks == ()
    assert max(errors.values(), default=0.0) < 1e-12, errors


def test_a_step_without_decisions_or_counters_is_run_nowhere_else() -> None:
    found, _ = judged(by(optax.sgd(RATE)), by(optax.sgd(RATE)))
    assert found.placements == {} and found.remarks == ()


def test_a_boundary_that_no_counter_came_to_is_named_with_its_line() -> None:
    found, _ = judged(at_boundaries(2_000_000), by(optax.sgd(RATE)))
    (remark,) = found.remarks
    assert "test_late_steps.py:" in remark and "1000000 steps" in remark


def test_errors_in_a_row_that_no_run_makes_are_named() -> None:
    found, _ = judged(without_infinities(), by(optax.apply_if_finite(optax.sgd(RATE), 5)))
    (remark,) = found.remarks
    assert remark.startswith("jax's training step decides at ") and "by a counter" in remark


def test_a_clip_that_nothing_turns_is_named_with_its_line() -> None:
    found, _ = judged(clipped_by_minimum(1e30), by(optax.sgd(RATE)))
    (remark,) = found.remarks
    assert "test_late_steps.py:" in remark and "not judged" in remark
