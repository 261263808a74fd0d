"""Activations in JAX."""

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import activations


def gelu(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x, approximate=False)


def naive_gelu(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x)


def leaky_relu(x: jax.Array) -> jax.Array:
    return activations.leaky_relu(x)


def naive_leaky_relu(x: jax.Array) -> jax.Array:
    return jax.nn.leaky_relu(x)


def keras_leaky_relu(x: jax.Array) -> jax.Array:
    return activations.leaky_relu(x, negative_slope=0.3)


def naive_keras_leaky_relu(x: jax.Array) -> jax.Array:
    return jax.nn.leaky_relu(x)


def relu_as_maximum(x: jax.Array) -> jax.Array:
    return jax.nn.relu(x)


def naive_relu_as_maximum(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, 0)


def selu_at_zero(x: jax.Array) -> jax.Array:
    return jax.nn.selu(x)


def prelu_at_zero(x: jax.Array, alpha: jax.Array) -> jax.Array:
    return jax.nn.relu(x) - alpha * jax.nn.relu(-x)


def naive_prelu_at_zero(x: jax.Array, alpha: jax.Array) -> jax.Array:
    layer = nnx.PReLU()
    layer.negative_slope = nnx.Param(alpha)
    return layer(x)


def celu_at_zero(x: jax.Array) -> jax.Array:
    return activations.celu(x)


def naive_celu_at_zero(x: jax.Array) -> jax.Array:
    return jax.nn.celu(x)


def keras_ops_gelu(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x)


def naive_keras_ops_gelu(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x, approximate=False)


def hard_sigmoid(x: jax.Array) -> jax.Array:
    return jax.nn.hard_sigmoid(x)


def naive_hard_sigmoid(x: jax.Array) -> jax.Array:
    return jnp.clip(0.2 * x + 0.5, 0, 1)


def keras_relu_max_value(x: jax.Array) -> jax.Array:
    return activations.relu(x, max_value=1.0)


def naive_keras_relu_max_value(x: jax.Array) -> jax.Array:
    return jnp.clip(x, 0, 1)


def keras_relu_threshold(x: jax.Array) -> jax.Array:
    return activations.relu(x, threshold=0.5)


def naive_keras_relu_threshold(x: jax.Array) -> jax.Array:
    return jax.nn.relu(x - 0.5)


def keras_relu_slope_below_threshold(x: jax.Array) -> jax.Array:
    return activations.relu(x, negative_slope=0.25, threshold=0.5)


def naive_keras_relu_slope_below_threshold(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0.5, x, 0.25 * x)


def threshold(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0.5, x, 0)


def naive_threshold(x: jax.Array) -> jax.Array:
    return jnp.where(x < 0.5, 0, x)


def sparse_sigmoid(x: jax.Array) -> jax.Array:
    return jnp.where(x <= -1, 0, jnp.where(x >= 1, 1, 0.5 * (x + 1)))


def naive_sparse_sigmoid(x: jax.Array) -> jax.Array:
    return jax.nn.sparse_sigmoid(x)


def silu_beta(x: jax.Array) -> jax.Array:
    return x * jax.nn.sigmoid(1.5 * x)


def naive_silu_beta(x: jax.Array) -> jax.Array:
    return jax.nn.silu(1.5 * x)


def softmax_masked_row(x: jax.Array, mask: jax.Array) -> jax.Array:
    return activations.masked_softmax(x, mask)


def naive_softmax_masked_row(x: jax.Array, mask: jax.Array) -> jax.Array:
    return jax.nn.softmax(jnp.where(mask, x, x - 1e9))


def log_of_softmax(x: jax.Array) -> jax.Array:
    return jax.nn.log_softmax(x)


def naive_log_of_softmax(x: jax.Array) -> jax.Array:
    return jnp.log(jax.nn.softmax(x))


def softplus_by_log1p(x: jax.Array) -> jax.Array:
    return jax.nn.softplus(x)


def naive_softplus_by_log1p(x: jax.Array) -> jax.Array:
    return jnp.log1p(jnp.exp(x))


def log_of_sigmoid(x: jax.Array) -> jax.Array:
    return jax.nn.log_sigmoid(x)


def naive_log_of_sigmoid(x: jax.Array) -> jax.Array:
    return jnp.log(jax.nn.sigmoid(x))


def gelu_by_tanh(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x)


def relu(x: jax.Array) -> jax.Array:
    return jax.nn.relu(x)


def elu(x: jax.Array) -> jax.Array:
    return jax.nn.elu(x)


def softplus(x: jax.Array) -> jax.Array:
    return jax.nn.softplus(x)


def softsign(x: jax.Array) -> jax.Array:
    return jax.nn.soft_sign(x)


def silu(x: jax.Array) -> jax.Array:
    return jax.nn.silu(x)


def mish(x: jax.Array) -> jax.Array:
    return jax.nn.mish(x)


def glu(x: jax.Array) -> jax.Array:
    return jax.nn.glu(x)


def log_sigmoid(x: jax.Array) -> jax.Array:
    return jax.nn.log_sigmoid(x)


def softmax(x: jax.Array) -> jax.Array:
    return jax.nn.softmax(x)


def log_softmax(x: jax.Array) -> jax.Array:
    return jax.nn.log_softmax(x)


def squareplus(x: jax.Array) -> jax.Array:
    return jax.nn.squareplus(x)


def relu6(x: jax.Array) -> jax.Array:
    return jax.nn.relu6(x)


def hard_silu(x: jax.Array) -> jax.Array:
    return jax.nn.hard_silu(x)


def hard_tanh(x: jax.Array) -> jax.Array:
    return jax.nn.hard_tanh(x)


def elu_alpha(x: jax.Array) -> jax.Array:
    return jax.nn.elu(x, alpha=0.5)


def crelu(x: jax.Array) -> jax.Array:
    return jax.nn.relu(jnp.concatenate([x, -x], axis=-1))


def soft_shrink(x: jax.Array) -> jax.Array:
    return jnp.sign(x) * jax.nn.relu(jnp.abs(x) - 0.5)


def sparse_plus(x: jax.Array) -> jax.Array:
    return jax.nn.sparse_plus(x)


def softmax_over_two_axes(x: jax.Array) -> jax.Array:
    return jnp.exp(x - jax.nn.logsumexp(x, axis=(0, 1), keepdims=True))


def naive_softmax_over_two_axes(x: jax.Array) -> jax.Array:
    return jax.nn.softmax(x, axis=(0, 1))
