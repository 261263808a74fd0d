"""Writes the states of a training step to a checkpoint of Orbax, which comes with Flax."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp


def write(folder: Path, tree: Any) -> None:
    """Write a pytree of arrays to a new folder: each process what its devices have."""
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder, _by_number(tree))


def read(folder: Path, like: Any) -> Any:
    """The pytree that was written, its arrays laid out as these are.

    Args:
      like: a pytree of the same structure, shapes, types and devices.
    """
    with ocp.StandardCheckpointer() as checkpointer:
        checkpoint = checkpointer.restore(folder, jax.tree.map(ocp.utils.to_shape_dtype_struct, _by_number(like)))
    leaves = [checkpoint[str(number)] for number in range(len(checkpoint))]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _by_number(tree: Any) -> dict[str, Any]:
    """The leaves by number: Orbax keeps neither tuples nor what an optimizer calls its state."""
    return {str(number): leaf for number, leaf in enumerate(jax.tree.leaves(tree))}
