"""Weights of a file, looked through before Keras reads them: an HDF5 file could lead to others, or fill memory."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import tensorflow as tf

from tf_reference import _checkpoint_graph, _keras_h5, _private, _saved_weights
from tf_reference._checkpoint_graph import COUNTER, DAMAGED, SAVES, CheckpointGraph, check_left, copy_of, left_with
from tf_reference._keras_archive import bounded_memory
from workloads.core import foreign
from workloads.core.foreign import Unusable
from workloads.protocol.framework import Unsupported
from workloads.protocol.transfer import Excluded

ARCHIVES = (".keras", *_keras_h5.SUFFIXES)

MOST_BYTES = 64 << 30
"""The largest size of all weights together: a model of 16 billion parameters."""

MOST_OBJECTS = 1 << 20
"""Groups and datasets of a file: a layer has two or three."""

_MEMBER = "model.weights.h5"
_OPTIMIZERS = ("optimizer/", "optimizer_weights/")
_ATTRIBUTES = 4096
"""Bytes that an array may take in memory for each that the file has: zeros pack well."""

_A_CHECKPOINT = "expected a tf.train.Checkpoint at"

_METRICS = "metrics/"
"""Where Keras 2 keeps them in a file; Keras 3 keeps none."""
_OF_OPTIMIZER = "it is the optimizer's, which --optimizer carries"

_OF_METRIC = "it is a metric's, which starts anew"
_OF_METRICS = frozenset({"metrics", "_metrics", "compiled_metrics", "_compile_metrics", "_loss_tracker"})
"""Attributes of a model, in Keras 2 and 3, that hold metrics; no layer may have these names."""

_REFUSED = (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, MemoryError, UnicodeDecodeError)
"""The errors that h5py and Keras raise for a damaged file or one of another model."""


def load_own(model: Any, path: Path, scratch: Path, optimizer: Any = None) -> tuple[Excluded, ...]:
    """Load the weights that are in a .keras or .h5 file into the model that was built of it; what it has besides.

    Args:
      optimizer: of the model, whose variables have to be there too; None where they do not matter.

    Raises:
      Unsupported: they are not there, hostile, or those of another model.
    """
    if path.suffix.lower() in _keras_h5.SUFFIXES:
        return _read(model, path, path, optimizer)
    member = scratch / _MEMBER
    try:
        with foreign.zip_opened(path) as archive, member.open("wb") as target:
            foreign.unpack(archive, _MEMBER, target, MOST_BYTES)
    except Unusable as error:
        raise _refusal(path, str(error)) from error
    return _read(model, member, path, optimizer)


def load(model: Any, path: Path, optimizer: Any = None) -> tuple[Excluded, ...]:
    """Load a .weights.h5 file; what it has besides.

    Args:
      optimizer: of the model, whose variables have to be there too; None where they do not matter.

    Raises:
      Unsupported: it is none, hostile, or of another model.
    """
    return _read(model, path, path, optimizer)


def _read(model: Any, path: Path, shown_path: Path, optimizer: Any) -> tuple[Excluded, ...]:
    """Load a file of HDF5 that the user knows by another name."""
    try:
        with bounded_memory(MOST_BYTES):
            names = _arrays(path)
            _check_optimizer(names, optimizer, shown_path)
            model.load_weights(path)
    except Unusable as error:
        raise _refusal(shown_path, str(error)) from error
    except _REFUSED as error:
        raise _refusal(shown_path, f"none of this model ({foreign.error_line(error)[:300]})") from error
    _check_all_read(model, names, shown_path)
    exclusions = {_METRICS: _OF_METRIC} | (dict.fromkeys(_OPTIMIZERS, _OF_OPTIMIZER) if optimizer is None else {})
    return tuple(Excluded(name, why) for name in names for start, why in exclusions.items() if name.startswith(start))


def _check_optimizer(names: Sequence[str], optimizer: Any, shown_path: Path) -> None:
    """Keras only warns of an optimizer whose variables it does not read."""
    if optimizer is None:
        return
    there, variable_count = sum(name.startswith("optimizer/vars/") for name in names), len(optimizer.variables)
    if there != variable_count:
        raise Unsupported(
            f"expected the {variable_count} variables of {type(optimizer).__name__} at {shown_path}, found {there}: "
            "save the model compiled, as .keras or .weights.h5, after its first step"
        )


def _check_all_read(model: Any, names: Sequence[str], shown_path: Path) -> None:
    """Keras leaves alone what a file has beyond the model: then it is the file of another one."""
    own = [name for name in names if not name.startswith((*_OPTIMIZERS, _METRICS))]
    variable_count = len(
        {id(variable) for variable in (*model.variables, *getattr(model, "non_trainable_variables", ()))}
    )
    if len(own) > variable_count:
        raise _refusal(shown_path, f"{len(own)} arrays, more than the {variable_count} variables of the model")


def _arrays(path: Path) -> list[str]:
    """The names of all arrays of a file, each of which lies in it, is of numbers, and no larger than it can be."""
    foreign.check(path, MOST_BYTES)
    with h5py.File(path, "r") as file:
        datasets = list(_datasets(file, "", set()))
    sizes = sum(size for _, size in datasets)
    if sizes > MOST_BYTES:
        raise Unusable(f"arrays of {sizes >> 30} GiB, more than {MOST_BYTES >> 30}")
    return [name for name, _ in datasets]


def _datasets(group: Any, within: str, seen_addresses: set[int]) -> Iterator[tuple[str, int]]:
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise Unusable(f"a link at {within}{name} that leads out of its place")
        item = group[name]
        address = hash(item)  # by the file and the place in it
        if address in seen_addresses:
            raise Unusable(f"{within}{name} under two names")
        seen_addresses.add(address)
        if len(seen_addresses) > MOST_OBJECTS:
            raise Unusable(f"more than {MOST_OBJECTS:,} groups and arrays")
        if isinstance(item, h5py.Group):
            yield from _datasets(item, f"{within}{name}/", seen_addresses)
        else:
            yield f"{within}{name}", _size(item, f"{within}{name}")


def _size(item: Any, name: str) -> int:
    """The bytes of a dataset in memory."""
    if not isinstance(item, h5py.Dataset) or item.external or item.is_virtual:
        raise Unusable(f"{name}, whose values lie in another file")
    if item.dtype.kind not in "biufcV" or item.dtype.hasobject or (item.dtype.kind == "V" and item.dtype.fields):
        raise Unusable(f"{name} of {item.dtype}, which is no number")
    size = int(np.prod(item.shape, dtype=object)) * item.dtype.itemsize if item.shape else item.dtype.itemsize
    if size > max(item.id.get_storage_size(), 1) * _ATTRIBUTES:
        raise Unusable(f"{name} of {size >> 20} MiB, of which the file has next to nothing")
    return size


def restore(model: Any, prefix: str, optimizer: Any, leave: Mapping[str, str]) -> tuple[Excluded, ...]:
    """Restore a tf.train.Checkpoint, whether it was made of the model or has it under a name; what it has besides.

    Args:
      optimizer: of the model, which has to be there too, in it or under a name; None where it does not matter.
      leave: paths of what else may be there, or of what holds it, each with why.

    Raises:
      Unsupported: there is none, it has not every variable of the model, or others that are not left with a reason.
    """
    try:
        path = _prefix(prefix)
        if not path:
            raise Unsupported(f"{_A_CHECKPOINT} {prefix}, found none: name its prefix or folder")
        _checkpoint_graph.check_files(path, MOST_BYTES)
        graph = _checkpoint_graph.read(path)
        if graph.names:
            return _restore(model, path, optimizer, graph, leave, prefix)
    except (Unusable, *DAMAGED) as error:
        reason = foreign.error_line(error)[:200]
        raise Unsupported(f"{_A_CHECKPOINT} {prefix}, found {reason}: name its prefix or folder") from error
    raise Unsupported(
        f"{_A_CHECKPOINT} {prefix}, found variables by names alone: save a tf.train.Checkpoint of the model"
    )


def _restore(
    model: Any, path: str, optimizer: Any, graph: CheckpointGraph, leave: Mapping[str, str], prefix: str
) -> tuple[Excluded, ...]:
    """Restore a checkpoint, and return the entries that were not restored."""
    reasons = []
    for checkpoint in _checkpoints(model, optimizer, graph.names):
        try:
            _check_order(graph, model)
            # Unlike `restore`, it wants no count of saves, which a SavedModel has not.
            status = checkpoint.read(path).assert_existing_objects_matched()
            status.expect_partial()
        except (AssertionError, *DAMAGED) as error:
            reasons.append(foreign.error_line(error))
        else:
            return _besides(graph, _private.matched_numbers(status), leave, prefix)
    raise Unsupported(
        f"{_A_CHECKPOINT} {prefix} of this model, found {reasons[0][:300]}: name the model that it was saved of"
    )


def _prefix(reference: str) -> str | None:
    """The prefix of a checkpoint's files, as given, or as a folder of checkpoints or a SavedModel has it."""
    folder = Path(reference)
    if _saved_weights.is_saved_model(folder):
        try:
            _saved_weights.open_checkpoint(folder)
        except Unusable as error:
            raise Unsupported(f"expected a SavedModel at {reference}, found {error}: save the model again") from error
        return str(folder / _saved_weights.PREFIX)
    return _checkpoint_graph.latest(folder) if folder.is_dir() else reference


