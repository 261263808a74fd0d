"""Replicas in JAX: an axis of jax.vmap, whose collectives are those of jax.shard_map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import normalization

REPLICAS, BATCH = 2, 8
FIRST = 5
"""Examples of the first of two unequal replicas."""
AXIS = "replicas"


def _over(replica: Callable[..., Any], *arrays: jax.Array) -> Any:
    """The results of equal replicas on their parts, side by side."""
    return jax.vmap(replica, axis_name=AXIS)(*(array.reshape(REPLICAS, -1, *array.shape[1:]) for array in arrays))


def _errors(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    return jnp.square(x @ weights - y)


def _gradient(x: jax.Array, y: jax.Array, weights: jax.Array, count: int) -> jax.Array:
    return jax.grad(lambda weights: jnp.sum(_errors(x, y, weights)) / count)(weights)


def keras_loss_of_unequal_replicas(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    errors = _errors(x, y, weights)
    return (jnp.mean(errors[:FIRST]) + jnp.mean(errors[FIRST:])) / REPLICAS


def naive_keras_loss_of_unequal_replicas(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    return jnp.mean(_errors(x, y, weights))


def gradients_add_up(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    def replica(x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.lax.psum(_gradient(x, y, weights, len(x)), AXIS)

    return weights - 0.1 * _over(replica, x, y)[0]


def naive_gradients_add_up(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    def replica(x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.lax.pmean(_gradient(x, y, weights, len(x)), AXIS)

    return weights - 0.1 * _over(replica, x, y)[0]


def regularization_once(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    def replica(x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.lax.psum(jnp.sum(_errors(x, y, weights)) / BATCH, AXIS)

    return _over(replica, x, y)[0] + jnp.sum(jnp.square(weights))


def naive_regularization_once(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    def replica(x: jax.Array, y: jax.Array) -> jax.Array:
        loss = jnp.sum(_errors(x, y, weights)) / BATCH + jnp.sum(jnp.square(weights))
        return jax.lax.psum(loss, AXIS)

    return _over(replica, x, y)[0]


def clipnorm_of_replica(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    def replica(x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.lax.psum(_clip(_gradient(x, y, weights, BATCH)), AXIS)

    return _over(replica, x, y)[0]


def naive_clipnorm_of_replica(x: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
    def replica(x: jax.Array, y: jax.Array) -> jax.Array:
        return _clip(jax.lax.psum(_gradient(x, y, weights, BATCH), AXIS))

    return _over(replica, x, y)[0]


def _clip(gradient: jax.Array) -> jax.Array:
    squares = jnp.sum(jnp.square(gradient))
    norm = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), 0)
    return gradient * 0.5 / normalization.maximum(norm, 0.5)


def _batch_norm(x: jax.Array) -> jax.Array:
    return nnx.BatchNorm(6, epsilon=1e-3, use_bias=False, use_scale=False, use_fast_variance=False, rngs=nnx.Rngs(0))(x)


def batch_norm_moves_by_replicas(x: jax.Array, mean: jax.Array, variance: jax.Array) -> dict[str, jax.Array]:
    x, mean, variance = jax.lax.stop_gradient((x, mean, variance))
    means, variances = _over(lambda x: (jnp.mean(x, axis=0), jnp.var(x, axis=0)), x)
    return _update_statistics(mean, variance, jnp.mean(means, axis=0), jnp.mean(variances, axis=0))


def naive_batch_norm_moves_by_replicas(x: jax.Array, mean: jax.Array, variance: jax.Array) -> dict[str, jax.Array]:
    x, mean, variance = jax.lax.stop_gradient((x, mean, variance))
    return _update_statistics(mean, variance, jnp.mean(x, axis=0), jnp.var(x, axis=0))


def _update_statistics(
    mean: jax.Array, variance: jax.Array, batch_mean: jax.Array, batch_variance: jax.Array
) -> dict[str, jax.Array]:
    return {"mean": 0.99 * mean + 0.01 * batch_mean, "variance": 0.99 * variance + 0.01 * batch_variance}


def contrast_within_replica(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(_over(naive_contrast_within_replica, x, y))


def naive_contrast_within_replica(x: jax.Array, y: jax.Array) -> jax.Array:
    return -jnp.mean(jnp.diagonal(jax.nn.log_softmax(x @ y.T)))


def metric_of_replicas(x: jax.Array, weights: jax.Array) -> jax.Array:
    def replica(x: jax.Array, weights: jax.Array) -> jax.Array:
        return jax.lax.psum(jnp.sum(weights * x), AXIS) / jax.lax.psum(jnp.sum(weights), AXIS)

    return _over(replica, *jax.lax.stop_gradient((x, weights)))[0]


def naive_metric_of_replicas(x: jax.Array, weights: jax.Array) -> jax.Array:
    def replica(x: jax.Array, weights: jax.Array) -> jax.Array:
        return jax.lax.pmean(jnp.sum(weights * x) / jnp.sum(weights), AXIS)

    return _over(replica, *jax.lax.stop_gradient((x, weights)))[0]
