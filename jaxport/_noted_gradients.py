"""An optimizer that notes the gradients that it is given."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax

NOTING = optax.GradientTransformation(
    lambda params: jax.tree.map(jnp.zeros_like, params),
    lambda updates, state, params=None: (
        jax.tree.map(jnp.zeros_like, updates),
        jax.tree.map(jnp.add, state, updates),
    ),
)
"""An optimizer that changes no weight; its state is the sum of all gradients."""
