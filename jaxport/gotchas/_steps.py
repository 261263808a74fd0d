"""Steps of an optax optimizer as a function of weights and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax


def steps(
    optimizer: optax.GradientTransformation,
    *arrays: jax.Array,
    names: Sequence[str] = (),
    project: Callable[[Any], Any] | None = None,
) -> jax.Array:
    """The weights after every step, side by side.

    Gradients do not pass, as they do not pass through the variables of Keras.

    Args:
      arrays: the weights, then as many gradients [steps, *shape of the weights].
      names: of the weights in the parameters; their number without.
    """
    arrays = jax.lax.stop_gradient(arrays)
    count = len(arrays) // 2
    parameters: Any = dict(zip(names or map(str, range(count)), arrays[:count], strict=True))
    gradients = dict(zip(parameters, arrays[count:], strict=True))
    state, trajectory = optimizer.init(parameters), []
    for step in range(len(arrays[count])):
        now = {name: gradient[step] for name, gradient in gradients.items()}
        updates, state = optimizer.update(now, state, parameters)
        parameters = optax.apply_updates(parameters, updates)
        parameters = project(parameters) if project else parameters
        trajectory.append(jnp.concatenate([parameters[name].ravel() for name in gradients]))
    return jnp.stack(trajectory)
