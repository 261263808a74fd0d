"""The float type that the modules of a network compute in."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import nnx


def widen(module: nnx.Module, dtype: Any) -> None:
    """Make modules that have a float type of their own compute in this one."""
    for _, submodule in nnx.iter_modules(module):
        if is_float_type(getattr(submodule, "dtype", None)):
            vars(submodule)["dtype"] = dtype


def is_float_type(value: Any) -> bool:
    """Whether a value is a float type: the attribute `dtype` of a user's module may be anything."""
    try:
        return value is not None and bool(jnp.issubdtype(value, jnp.floating))
    except TypeError:
        return False
