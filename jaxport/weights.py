"""Weights that `jaxport weights` carried, loaded into a Flax module: exact names, shapes and dtypes, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import jax
import jax.numpy as jnp
import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 once it is imported
import numpy as np
from flax import nnx
from safetensors import SafetensorError, safe_open

from jaxport._linen_variables import by_path, replace_values
from jaxport._module_nodes import array_of, nodes
from jaxport._optimizer_paths import name_of, named_leaves
from workloads.core import foreign
from workloads.core.errors import Foreseen
from workloads.core.foreign import Unusable
from workloads.protocol.optimizer_transfer import PREFIX

MOST_BYTES = 64 << 30
"""The largest file of weights: those of a model of 16 billion parameters."""

_KEPT = "kept"


class WeightsError(Foreseen):
    """Weights that are not those of a module: one line with what was expected, found, and what to do."""


@overload
def load(module: nnx.Module, path: str | Path) -> nnx.Module: ...


@overload
def load(module: Mapping[str, Any], path: str | Path) -> dict[str, Any]: ...


def load(module: nnx.Module | Mapping[str, Any], path: str | Path) -> nnx.Module | dict[str, Any]:
    """The module, with the weights of a file that `jaxport weights` wrote; it needs no TensorFlow.

    Every variable but the states of random generators, and those that were named with --allow, is set; first all are
    checked, so that a module has all of the weights or none.

    Args:
      module: of NNX: it is changed, and returned. Or the variables of a Linen module, by collection, as its `init`
        gives them or `jax.eval_shape` of that: others of the same nesting are returned.
      path: of the .safetensors file.

    Raises:
      WeightsError: the file cannot be read; a name is missing on one side; a shape or dtype differs.
    """
    arrays, names_kept = _read(Path(path), optimizer=False)
    if isinstance(module, nnx.Module):
        variables = {name: variable for name, variable in variables_of(module).items() if name not in names_kept}
        _check({name: array_of(variable, name) for name, variable in variables.items()}, arrays, Path(path))
        set_variables(variables, arrays)
        return module
    module_values = {name: value for name, (_, value) in by_path(module).items() if name not in names_kept}
    _check(module_values, arrays, Path(path))
    return replace_values(module, {name: jnp.asarray(arrays[name]) for name in module_values})


@overload
def load_optimizer(state: nnx.Optimizer[Any], path: str | Path) -> nnx.Optimizer[Any]: ...


@overload
def load_optimizer(state: Any, path: str | Path) -> Any: ...


def load_optimizer(state: Any, path: str | Path) -> Any:
    """The state of an optimizer, with what a file has that `jaxport weights --optimizer` wrote; it needs no TensorFlow.

    All arrays are set or none, but for those that start as Keras' do, or were named with --allow.

    Args:
      state: as `init` of the optimizer gives it, for parameters as plain dicts or as an `nnx.State`: another of the
        same structure is returned. Or an `nnx.Optimizer`: it is changed, and returned.
      path: of the .safetensors file.

    Raises:
      WeightsError: the file cannot be read, or has no optimizer; a name is missing on one side; a shape or dtype
        differs.
    """
    if isinstance(state, nnx.Optimizer):
        new_state = load_optimizer(state.opt_state, path)
        state.opt_state = nnx.data(new_state)
        counts = ((name.rpartition(".")[2], leaf) for name, leaf in named_leaves(new_state) if not leaf.shape)
        steps = next((count for name, count in counts if name in ("count", "step")), None)
        if steps is not None:
            state.step.set_value(jnp.asarray(steps, state.step.get_value().dtype))
        return state
    arrays, names_kept = _read(Path(path), optimizer=True)
    there = {name: leaf for name, leaf in named_leaves(state) if name not in names_kept}
    if not arrays and there:
        raise _refusal(Path(path), "no optimizer", "--optimizer")
    _check(there, arrays, Path(path))
    return jax.tree_util.tree_map_with_path(
        lambda where, leaf: jnp.asarray(arrays[name_of(where)]) if name_of(where) in there else leaf, state
    )


def variables_of(module: nnx.Module) -> dict[str, nnx.Variable[Any]]:
    """The variables of a module by the path that they stand under first, without states of random generators."""
    return {
        path: node
        for path, node, before in nodes(module)
        if before is None and isinstance(node, nnx.Variable) and not isinstance(node, nnx.RngState)
    }


def set_variables(variables: Mapping[str, nnx.Variable[Any]], arrays: Mapping[str, np.ndarray]) -> None:
    """Set variables to arrays of the same names, which have their shapes and dtypes."""
    for name, variable in variables.items():
        variable.set_value(jnp.asarray(arrays[name]))


def _read(path: Path, optimizer: bool) -> tuple[dict[str, np.ndarray], Mapping[str, Any]]:
    """The arrays of a file, and what it leaves as it is: weights, or those of an optimizer by their paths."""
    try:
        foreign.check(path, MOST_BYTES)
        with safe_open(path, "numpy") as file:
            names = [name for name in file.keys() if name.startswith(PREFIX) == optimizer]  # noqa: SIM118 - no mapping
            arrays = {name: file.get_tensor(name) for name in names}
            kept_names = json.loads((file.metadata() or {}).get(_KEPT, "{}"))
    except (Unusable, OSError, SafetensorError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise _refusal(path, foreign.error_line(error)) from error
    if not isinstance(kept_names, dict):
        raise _refusal(path, "metadata that jaxport did not write")
    return (_without_prefix(arrays), _without_prefix(kept_names)) if optimizer else (arrays, kept_names)


def _without_prefix(by_name: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(PREFIX): value for name, value in by_name.items() if name.startswith(PREFIX)}


def _check(variables: Mapping[str, Any], arrays: Mapping[str, np.ndarray], path: Path) -> None:
    absent, unknown = sorted(variables.keys() - arrays.keys()), sorted(arrays.keys() - variables.keys())
    if absent:
        raise _refusal(path, f"none for the variable {absent[0]}{_more(absent)}")
    if unknown:
        raise _refusal(path, f"{unknown[0]}, which the module has not{_more(unknown)}")
    for name, here in variables.items():
        array = arrays[name]
        if (tuple(here.shape), str(here.dtype)) != (array.shape, array.dtype.name):
            expected_type = f"{here.dtype}{list(here.shape)}"
            raise _refusal(path, f"{array.dtype}{list(array.shape)} for {name}, which takes {expected_type}")


def _more(names: list[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _refusal(path: Path, instead: str, option: str = "") -> WeightsError:
    command = f"jaxport weights {option}".strip()
    return WeightsError(f"expected the weights of this module at {path}, found {instead}: run `{command}` for it")