def _besides(
    graph: CheckpointGraph, restored_numbers: frozenset[int], leave: Mapping[str, str], prefix: str
) -> tuple[Excluded, ...]:
    """The entries of a checkpoint that were not restored, each with the reason."""
    of_optimizers = graph.of_optimizers()
    by_full_name = {
        variable.full_name: variable for variable in graph.variables() if variable.number in restored_numbers
    }
    check_left([variable.path for variable in graph.variables()], leave, prefix)
    exclusions, extra = [], []
    for variable in graph.variables():
        if variable.number in restored_numbers:
            continue
        why = left_with(variable.path, leave)
        if not why and variable.path == SAVES:
            why = COUNTER
        elif not why and variable.number in of_optimizers:
            why = _OF_OPTIMIZER
        elif not why and _OF_METRICS.intersection(variable.path.split("/")):
            why = _OF_METRIC
        elif not why and variable.full_name in by_full_name and graph.same(variable, by_full_name[variable.full_name]):
            why = copy_of(variable.full_name)
        if why:
            exclusions.append(Excluded(variable.path, why))
        else:
            extra.append(variable.path)
    if extra:
        more = f" (and {len(extra) - 1} more)" if len(extra) > 1 else ""
        raise Unsupported(
            f"expected the variables of the model alone in {prefix}, found {extra[0]}{more}: carry what has them, or "
            f"--leave {extra[0]}=REASON"
        )
    return tuple(exclusions)


