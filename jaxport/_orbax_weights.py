"""Weights as a checkpoint of Orbax that its own checkpointer restores: nested as the variables of the module are.

In the folder `weights` the variables, without states of random generators: of NNX as `nnx.to_pure_dict` nests them, of
Linen by collection. In the folder `optimizer` the state of optax.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import linen, nnx, traverse_util

from jaxport import _linen_reading, _optimizer_reading
from jaxport._linen_variables import by_path
from jaxport._optimizer_paths import named_leaves
from workloads.core import foreign
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Value
from workloads.protocol.optimizer_transfer import PREFIX

WEIGHTS, OPTIMIZER = "weights", "optimizer"


def write(
    module: Any,
    inputs: tuple[Value, ...],
    optimizer: optax.GradientTransformation | None,
    arrays: Mapping[str, np.ndarray],
    folder: Path,
) -> None:
    """Write a checkpoint of the weights of a module, and of the state of its optimizer.

    Args:
      optimizer: of optax; None where none is carried.
      arrays: by the path of the variable; those of a state with the prefix of an optimizer's.
      folder: which must not be there: it is written whole or not at all.

    Raises:
      Unsupported: there is such a folder, or a variable has no place in the module.
    """
    if folder.exists():
        raise Unsupported(f"expected a new folder for the checkpoint, found that {folder} is there: name another")
    weights = {path: array for path, array in arrays.items() if not path.startswith(PREFIX)}
    of_linen = isinstance(module, linen.Module)
    trees: dict[str, Any] = {WEIGHTS: _of_linen(module, inputs, weights) if of_linen else _of_nnx(module, weights)}
    if optimizer is not None:
        state = {path.removeprefix(PREFIX): array for path, array in arrays.items() if path.startswith(PREFIX)}
        params = _optimizer_reading.parameters(module, inputs)
        state_tree = _optimizer_reading.state_of(optimizer, params, weights, state)
        # Orbax writes no tree without an array, such as the state of plain SGD.
        trees |= {OPTIMIZER: state_tree} if jax.tree.leaves(state_tree) else {}
    folder_written = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    try:
        for name, tree in trees.items():
            with ocp.StandardCheckpointer() as checkpointer:
                checkpointer.save(folder_written / name, tree)
        folder_written.chmod(0o755)
        os.rename(folder_written, folder)
    finally:
        shutil.rmtree(folder_written, ignore_errors=True)


def _of_nnx(module: nnx.Module, weights: Mapping[str, np.ndarray]) -> dict[Any, Any]:
    tree = nnx.to_pure_dict(nnx.state(module, nnx.Not(nnx.RngState)))
    flat = traverse_util.flatten_dict(tree)
    return _nest({keys: weights.get(".".join(map(str, keys))) for keys in flat}, weights)


def _of_linen(module: linen.Module, inputs: tuple[Value, ...], weights: Mapping[str, np.ndarray]) -> dict[Any, Any]:
    variables = by_path(_linen_reading.shapes(module, inputs))
    return _nest({(kind, *path.split(".")): weights.get(path) for path, (kind, _) in variables.items()}, weights)


def _nest(flat: Mapping[tuple[Any, ...], np.ndarray | None], weights: Mapping[str, np.ndarray]) -> dict[Any, Any]:
    """The variables with an array as a nested dict; a variable that keeps its value is not written."""
    present = {keys: jnp.asarray(array) for keys, array in flat.items() if array is not None}
    if len(present) != len(weights):
        raise Unsupported(
            f"expected a place for {len(weights)} variables in the module, found {len(present)}: report this"
        )
    return traverse_util.unflatten_dict(present)


def read(folder: Path) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint, by path as `write` takes them; those of Linen with their collection before the path.

    Raises:
      Unsupported: it is no such checkpoint.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, prefix in ((WEIGHTS, ""), (OPTIMIZER, PREFIX)):
        if name == OPTIMIZER and not (folder / name).exists():
            continue
        try:
            with ocp.StandardCheckpointer() as checkpointer:
                tree = checkpointer.restore((folder / name).absolute())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unsupported(
                f"expected a checkpoint of Orbax that jaxport wrote at {folder}, "
                f"found {foreign.error_line(error)[:200]}: name the folder that holds the folder weights"
            ) from error
        arrays |= {f"{prefix}{path}": np.asarray(leaf) for path, leaf in named_leaves(tree)}
    return arrays
