"""What the public modules of jaxport promise and no gotcha reaches."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxport import optimizers, random, recurrent, schedules

# Random123 1.14.0, tests/kat_vectors: philox4x32 10.
KNOWN = (
    ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0xA4093822, 0x299F31D0),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)


@pytest.mark.parametrize(("key", "counter", "expected"), KNOWN)
def test_philox_gives_the_published_answers(key: tuple, counter: tuple, expected: tuple) -> None:
    found = random.philox(jnp.asarray(key, jnp.uint32), jnp.asarray(counter, jnp.uint32))
    assert tuple(map(int, found)) == expected


def test_numbers_of_tensorflows_own_kernels() -> None:
    # tf.random.stateless_uniform and stateless_normal of TensorFlow 2.21, not compiled, with the seed (3, 7).
    uniform = random.uniform((3, 7), (5, 3), kernels=True)
    np.testing.assert_allclose(uniform[0], [0.88220143, 0.02823412, 0.9534571], rtol=2e-7)
    normal = random.normal((3, 7), (5, 3), kernels=True)
    np.testing.assert_allclose(normal[0], [0.08835372, 0.4928117, 0.00639829], rtol=2e-6)


@pytest.mark.parametrize("shape", [(), (1,), (4, 6), (5, 3), (3, 5), (1, 8)])
def test_any_shape_can_be_drawn(shape: tuple[int, ...]) -> None:
    for kernels in (True, False):
        assert random.normal((1, 2), shape, kernels=kernels).shape == shape
        assert random.uniform((1, 2), shape, kernels=kernels).shape == shape
    assert random.truncated_normal((1, 2), shape).shape == shape


def test_random_numbers_under_jit_and_vmap() -> None:
    seeds = jnp.arange(6).reshape(3, 2)
    together = jax.jit(jax.vmap(lambda seed: random.uniform(seed, (5,))))(seeds)
    np.testing.assert_array_equal(together, jnp.stack([random.uniform(seed, (5,)) for seed in seeds]))


OPTIMIZERS = {
    "adadelta": optimizers.adadelta(1.0), "adafactor": optimizers.adafactor(0.1), "adagrad": optimizers.adagrad(0.1),
    "adam": optimizers.adam(0.1), "adamax": optimizers.adamax(0.1), "amsgrad": optimizers.amsgrad(0.1),
    "ftrl": optimizers.ftrl(0.1), "lamb": optimizers.lamb(0.1, 0.01), "muon": optimizers.muon(0.1),
    "nadam": optimizers.nadam(0.1), "rmsprop": optimizers.rmsprop(0.1, momentum=0.9, centered=True),
    "schedule_free": optimizers.schedule_free_adamw(0.1), "sgd": optimizers.sgd(0.1, 0.9, nesterov=True),
    "decaying": optimizers.with_weight_decay(optimizers.sgd(0.1), 0.1, 0.01),
    "averaging": optax.chain(optimizers.sgd(0.1), optimizers.average_weights(0.9, 2)),
    "clipping": optax.chain(optimizers.clip_by_norm(1.0), optimizers.sgd(0.1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_optimizers_keep_types_and_need_one_program(name: str, dtype: str) -> None:
    weights = {"kernel": jnp.ones((3, 4), dtype), "bias": jnp.ones((4,), dtype)}
    state, traces = OPTIMIZERS[name].init(weights), []

    @jax.jit
    def step(weights: dict, state: object) -> tuple:
        traces.append(None)
        updates, state = OPTIMIZERS[name].update(jax.tree.map(lambda each: each / 2, weights), state, weights)
        return optax.apply_updates(weights, updates), state

    for _ in range(3):
        weights, state = step(weights, state)
    assert {each.dtype for each in weights.values()} == {jnp.dtype(dtype)}
    if dtype == "float32":  # in bfloat16 a decay of 0.999 is 1, here as in Keras
        assert all((each < 1).all() for each in weights.values())
    assert len(traces) == 1


def test_adagrad_is_that_of_optax() -> None:
    weights, gradient = jnp.ones(4), jnp.arange(1.0, 5.0)
    ours, theirs = optimizers.adagrad(0.1), optax.adagrad(0.1)
    found, expected = (each.update(gradient, each.init(weights), weights)[0] for each in (ours, theirs))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_piecewise_constant_has_one_value_more_than_boundaries() -> None:
    with pytest.raises(ValueError, match="expected one value more than the 1 boundaries, found 1"):
        schedules.piecewise_constant([3], [0.1])


def test_recurrent_layers_backwards_are_those_of_reversed_inputs() -> None:
    draw = np.random.default_rng(0).normal
    x, kernel, recurrent_kernel, bias = (
        jnp.asarray(draw(size=size), jnp.float32) for size in ((2, 5, 3), (3, 12), (4, 12), (2, 12))
    )
    mask = jnp.asarray([[True, True, False, True, True], [False, True, True, True, False]])
    found, last = recurrent.gru(x, kernel, recurrent_kernel, bias, mask, go_backwards=True)
    expected, _ = recurrent.gru(x[:, ::-1], kernel, recurrent_kernel, bias, mask[:, ::-1])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, found[:, -1], rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["adadelta", "adagrad", "adam", "adamax", "amsgrad", "ftrl", "nadam", "rmsprop", "sgd"]
)
def test_a_rate_that_is_kept_in_the_state_may_change_between_steps(name: str) -> None:
    """A callback of Keras sets it; what it was made with counts no more."""
    make = getattr(optimizers, name)
    others = [parameter for parameter in inspect.signature(make).parameters if parameter != "learning_rate"]
    weights, gradients = {"w": jnp.arange(4.0)}, {"w": jnp.full(4, 0.5)}

    def update(optimizer: optax.GradientTransformation, state: optax.OptState) -> jax.Array:
        return jax.jit(optimizer.update)(gradients, state, weights)[0]["w"]

    injected = optax.inject_hyperparams(make, static_args=others)(learning_rate=0.5)
    state: Any = injected.init(weights)
    wanted = make(learning_rate=0.125)
    before = update(injected, state)
    state.hyperparams["learning_rate"] = jnp.float32(0.125)
    assert jnp.allclose(update(injected, state), update(wanted, wanted.init(weights)), rtol=1e-6)
    assert not jnp.allclose(update(injected, state), before, rtol=1e-2)