def _check_order(graph: CheckpointGraph, model: Any) -> None:
    """The names in a list of variables have to be those of the model: equal shapes alone would say nothing.

    Raises:
      ValueError: one is another.
    """
    if not {"variables", "_all_variables"} <= set(graph.names):
        return
    name_by_path = {variable.path: variable.full_name for variable in graph.variables()}
    for number, variable in enumerate(model.variables):
        name = name_by_path.get(f"variables/{number}", "")
        if _kind(name) != _kind(variable.path):
            raise ValueError(f"{name or 'nothing'} in place of {variable.path}")


def _kind(name: str) -> tuple[str, ...]:
    """The layer and the variable that a name ends with, without the numbers that Keras gives to equal names."""
    return tuple(re.sub(r"_\d+$", "", part) for part in name.split("/")[-2:])


def _checkpoints(model: Any, optimizer: Any, names: Sequence[str]) -> Iterator[tf.train.Checkpoint]:
    """The objects that a checkpoint may have been saved from, without names that begin with an underscore."""
    candidates = [name for name in names if name.isidentifier() and name[0] != "_" and name != "save_counter"]
    if {"variables", "_all_variables"} <= set(names):
        # model.export() keeps the variables in a list, in the order of the model.
        yield tf.train.Checkpoint(variables=list(model.variables))
    if optimizer is None:
        yield from (tf.train.Checkpoint(**{name: model}) for name in candidates)
        yield tf.train.Checkpoint(model)
        return
    for name, other in itertools.permutations(candidates, 2):
        yield tf.train.Checkpoint(**{name: model, other: optimizer})
    # A compiled model has its optimizer as an attribute, and takes it along.
    yield from (tf.train.Checkpoint(**{name: model}) for name in candidates)
    yield tf.train.Checkpoint(model)


def _refusal(path: Path, actual: str) -> Unsupported:
    return Unsupported(f"expected weights of Keras at {path}, found {actual}: save them with model.save_weights()")
