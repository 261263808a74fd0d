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
    convolution,
    dtypes,
    elementwise,
    indexing,
    linear_algebra,
    loss_scaling,
    losses,
    metrics,
    normalization,
    optimizers,
    pooling,
    random,
    resizing,
    schedules,
    segments,
    signal,
)
from jaxport.gotchas._steps import steps
from workloads.gotchas._catalogue import build_function
from workloads.gotchas._gotcha import JAX

LIBRARY = (
    *(activations, convolution, dtypes, elementwise, indexing, linear_algebra, loss_scaling, losses, metrics),
    *(normalization, optimizers, pooling, random, resizing, schedules, segments, signal),
)
NAMES: dict[str, Any] = {module.__name__.rpartition(".")[2]: module for module in LIBRARY}
NAMES |= {"jax": jax, "jnp": jnp, "nnx": nnx, "np": np, "optax": optax, "steps": steps}


def __getattr__(name: str) -> Callable[..., Any]:
    return build_function(JAX, name, NAMES)
