"""A Flax NNX module that a caller holds: what is in it, its arrays, and the module as the judges take one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx, traverse_util

from jaxport._carried_leaves import leaves_of
from jaxport._model import Model
from jaxport._module_floats import widen
from jaxport._module_nodes import array_of
from jaxport._module_reading import of_module
from jaxport.weights import set_variables, variables_of
from workloads.protocol.transfer import Target


def is_module(value: Any) -> bool:
    """Whether weights can be carried into an object."""
    return isinstance(value, nnx.Module)


def read(module: nnx.Module) -> tuple[Target, dict[str, np.ndarray]]:
    """Read the variables of a module as a target, and its arrays by path.

    Raises:
      Unsupported: a variable holds no array.
    """
    arrays = {path: np.asarray(array_of(variable, path)) for path, variable in variables_of(module).items()}
    return of_module(module), arrays


def write(module: nnx.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Set variables of a module.

    Args:
      module: it is changed.
      arrays: by path, each in the shape and dtype of its variable.
    """
    set_variables({path: variable for path, variable in variables_of(module).items() if path in arrays}, arrays)


def port(module: nnx.Module, descriptions: Sequence[Mapping[str, Any]], dtype: str) -> Model:
    """The module as it stands as a function of some of its weights. Calls change copies of it.

    Args:
      descriptions: its weights, as a receipt of `jaxport weights` has leaves; what else it holds is constant.
    """
    leaves = leaves_of(descriptions)
    copy = nnx.clone(module)
    if dtype == "float64":
        # Mixed precision is rounding: float64 judges the rest.
        widen(copy, jnp.float64)
    graph, state = nnx.split(copy)
    values = traverse_util.flatten_dict(nnx.to_pure_dict(state))

    def forward(parameters: Any, *inputs: Any) -> Any:
        flat = traverse_util.flatten_dict(parameters)
        merged_module: Any = nnx.merge(graph, traverse_util.unflatten_dict({**values, **flat}))
        return merged_module(*inputs)

    return Model(forward, leaves.there, leaves.back)
