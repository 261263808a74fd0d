"""Weights that `jaxport weights` carried, loaded into a Flax module: exact names, shapes and dtypes, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

import jax.numpy as jnp
import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 once it is imported
import numpy as np
from flax import nnx
from safetensors import SafetensorError, safe_open

from jaxport._linen_variables import by_path, replaced
from jaxport._module_nodes import array_of, nodes
from workloads import _foreign
from workloads._errors import Foreseen
from workloads._foreign import Unusable

MOST_BYTES = 64 << 30
"""Of a file of weights: those of a model of 16 billion parameters."""

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
    arrays, kept = _read(Path(path))
    if isinstance(module, nnx.Module):
        variables = {name: each for name, each in variables_of(module).items() if name not in kept}
        _check({name: array_of(each, name) for name, each in variables.items()}, arrays, Path(path))
        for name, variable in variables.items():
            variable.set_value(jnp.asarray(arrays[name]))
        return module
    nested = {name: each for name, (_, each) in by_path(module).items() if name not in kept}
    _check(nested, arrays, Path(path))
    return replaced(module, {name: jnp.asarray(arrays[name]) for name in nested})


def variables_of(module: nnx.Module) -> dict[str, nnx.Variable[Any]]:
    """The variables of a module by the path that they stand under first, without states of random generators."""
    return {
        path: each
        for path, each, before in nodes(module)
        if before is None and isinstance(each, nnx.Variable) and not isinstance(each, nnx.RngState)
    }


def _read(path: Path) -> tuple[dict[str, np.ndarray], Mapping[str, Any]]:
    try:
        _foreign.check(path, MOST_BYTES)
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
            kept = json.loads((file.metadata() or {}).get(_KEPT, "{}"))
    except (Unusable, OSError, SafetensorError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise _refusal(path, _foreign.said(error)) from error
    if not isinstance(kept, dict):
        raise _refusal(path, "metadata that jaxport did not write")
    return arrays, kept


def _check(variables: Mapping[str, Any], arrays: Mapping[str, np.ndarray], path: Path) -> None:
    absent, unknown = sorted(variables.keys() - arrays.keys()), sorted(arrays.keys() - variables.keys())
    if absent:
        raise _refusal(path, f"none for the variable {absent[0]}{_more(absent)}")
    if unknown:
        raise _refusal(path, f"{unknown[0]}, which the module has not{_more(unknown)}")
    for name, here in variables.items():
        found = arrays[name]
        if (tuple(here.shape), str(here.dtype)) != (found.shape, found.dtype.name):
            wanted = f"{here.dtype}{list(here.shape)}"
            raise _refusal(path, f"{found.dtype}{list(found.shape)} for {name}, which takes {wanted}")


def _more(names: list[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _refusal(path: Path, found: str) -> WeightsError:
    return WeightsError(f"expected the weights of this module at {path}, found {found}: run `jaxport weights` for it")
