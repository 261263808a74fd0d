"""The states of stateful layers in a port: what a call starts from is given to it, and what it leaves is a result."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import nnx, traverse_util

from jaxport.stateful import RecurrentState
from workloads.core.target import WeightsError

Place = tuple[str | int, ...]


def state_places(module: nnx.Module) -> frozenset[Place]:
    """Where the states of stateful layers stand in a module."""
    return frozenset(traverse_util.flatten_dict(nnx.to_pure_dict(nnx.state(module, RecurrentState))))


def check_start(make: Callable[..., nnx.Module]) -> None:
    """Raise WeightsError unless all states of a new module are zeros: every run that is judged sets others."""
    start = jax.jit(lambda: nnx.to_pure_dict(nnx.state(make(rngs=nnx.Rngs(0)), RecurrentState)))()
    for place, state in traverse_util.flatten_dict(start).items():
        if jnp.any(state != 0):
            raise WeightsError(
                f"expected the state {'.'.join(map(str, place))} of a new module to be zeros, as Keras starts, "
                "found other numbers: start from zeros"
            )
