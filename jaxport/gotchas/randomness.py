"""Random numbers of TensorFlow in JAX."""

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import initializers, random

SHAPE = (4, 6)
eager = jax.ensure_compile_time_eval  # weights are drawn before anything is compiled


def _key(seed: jax.Array) -> jax.Array:
    return jax.random.key(seed[0])


def stateless_uniform(x: jax.Array) -> jax.Array:
    return x + random.uniform((42, 7), SHAPE, -1.0, 1.0)


def naive_stateless_uniform(x: jax.Array) -> jax.Array:
    with eager():
        draws = jax.random.uniform(jax.random.key(42), SHAPE, minval=-1.0, maxval=1.0)
    return x + draws


def stateless_normal(x: jax.Array) -> jax.Array:
    return x + random.normal((42, 7), SHAPE)


def naive_stateless_normal(x: jax.Array) -> jax.Array:
    with eager():
        draws = jax.random.normal(jax.random.key(42), SHAPE)
    return x + draws


def stateless_truncated_normal(x: jax.Array) -> jax.Array:
    return x + random.truncated_normal((42, 7), SHAPE)


def naive_stateless_truncated_normal(x: jax.Array) -> jax.Array:
    with eager():
        draws = jax.random.truncated_normal(jax.random.key(42), -2.0, 2.0, SHAPE)
    return x + draws


def random_split(seed: jax.Array) -> jax.Array:
    return random.split(seed, 3)


def naive_random_split(seed: jax.Array) -> jax.Array:
    keys = jax.random.split(_key(seed), 3)
    return jax.random.key_data(keys).astype(jnp.int32)


def glorot_uniform_seed(x: jax.Array) -> jax.Array:
    return x + initializers.glorot_uniform(42)(None, SHAPE)


def naive_glorot_uniform_seed(x: jax.Array) -> jax.Array:
    with eager():
        draws = nnx.Linear(*SHAPE, rngs=nnx.Rngs(42)).kernel[...]
    return x + draws


def he_normal_seed(x: jax.Array) -> jax.Array:
    return x + initializers.he_normal(42)(None, SHAPE)


def naive_he_normal_seed(x: jax.Array) -> jax.Array:
    with eager():
        draws = jax.nn.initializers.he_normal()(jax.random.key(42), SHAPE)
    return x + draws


def embedding_initializer_seed(x: jax.Array) -> jax.Array:
    return x + initializers.random_uniform(42)(None, SHAPE)


def naive_embedding_initializer_seed(x: jax.Array) -> jax.Array:
    with eager():
        draws = nnx.Embed(*SHAPE, rngs=nnx.Rngs(42)).embedding[...]
    return x + draws


def random_normal_seed(x: jax.Array) -> jax.Array:
    return x + initializers.random_normal(42)(None, SHAPE)


def naive_random_normal_seed(x: jax.Array) -> jax.Array:
    with eager():
        draws = jax.nn.initializers.normal()(jax.random.key(42), SHAPE)
    return x + draws


def truncated_normal_seed(x: jax.Array) -> jax.Array:
    return x + initializers.truncated_normal(42)(None, SHAPE)


def naive_truncated_normal_seed(x: jax.Array) -> jax.Array:
    with eager():
        draws = jax.nn.initializers.truncated_normal()(jax.random.key(42), SHAPE)
    return x + draws
