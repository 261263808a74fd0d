"""Dynamic loss scaling on gradients that a test chooses: what is skipped, halved and doubled."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxport import loss_scaling
from jaxport._nnx import training_step
from jaxport.loss_scaling import ScaledState, scaled_for

WEIGHTS = {"a": jnp.ones(3), "b": jnp.full((2,), 2.0)}
OPTIMIZER = loss_scaling.scaled(optax.trace(0.9), initial_scale=8.0, growth_steps=3)


def one_step(state: ScaledState, gradient: float) -> tuple[dict[str, jax.Array], ScaledState]:
    """A step with the gradient of a loss that was scaled, of this value in one weight and 1 elsewhere."""
    gradients = jax.tree.map(jnp.ones_like, WEIGHTS) | {"b": jnp.asarray([1.0, gradient])}
    return jax.jit(OPTIMIZER.update)(jax.tree.map(lambda leaf: leaf * state.scale, gradients), state, WEIGHTS)


def test_it_starts_at_the_scale_that_keras_starts_at() -> None:
    state = loss_scaling.scaled(optax.sgd(1.0)).init(WEIGHTS)
    assert (int(state.good_steps), float(state.scale)) == (0, 2.0**15)


def test_gradients_are_unscaled_before_the_optimizer_sees_them() -> None:
    updates, state = one_step(OPTIMIZER.init(WEIGHTS), 0.5)
    np.testing.assert_array_equal(updates["b"], [1.0, 0.5])
    assert (int(state.good_steps), float(state.scale)) == (1, 8.0)


@pytest.mark.parametrize("bad", [jnp.inf, -jnp.inf, jnp.nan])
def test_a_gradient_that_is_not_finite_skips_the_step_and_halves_the_scale(bad: float) -> None:
    _, before = one_step(OPTIMIZER.init(WEIGHTS), 0.5)
    updates, after = one_step(before, bad)
    assert all(not leaf.any() for leaf in jax.tree.leaves(updates))
    assert (int(after.good_steps), float(after.scale)) == (0, 4.0)
    for new, old in zip(jax.tree.leaves(after.inner), jax.tree.leaves(before.inner), strict=True):
        np.testing.assert_array_equal(new, old)


def test_the_scale_is_doubled_after_steps_without_any_trouble() -> None:
    state, scales = OPTIMIZER.init(WEIGHTS), []
    for gradient in (1.0, 1.0, jnp.inf, 1.0, 1.0, 1.0, 1.0):
        _, state = one_step(state, gradient)
        scales.append((int(state.good_steps), float(state.scale)))
    assert scales == [(1, 8.0), (2, 8.0), (0, 4.0), (1, 4.0), (2, 4.0), (0, 8.0), (1, 8.0)]


def test_a_scaled_training_step_is_the_training_step() -> None:
    def loss(weights: dict[str, jax.Array], wanted: jax.Array) -> jax.Array:
        return jnp.sum((weights["a"] - wanted) ** 2)

    weights, plain = {"a": jnp.asarray([1.0, -2.0, 0.5])}, optax.sgd(0.25)
    results = [
        training_step(loss, optimizer)(weights, optimizer.init(weights), jnp.float32(3.0))
        for optimizer in (plain, scaled_for("bfloat16", plain), scaled_for("float16", plain))
    ]
    states = [isinstance(state, ScaledState) for _, state, _ in results]
    assert states == [False, False, True]
    for after, _, value in results:
        np.testing.assert_array_equal(after["a"], results[0][0]["a"])
        assert float(value) == float(loss(weights, jnp.float32(3.0)))
