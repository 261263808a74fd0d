"""The variables of a SavedModel as the weights of layers that it does not tell: nothing is loaded, nothing is run.

They go by the names that they were made with, "encoder/dense/kernel", where those are unambiguous; else by the
attributes that hold them. Which class a layer is of, and with which attributes, a SavedModel of Keras 3 does not say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf

from tf_reference import _checkpoint_graph, _saved_model
from tf_reference._checkpoint_graph import (
    COUNTER,
    DAMAGED,
    SAVES,
    CheckpointGraph,
    SavedVariable,
    check_left,
    copy_of,
    left_with,
)
from tf_reference._keras_archive import bounded_memory
from workloads.core import foreign
from workloads.core.foreign import Unusable
from workloads.protocol.framework import Unsupported
from workloads.protocol.transfer import Excluded, Leaf, Source, SourceLayer

PREFIX = os.path.join("variables", "variables")
CLASS = "SavedModel"

MOST_BYTES = 64 << 30
"""The largest size of all weights together: a model of 16 billion parameters."""

_SEED = "the state of a random generator: seeds are chosen anew in JAX"
_OF_OPTIMIZER = "it is the optimizer's: a SavedModel does not tell the weight of a slot"


def is_saved_model(path: Path) -> bool:
    """Whether a folder holds a SavedModel."""
    return os.path.lexists(path / _saved_model.FILE)


def read(folder: Path, leave: Mapping[str, str]) -> tuple[Source, dict[str, np.ndarray]]:
    """The variables of a SavedModel, as layers by their names, and the arrays by key.

    Args:
      leave: names of variables that are not carried, or of what holds them, each with why.

    Raises:
      Unsupported: there is none, it is damaged or hostile, or two variables have one name.
    """
    try:
        with bounded_memory(MOST_BYTES):
            graph = open_checkpoint(folder)
            by_name, exclusions = _name_variables(graph, leave)
            arrays = {name: np.array(graph.reader.get_tensor(variable.key)) for name, variable in by_name.items()}
    except Unusable as error:
        raise _refusal(folder, str(error)) from error
    except (*DAMAGED, OSError) as error:
        raise _refusal(folder, f"one that cannot be read ({foreign.error_line(error)[:200]})") from error
    return Source(
        layers=tuple(_layers(arrays)), excluded=tuple(exclusions), versions={"tensorflow": tf.__version__}
    ), arrays


def open_checkpoint(folder: Path) -> CheckpointGraph:
    """The checkpoint in a SavedModel, once its files are looked through.

    Raises:
      Unusable: a file is missing, or a link that leads out, or an array is larger than the files.
    """
    inside = os.path.realpath(folder)
    files = [folder / _saved_model.FILE, *sorted((folder / "variables").glob("variables.*"))]
    if len(files) < 3:
        raise Unusable("no variables in it")
    size = 0
    for path in files:
        if os.path.commonpath((os.path.realpath(path), inside)) != inside:
            raise Unusable(f"{path.name}, a link that leads out of it")
        foreign.check(path, MOST_BYTES)
        size += path.stat().st_size
    graph = _checkpoint_graph.read(str(folder / PREFIX))
    dtypes = graph.reader.get_variable_to_dtype_map()
    for key, shape in graph.reader.get_variable_to_shape_map().items():
        dtype = dtypes[key]
        if int(np.prod(shape, dtype=object)) * max(dtype.size, 1) > size:
            raise Unusable(f"{key} of shape {shape}, larger than its files")
    return graph


def _name_variables(
    graph: CheckpointGraph, leave: Mapping[str, str]
) -> tuple[dict[str, SavedVariable], list[Excluded]]:
    """Name the variables that are carried, and those that are not."""
    variables, exclusions = list(graph.variables()), []
    of_optimizers, dtypes = graph.of_optimizers(), graph.reader.get_variable_to_dtype_map()
    # Keras names a variable by its layer, and TensorFlow what has no name "Variable".
    by_name = all(
        "/" in variable.full_name
        for variable in variables
        if variable.path != SAVES and variable.number not in of_optimizers
    )
    names = [variable.full_name if by_name and variable.full_name else variable.path for variable in variables]
    check_left(names, leave, "the SavedModel")
    variables_by_name: dict[str, SavedVariable] = {}
    for name, variable in zip(names, variables, strict=True):
        why = _reason(variable, name, of_optimizers, leave)
        if not why and name in variables_by_name:
            why = _of_copy(graph, variable, variables_by_name[name], name)
        kind = dtypes[variable.key]
        if why:
            exclusions.append(Excluded(variable.path if name in variables_by_name else name, why))
        elif kind.is_floating or kind.is_integer or kind.is_bool:
            variables_by_name[name] = variable
        else:
            raise Unusable(f"{name} of {kind.name}, which is no number: --leave {name}=REASON")
    return variables_by_name, exclusions


def _reason(variable: SavedVariable, name: str, of_optimizers: frozenset[int], leave: Mapping[str, str]) -> str:
    """Why a variable is not carried; "" where it is."""
    reason = left_with(name, leave)
    if reason or variable.number in of_optimizers:
        return reason or _OF_OPTIMIZER
    if variable.path == SAVES:
        return COUNTER
    return _SEED if name.endswith("seed_generator_state") else ""


def _of_copy(graph: CheckpointGraph, one: SavedVariable, other: SavedVariable, name: str) -> str:
    """The reason for two variables of which one is a copy, as some exports of models have."""
    if graph.same(one, other):
        return copy_of(name)
    raise Unusable(f"two variables {name}, at {other.path} and at {one.path}, that differ")


def _layers(arrays: Mapping[str, np.ndarray]) -> Iterator[SourceLayer]:
    """The layers that hold variables, outer ones first, as containers: only their names are known."""
    paths = {""}
    for name in arrays:
        steps = name.split("/")[:-1]
        paths |= {"/".join(steps[:count]) for count in range(1, len(steps) + 1)}
    for path in sorted(paths):
        parent, _, step = path.rpartition("/")
        names = [name for name in arrays if name.rpartition("/")[0] == path]
        yield SourceLayer(
            path=path,
            parent=None if not path else parent,
            step=step,
            module=CLASS,
            class_name=CLASS,
            leaves=tuple(_leaf(name, arrays[name]) for name in names),
            container=True,
        )


def _leaf(name: str, array: np.ndarray) -> Leaf:
    return Leaf(name.rpartition("/")[2], name, array.shape, array.dtype.name)


def _refusal(folder: Path, actual: str) -> Unsupported:
    return Unsupported(f"expected the variables of a SavedModel at {folder}, found {actual}: save the model again")
