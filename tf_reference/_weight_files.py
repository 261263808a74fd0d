"""Weights of a file, looked through before Keras reads them: an HDF5 file could lead to others, or fill memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import tensorflow as tf

from tf_reference import _keras_h5
from tf_reference._keras_archive import bounded_memory
from workloads import _foreign
from workloads._foreign import Unusable
from workloads._framework import Unsupported

ARCHIVES = (".keras", *_keras_h5.SUFFIXES)

MOST_BYTES = 64 << 30
"""Of all weights together: those of a model of 16 billion parameters."""

MOST_OBJECTS = 1 << 20
"""Groups and datasets of a file: a layer has two or three."""

_MEMBER = "model.weights.h5"
_ATTRIBUTES = 4096
"""Bytes that an array may take in memory for each that the file has: zeros pack well."""

_REFUSED = (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, MemoryError, UnicodeDecodeError)
"""What h5py and Keras raise of a file that is damaged, or of another model."""


def load_own(model: Any, path: Path, scratch: Path) -> None:
    """Load the weights that are in a .keras or .h5 file into the model that was built of it.

    Args:
      model: built.
      path: of the file.
      scratch: a folder to unpack to.

    Raises:
      Unsupported: they are not there, hostile, or those of another model.
    """
    if path.suffix.lower() in _keras_h5.SUFFIXES:
        _read(model, path, path)
        return
    unpacked = scratch / _MEMBER
    try:
        with _foreign.zip_opened(path) as archive, unpacked.open("wb") as target:
            _foreign.unpack(archive, _MEMBER, target, MOST_BYTES)
    except Unusable as error:
        raise _refusal(path, str(error)) from error
    _read(model, unpacked, path)


def load(model: Any, path: Path) -> None:
    """Load a .weights.h5 file.

    Raises:
      Unsupported: it is none, hostile, or of another model.
    """
    _read(model, path, path)


def _read(model: Any, path: Path, named: Path) -> None:
    """Load a file of HDF5 that the user knows by another name."""
    try:
        with bounded_memory(MOST_BYTES):
            found = _arrays(path)
            model.load_weights(path)
    except Unusable as error:
        raise _refusal(named, str(error)) from error
    except _REFUSED as error:
        raise _refusal(named, f"none of this model ({_foreign.said(error)[:300]})") from error
    _check_all_read(model, found, named)


def _check_all_read(model: Any, found: Sequence[str], named: Path) -> None:
    """Keras leaves alone what a file has beyond the model: then it is the file of another one."""
    own = [each for each in found if not each.startswith(("optimizer/", "optimizer_weights/"))]
    held = len({id(each) for each in (*model.variables, *getattr(model, "non_trainable_variables", ()))})
    if len(own) > held:
        raise _refusal(named, f"{len(own)} arrays, more than the {held} variables of the model")


def _arrays(path: Path) -> list[str]:
    """The names of all arrays of a file, each of which lies in it, is of numbers, and no larger than it can be."""
    _foreign.check(path, MOST_BYTES)
    with h5py.File(path, "r") as file:
        found = list(_datasets(file, "", set()))
    sizes = sum(size for _, size in found)
    if sizes > MOST_BYTES:
        raise Unusable(f"arrays of {sizes >> 30} GiB, more than {MOST_BYTES >> 30}")
    return [name for name, _ in found]


def _datasets(group: Any, within: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise Unusable(f"a link at {within}{name} that leads out of its place")
        item = group[name]
        address = hash(item)  # by the file and the place in it
        if address in seen:
            raise Unusable(f"{within}{name} under two names")
        seen.add(address)
        if len(seen) > MOST_OBJECTS:
            raise Unusable(f"more than {MOST_OBJECTS:,} groups and arrays")
        if isinstance(item, h5py.Group):
            yield from _datasets(item, f"{within}{name}/", seen)
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


def restore(model: Any, prefix: str) -> None:
    """Restore a tf.train.Checkpoint, whether it was made of the model or has it under a name.

    Args:
      model: with its variables.
      prefix: of the checkpoint's files.

    Raises:
      Unsupported: there is none, or it has not every variable of the model.
    """
    path = tf.train.latest_checkpoint(prefix) if Path(prefix).is_dir() else prefix
    what = "expected a tf.train.Checkpoint at"
    try:
        names = {name.partition("/")[0] for name, _ in tf.train.list_variables(path)} if path else set()
    except (tf.errors.OpError, ValueError) as error:
        raise Unsupported(f"{what} {prefix}, found {_foreign.said(error)[:200]}: name its prefix or folder") from error
    if not names:
        raise Unsupported(f"{what} {prefix}, found none: name its prefix or folder")
    reasons = []
    for checkpoint in (*_with_name(model, sorted(names)), tf.train.Checkpoint(model)):
        try:
            checkpoint.restore(path).assert_existing_objects_matched().expect_partial()
        except (AssertionError, ValueError, tf.errors.OpError) as error:
            reasons.append(_foreign.said(error))
        else:
            return
    raise Unsupported(f"{what} {prefix} of this model, found {reasons[0][:300]}: name the model that it was saved of")


def _with_name(model: Any, names: Sequence[str]) -> list[Any]:
    """Checkpoints that have the model under a name; a name with an underscore is none that a user gave."""
    given = (name for name in names if name.isidentifier() and name[0] != "_" and name != "save_counter")
    return [tf.train.Checkpoint(**{name: model}) for name in given]


def _refusal(path: Path, found: str) -> Unsupported:
    return Unsupported(f"expected weights of Keras at {path}, found {found}: save them with model.save_weights()")
