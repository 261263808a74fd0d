"""The port: JAX, with the weights in a flat dict of arrays."""

import jax
import jax.numpy as jnp


def feed_forward(weights, x):
    """x: [batch, time, features] -> the same shape."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    normed = (x - mean) / jnp.sqrt(variance + 1e-3) * weights["norm/gamma"] + weights["norm/beta"]
    # TensorFlow's gelu is exact by default, JAX's is the tanh approximation.
    hidden = jax.nn.gelu(normed @ weights["expand/kernel"] + weights["expand/bias"], approximate=False)
    return x + hidden @ weights["contract/kernel"] + weights["contract/bias"]
