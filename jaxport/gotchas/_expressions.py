"""Functions of entries that are one expression each; their code is in workloads/gotchas."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from jaxport import (
    activations,
    dtypes,
    elementwise,
    indexing,
    linear_algebra,
    losses,
    metrics,
    normalization,
    optimizers,
    pooling,
    resizing,
    schedules,
    signal,
)
from jaxport.gotchas._steps import steps
from workloads.gotchas._catalogue import build_function
from workloads.gotchas._gotcha import JAX

NAMES = {
    **{"jax": jax, "jnp": jnp, "nnx": nnx, "np": np, "optax": optax, "steps": steps, "activations": activations},
    **{"dtypes": dtypes, "elementwise": elementwise, "indexing": indexing, "linear_algebra": linear_algebra},
    **{"losses": losses, "metrics": metrics, "normalization": normalization, "optimizers": optimizers},
    **{"pooling": pooling, "resizing": resizing, "schedules": schedules, "signal": signal},
}


def __getattr__(name: str) -> Callable[..., Any]:
    return build_function(JAX, name, {"__name__": __name__, **NAMES})
