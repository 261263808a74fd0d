"""Normalisation in JAX."""

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import elementwise, normalization

MEAN, VARIANCE = (0.5, -0.5, 0.0, 1.0), (0.25, 1.0, 4.0, 0.0)
"""Statistics of four features, the last of which is constant."""


def _layer_norm(x: jax.Array, gamma: jax.Array, beta: jax.Array, layer: nnx.LayerNorm) -> jax.Array:
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    return layer(x)


def _group_norm(x: jax.Array, gamma: jax.Array, beta: jax.Array, layer: nnx.GroupNorm | nnx.InstanceNorm) -> jax.Array:
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    return layer(x)


def _batch_norm(
    gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array, layer: nnx.BatchNorm
) -> nnx.BatchNorm:
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    layer.mean, layer.var = nnx.BatchStat(mean), nnx.BatchStat(variance)
    return layer


def layer_norm_epsilon(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _layer_norm(x, gamma, beta, nnx.LayerNorm(8, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0)))


def naive_layer_norm_epsilon(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _layer_norm(x, gamma, beta, nnx.LayerNorm(8, rngs=nnx.Rngs(0)))


def layer_norm_fast_variance(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _layer_norm(x, gamma, beta, nnx.LayerNorm(8, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0)))


def naive_layer_norm_fast_variance(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _layer_norm(x, gamma, beta, nnx.LayerNorm(8, epsilon=1e-3, rngs=nnx.Rngs(0)))


def layer_norm_rms_scaling(x: jax.Array, gamma: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-3) * gamma


def naive_layer_norm_rms_scaling(x: jax.Array, gamma: jax.Array) -> jax.Array:
    layer = nnx.RMSNorm(8, epsilon=1e-3, rngs=nnx.Rngs(0))
    layer.scale = nnx.Param(gamma)
    return layer(x)


def batch_norm_epsilon(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> jax.Array:
    return _batch_norm(gamma, beta, mean, variance, nnx.BatchNorm(8, epsilon=1e-3, rngs=nnx.Rngs(0)))(
        x, use_running_average=True
    )


def naive_batch_norm_epsilon(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> jax.Array:
    return _batch_norm(gamma, beta, mean, variance, nnx.BatchNorm(8, rngs=nnx.Rngs(0)))(x, use_running_average=True)


def batch_norm_fast_variance(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    zero, one = jnp.zeros(8), jnp.ones(8)
    layer = nnx.BatchNorm(8, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0))
    return _batch_norm(gamma, beta, zero, one, layer)(x, use_running_average=False)


def naive_batch_norm_fast_variance(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    zero, one = jnp.zeros(8), jnp.ones(8)
    layer = nnx.BatchNorm(8, epsilon=1e-3, rngs=nnx.Rngs(0))
    return _batch_norm(gamma, beta, zero, one, layer)(x, use_running_average=False)


def batch_norm_momentum(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> tuple[jax.Array, ...]:
    layer = _batch_norm(
        gamma, beta, mean, variance, nnx.BatchNorm(8, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0))
    )
    result = layer(x, use_running_average=False)
    return result, jax.lax.stop_gradient(layer.mean[...]), jax.lax.stop_gradient(layer.var[...])


def naive_batch_norm_momentum(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> tuple[jax.Array, ...]:
    layer = _batch_norm(
        gamma,
        beta,
        mean,
        variance,
        nnx.BatchNorm(8, momentum=0.9, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0)),
    )
    result = layer(x, use_running_average=False)
    return result, jax.lax.stop_gradient(layer.mean[...]), jax.lax.stop_gradient(layer.var[...])


def batch_norm_frozen(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> jax.Array:
    return _batch_norm(gamma, beta, mean, variance, nnx.BatchNorm(8, epsilon=1e-3, rngs=nnx.Rngs(0)))(
        x, use_running_average=True
    )


def naive_batch_norm_frozen(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> jax.Array:
    return _batch_norm(
        gamma, beta, mean, variance, nnx.BatchNorm(8, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0))
    )(x, use_running_average=False)


def batch_norm_mask(x: jax.Array, gamma: jax.Array, beta: jax.Array, mask: jax.Array) -> jax.Array:
    mean, variance = normalization.masked_moments(x, mask)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-3) * gamma + beta


def naive_batch_norm_mask(x: jax.Array, gamma: jax.Array, beta: jax.Array, mask: jax.Array) -> jax.Array:
    layer = nnx.BatchNorm(8, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0))
    layer.scale, layer.bias = nnx.Param(gamma), nnx.Param(beta)
    return layer(x, use_running_average=False, mask=mask[..., None])


def fused_batch_norm_variance(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> tuple[jax.Array, ...]:
    return normalization.fused_batch_norm(
        x, gamma, beta, (jax.lax.stop_gradient(mean), jax.lax.stop_gradient(variance)), factor=0.25
    )


def naive_fused_batch_norm_variance(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> tuple[jax.Array, ...]:
    mean, variance = jax.lax.stop_gradient((mean, variance))
    layer = _batch_norm(
        gamma,
        beta,
        mean,
        variance,
        nnx.BatchNorm(8, momentum=0.75, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0)),
    )
    result = layer(x, use_running_average=False)
    return result, jax.lax.stop_gradient(layer.mean[...]), jax.lax.stop_gradient(layer.var[...])


def group_norm_epsilon(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _group_norm(
        x, gamma, beta, nnx.GroupNorm(8, num_groups=2, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0))
    )


def naive_group_norm_epsilon(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _group_norm(x, gamma, beta, nnx.GroupNorm(8, num_groups=2, rngs=nnx.Rngs(0)))


def instance_norm_epsilon(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _group_norm(x, gamma, beta, nnx.InstanceNorm(8, epsilon=1e-3, use_fast_variance=False, rngs=nnx.Rngs(0)))


def naive_instance_norm_epsilon(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _group_norm(x, gamma, beta, nnx.InstanceNorm(8, rngs=nnx.Rngs(0)))


def local_response_normalization(x: jax.Array) -> jax.Array:
    return normalization.local_response_normalization(x)


def naive_local_response_normalization(x: jax.Array) -> jax.Array:
    window = (1, 1, 1, 11)
    sums = jax.lax.reduce_window(x * x, 0.0, jax.lax.add, window, (1, 1, 1, 1), "SAME")
    return x / jnp.sqrt(1 + sums / 11)


def per_image_standardization(x: jax.Array) -> jax.Array:
    return normalization.per_image_standardization(x)


def naive_per_image_standardization(x: jax.Array) -> jax.Array:
    axes = (1, 2, 3)
    return (x - jnp.mean(x, axes, keepdims=True)) / jnp.std(x, axes, keepdims=True)


def unit_norm_constraint(x: jax.Array) -> jax.Array:
    x = jax.lax.stop_gradient(x)
    return x / (1e-7 + jnp.sqrt(jnp.sum(jnp.square(x), axis=0, keepdims=True)))


def naive_unit_norm_constraint(x: jax.Array) -> jax.Array:
    x = jax.lax.stop_gradient(x)
    return x / jnp.linalg.norm(x, axis=0, keepdims=True)


def max_norm_constraint(x: jax.Array) -> jax.Array:
    x = jax.lax.stop_gradient(x)
    norms = jnp.sqrt(jnp.sum(jnp.square(x), axis=0, keepdims=True))
    return x * (elementwise.clip_by_value(norms, 0, 2) / (1e-7 + norms))


def naive_max_norm_constraint(x: jax.Array) -> jax.Array:
    x = jax.lax.stop_gradient(x)
    norms = jnp.linalg.norm(x, axis=0, keepdims=True)
    return x * jnp.minimum(1, 2 / norms)


def rms_norm(x: jax.Array, gamma: jax.Array) -> jax.Array:
    layer = nnx.RMSNorm(8, rngs=nnx.Rngs(0))
    layer.scale = nnx.Param(gamma)
    return layer(x)


def layer_norm_of_two_axes(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    return _layer_norm(
        x,
        gamma,
        beta,
        nnx.LayerNorm(
            32, epsilon=1e-3, use_fast_variance=False, reduction_axes=(1, 2), feature_axes=(1, 2), rngs=nnx.Rngs(0)
        ),
    )


def batch_norm_training(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, mean: jax.Array, variance: jax.Array
) -> tuple[jax.Array, ...]:
    layer = normalization.BatchNorm(8, momentum=0.99, epsilon=1e-3, dtype=x.dtype, param_dtype=x.dtype)
    layer.gamma.set_value(gamma)
    layer.beta.set_value(beta)
    layer.mean.set_value(mean)
    layer.variance.set_value(variance)
    result = layer(x, training=True)
    return result, jax.lax.stop_gradient(layer.mean[...]), jax.lax.stop_gradient(layer.variance[...])


def weighted_moments(x: jax.Array, weights: jax.Array) -> tuple[jax.Array, ...]:
    mean = jnp.average(x, axis=1, weights=weights)
    return mean, jnp.average(jnp.square(x - mean[:, None]), axis=1, weights=weights)
