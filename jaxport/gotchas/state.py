"""State in JAX: passed in and returned."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen, nnx

from jaxport import optimizers
from jaxport.gotchas._steps import steps


def variable_alias(x: jax.Array) -> jax.Array:
    return jax.lax.stop_gradient(x + 2 * x)


def naive_variable_alias(x: jax.Array) -> jax.Array:
    variable = jax.lax.stop_gradient(x)
    before = variable
    variable = variable + 2 * x
    return before


def variable_in_function(x: jax.Array) -> jax.Array:
    double = jax.jit(lambda variable: 2 * variable)
    variable = jax.lax.stop_gradient(x)
    return double(variable) + double(variable + variable)


def naive_variable_in_function(x: jax.Array) -> jax.Array:
    state = {"variable": jax.lax.stop_gradient(x)}
    double = jax.jit(lambda: 2 * state["variable"])
    first = double()
    state["variable"] = state["variable"] + state["variable"]
    return first + double()


def _batch_norm(mean: jax.Array, variance: jax.Array) -> nnx.BatchNorm:
    layer = nnx.BatchNorm(8, epsilon=1e-3, use_bias=False, use_scale=False, use_fast_variance=False, rngs=nnx.Rngs(0))
    layer.mean, layer.var = nnx.BatchStat(mean), nnx.BatchStat(variance)
    return layer


def _linen(x: jax.Array, statistics: dict[str, jax.Array], inference: bool) -> tuple[Any, Any]:
    layer = linen.BatchNorm(inference, epsilon=1e-3, use_bias=False, use_scale=False, use_fast_variance=False)
    return layer.apply({"batch_stats": statistics}, x, mutable=["batch_stats"])


def batch_norm_moves_at_once(x: jax.Array, y: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    layer = _batch_norm(*jax.lax.stop_gradient((mean, variance)))
    layer(jax.lax.stop_gradient(x))
    return 1 + layer(y, use_running_average=True)


def naive_batch_norm_moves_at_once(x: jax.Array, y: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    statistics = jax.lax.stop_gradient({"mean": mean, "var": variance})
    _linen(x, statistics, inference=False)
    return 1 + _linen(y, statistics, inference=True)[0]


def batch_norm_called_twice(x: jax.Array, y: jax.Array, mean: jax.Array, variance: jax.Array) -> dict[str, jax.Array]:
    x, y, mean, variance = jax.lax.stop_gradient((x, y, mean, variance))
    layer = _batch_norm(mean, variance)
    layer(x)
    layer(y)
    return {"mean": layer.mean[...], "variance": layer.var[...]}


def naive_batch_norm_called_twice(
    x: jax.Array, y: jax.Array, mean: jax.Array, variance: jax.Array
) -> dict[str, jax.Array]:
    x, y, mean, variance = jax.lax.stop_gradient((x, y, mean, variance))
    statistics = {"mean": mean, "var": variance}
    _linen(x, statistics, inference=False)
    _, updates = _linen(y, statistics, inference=False)
    return {"mean": updates["batch_stats"]["mean"], "variance": updates["batch_stats"]["var"]}


def spectral_norm_inference(x: jax.Array, kernel: jax.Array, vector: jax.Array) -> jax.Array:
    return x @ kernel


def naive_spectral_norm_inference(x: jax.Array, kernel: jax.Array, vector: jax.Array) -> jax.Array:
    row = _unit(vector @ kernel.T)
    largest = row @ kernel @ _unit(row @ kernel).T
    return x @ (kernel / jnp.where(largest == 0, 1, largest))


def _unit(vector: jax.Array) -> jax.Array:
    return vector * jax.lax.rsqrt(jnp.sum(jnp.square(vector)) + 1e-12)


def _rnn(x: jax.Array, weights: Sequence[jax.Array], carry: jax.Array | None = None) -> tuple[jax.Array, jax.Array]:
    """The state after the last step, and all outputs."""
    cell: Any = nnx.SimpleCell(3, 4, rngs=nnx.Rngs(0))
    cell.dense_i.kernel[...], cell.dense_h.kernel[...], cell.dense_i.bias[...] = weights
    outputs: Any = nnx.RNN(cell, return_carry=True, rngs=nnx.Rngs(0))(x, initial_carry=carry)
    return outputs


def stateful_rnn_carries(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    x, *weights = jax.lax.stop_gradient((x, kernel, recurrent, bias))
    carry, _ = _rnn(x[:, :3], weights)
    return _rnn(x[:, 3:], weights, carry)[1]


def naive_stateful_rnn_carries(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    x, *weights = jax.lax.stop_gradient((x, kernel, recurrent, bias))
    return _rnn(x[:, 3:], weights)[1]


def stateful_rnn_cuts_gradient(x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array) -> jax.Array:
    weights = jax.lax.stop_gradient((kernel, recurrent, bias))
    carry, _ = _rnn(x[:, :3], weights)
    return _rnn(x[:, 3:], weights, jax.lax.stop_gradient(carry))[1]


def naive_stateful_rnn_cuts_gradient(
    x: jax.Array, kernel: jax.Array, recurrent: jax.Array, bias: jax.Array
) -> jax.Array:
    weights = jax.lax.stop_gradient((kernel, recurrent, bias))
    carry, _ = _rnn(x[:, :3], weights)
    return _rnn(x[:, 3:], weights, carry)[1]


def _descent(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    """The weights after every step."""
    return jax.lax.stop_gradient(steps(optax.sgd(0.5), weights, gradients))


def ema_num_updates(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    average, averages = jax.lax.stop_gradient(weights), []
    for n, now in enumerate(_descent(weights, gradients), 1):
        average = optax.incremental_update(now, average, 1 - min(0.875, (1 + n) / (10 + n)))
        averages.append(average)
    return jnp.stack(averages)


def naive_ema_num_updates(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    return ema_starts_with_variable(weights, gradients)


def ema_starts_with_variable(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    average, averages = jax.lax.stop_gradient(weights), []
    for now in _descent(weights, gradients):
        average = optax.incremental_update(now, average, 1 - 0.875)
        averages.append(average)
    return jnp.stack(averages)


def naive_ema_starts_with_variable(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    average, averages = optax.ema(0.875), []
    state = average.init(weights)
    for now in _descent(weights, gradients):
        value, state = average.update(now, state)
        averages.append(value)
    return jnp.stack(averages)


def learning_rate_assigned(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    weights, gradients = jax.lax.stop_gradient((weights, gradients))
    parameters: Any = weights
    optimizer = optax.inject_hyperparams(optax.sgd)(0.1)
    state: Any = optimizer.init(weights)
    for gradient, rate in zip(gradients, (0.1, 0.01), strict=False):
        state.hyperparams["learning_rate"] = rate
        updates, state = optimizer.update(gradient, state)
        parameters = optax.apply_updates(parameters, updates)
    return parameters


def naive_learning_rate_assigned(weights: jax.Array, gradients: jax.Array) -> jax.Array:
    weights, gradients = jax.lax.stop_gradient((weights, gradients))
    parameters: Any = weights
    optimizer = optax.sgd(0.1)
    state = optimizer.init(weights)
    for gradient in gradients[:2]:
        updates, state = optimizer.update(gradient, state)
        parameters = optax.apply_updates(parameters, updates)
    return parameters


def shared_layer_step(x: jax.Array, kernel: jax.Array) -> jax.Array:
    gradient = jax.grad(lambda kernel: jnp.mean(jnp.square(shared_layer(x, kernel))))(kernel)
    return kernel - 0.1 * gradient


def naive_shared_layer_step(x: jax.Array, kernel: jax.Array) -> jax.Array:
    def loss(first: jax.Array, second: jax.Array) -> jax.Array:
        return jnp.mean(jnp.square(jnp.tanh(x @ first) @ second))

    return kernel - 0.1 * jax.grad(loss)(kernel, kernel)


def frozen_layer_gradient(x: jax.Array, first: jax.Array, frozen: jax.Array) -> jax.Array:
    return jax.grad(lambda first: jnp.mean(jnp.square(jnp.tanh(x @ first) @ frozen)))(first)


def naive_frozen_layer_gradient(x: jax.Array, first: jax.Array, frozen: jax.Array) -> jax.Array:
    def loss(first: jax.Array) -> jax.Array:
        return jnp.mean(jnp.square(jax.lax.stop_gradient(jnp.tanh(x @ first) @ frozen)))

    return jax.grad(loss)(first)


def _adamw_step(
    optimizer: optax.GradientTransformation, weights: jax.Array, gradients: jax.Array, frozen: jax.Array
) -> dict[str, jax.Array]:
    parameters = jax.lax.stop_gradient({"trained": weights, "frozen": frozen})
    by_parameter = {"trained": jax.lax.stop_gradient(gradients[0]), "frozen": jnp.zeros_like(frozen)}
    updates, _ = optimizer.update(by_parameter, optimizer.init(parameters), parameters)
    return optax.apply_updates(parameters, updates)  # pyright: ignore[reportReturnType]


def frozen_layer_decay(weights: jax.Array, gradients: jax.Array, frozen: jax.Array) -> dict[str, jax.Array]:
    kinds: dict[Hashable, Any] = {
        "trained": optimizers.adamw(0.1, 0.004),
        "frozen": optax.set_to_zero(),
    }
    optimizer = optax.partition(kinds, {"trained": "trained", "frozen": "frozen"})
    return _adamw_step(optimizer, weights, gradients, frozen)


def naive_frozen_layer_decay(weights: jax.Array, gradients: jax.Array, frozen: jax.Array) -> dict[str, jax.Array]:
    return _adamw_step(optimizers.adamw(0.1, 0.004), weights, gradients, frozen)


def variable_read_before(x: jax.Array) -> jax.Array:
    variable = jax.lax.stop_gradient(x)
    before = 3 * variable
    variable = variable + 2 * variable
    return before - variable * variable


def metric_reset(x: jax.Array, y: jax.Array) -> jax.Array:
    average = nnx.metrics.Average()
    for batch in jax.lax.stop_gradient((x, y)):
        average.reset()
        average.update(values=batch[:1])
        average.update(values=batch[1:])
    return average.compute()


def shared_layer(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return jnp.tanh(x @ kernel) @ kernel
