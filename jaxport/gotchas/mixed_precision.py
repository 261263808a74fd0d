"""Mixed precision in JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jaxport import loss_scaling


def _steps(optimizer: optax.GradientTransformation, gradients: jax.Array, weights: jax.Array) -> jax.Array:
    """The weights after a step with each gradient, of which the second overflows."""
    gradients, weights = jax.lax.stop_gradient((gradients, weights))
    state: Any = optimizer.init(weights)
    for step in range(len(gradients)):
        gradient = gradients[step] * (jnp.inf if step == 1 else state.scale)
        updates, state = optimizer.update(gradient, state, weights)
        weights = jnp.asarray(optax.apply_updates(weights, updates))
    return weights


def _divide_gradients(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    """Feeds the optimizer with gradients over a scale that stays as it is."""
    start = loss_scaling.scaled(optimizer, initial_scale=16.0).init

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        steps, inner = optimizer.update(updates / state.scale, state.inner, params)
        return steps, state._replace(inner=inner)

    return optax.GradientTransformation(start, update)


def mixed_dense(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    layer = nnx.Linear(8, 4, dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
    layer.kernel, layer.bias = nnx.Param(jax.lax.stop_gradient(kernel)), nnx.Param(jax.lax.stop_gradient(bias))
    return layer(x)


def naive_mixed_dense(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    kernel, bias = jax.lax.stop_gradient((kernel, bias))
    layer = nnx.Linear(8, 4, param_dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
    layer.kernel, layer.bias = nnx.Param(kernel.astype(jnp.bfloat16)), nnx.Param(bias.astype(jnp.bfloat16))
    return layer(x)


def mixed_embedding(indices: jax.Array, table: jax.Array) -> jax.Array:
    layer = nnx.Embed(6, 4, dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
    layer.embedding = nnx.Param(table)
    return layer(indices)


def naive_mixed_embedding(indices: jax.Array, table: jax.Array) -> jax.Array:
    layer = nnx.Embed(6, 4, rngs=nnx.Rngs(0))
    layer.embedding = nnx.Param(table)
    return layer(indices)


def mixed_layer_norm(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    layer = nnx.LayerNorm(8, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0))
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    return layer(x).astype(x.dtype)


def naive_mixed_layer_norm(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    layer = nnx.LayerNorm(8, epsilon=1e-3, use_fast_variance=False, dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    return layer(x)


def mixed_batch_norm(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> jax.Array:
    layer = nnx.BatchNorm(8, epsilon=1e-3, rngs=nnx.Rngs(0))
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    layer.mean, layer.var = nnx.BatchStat(mean), nnx.BatchStat(variance)
    return layer(x, use_running_average=True).astype(x.dtype)


def naive_mixed_batch_norm(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> jax.Array:
    layer = nnx.BatchNorm(8, epsilon=1e-3, dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    layer.mean, layer.var = nnx.BatchStat(mean), nnx.BatchStat(variance)
    return layer(x, use_running_average=True)


def mixed_dense_in_float16(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
    layer = nnx.Linear(8, 4, dtype=jnp.float16, rngs=nnx.Rngs(0))
    layer.kernel, layer.bias = nnx.Param(jax.lax.stop_gradient(kernel)), nnx.Param(jax.lax.stop_gradient(bias))
    return layer(x)
