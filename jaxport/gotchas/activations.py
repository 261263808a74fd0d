"""Activations in JAX."""

import jax
import jax.numpy as jnp

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def gelu(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x, approximate=False)


def naive_gelu(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(x)


def leaky_relu(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, 0.2 * x)


def naive_leaky_relu(x: jax.Array) -> jax.Array:
    return jax.nn.leaky_relu(x)


def keras_leaky_relu(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, 0.3 * x)


def naive_keras_leaky_relu(x: jax.Array) -> jax.Array:
    return jax.nn.leaky_relu(x)


def relu_as_maximum(x: jax.Array) -> jax.Array:
    return jax.nn.relu(x)


def naive_relu_as_maximum(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, 0)


def relu6(x: jax.Array) -> jax.Array:
    return jnp.where((x > 0) & (x < 6), x, jax.lax.stop_gradient(jnp.clip(x, 0, 6)))


def naive_relu6(x: jax.Array) -> jax.Array:
    return jax.nn.relu6(x)


def selu_at_zero(x: jax.Array) -> jax.Array:
    negative = jnp.where(x < 0, x, 0)
    return SELU_SCALE * jnp.where(x < 0, SELU_ALPHA * jnp.expm1(negative), x)


def naive_selu_at_zero(x: jax.Array) -> jax.Array:
    return jax.nn.selu(x)


def prelu_at_zero(x: jax.Array, alpha: jax.Array) -> jax.Array:
    return jax.nn.relu(x) - alpha * jax.nn.relu(-x)


def naive_prelu_at_zero(x: jax.Array, alpha: jax.Array) -> jax.Array:
    return jnp.where(x >= 0, x, alpha * x)


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


def celu(x: jax.Array) -> jax.Array:
    return jax.nn.celu(x)


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
