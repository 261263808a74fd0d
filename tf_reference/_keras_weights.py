"""The weights of a Keras model with the layers that they belong to; and arrays set into a model and saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _keras_archive, _keras_config, _keras_variables, _traced_calls, _weight_files
from workloads._framework import Unsupported
from workloads._target import resolve
from workloads._transfer import Excluded, Leaf, Source, SourceLayer

SUFFIX = ".weights.h5"
_SEED = "the state of a random generator: seeds are chosen anew in JAX"


@dataclass(frozen=True)
class Given:
    """Where a model is, and what is loaded into it.

    Attributes:
      reference: a .keras or .h5 file, or FILE.py:NAME.
      weights: a .weights.h5 file.
      checkpoint: the prefix of a tf.train.Checkpoint.
      dtype: that the layers of a file are built in; "" for that of the file.
      compiled: whether it is compiled as a file says, where that names nothing but Keras' own.
    """

    reference: str
    weights: Path | None = None
    checkpoint: str = ""
    dtype: str = ""
    compiled: bool = False


def read(given: Given, scratch: Path) -> tuple[Source, dict[str, np.ndarray]]:
    """The layers of a model in order, and its weights by key.

    Args:
      given: where it is.
      scratch: a folder for files that are unpacked.

    Raises:
      Unsupported: there is no such model, it is hostile, or it has not made its weights yet.
    """
    return of_model(model(given, scratch))


def model(given: Given, scratch: Path) -> Any:
    """The model with its weights.

    Args:
      given: where it is.
      scratch: a folder for files that are unpacked.

    Raises:
      Unsupported: as `read`.
    """
    # What has no name is numbered: from the start, so that one code gives one model each time.
    keras.utils.clear_session(free_memory=False)
    path = Path(given.reference)
    made = (
        _of_archive(path, scratch, given)
        if path.suffix.lower() in _weight_files.ARCHIVES
        else _of_code(given.reference, made_anew=bool(given.weights or given.checkpoint))
    )
    if given.weights is not None:
        _weight_files.load(made, given.weights)
    if given.checkpoint:
        _weight_files.restore(made, given.checkpoint)
    return made


def _of_archive(path: Path, scratch: Path, given: Given) -> Any:
    made = _keras_archive.build(path, given.dtype)
    _weight_files.load_own(made, path, scratch)
    if given.compiled:
        _keras_archive.compile_as_saved(made, path)
    return made


def _of_code(reference: str, made_anew: bool) -> Any:
    with _traced_calls.remembering():
        value = resolve(reference)
        made = value if isinstance(value, keras.Layer) else value()
    if not isinstance(made, keras.Layer):
        raise Unsupported(f"expected a Keras model at {reference}, found {type(made).__name__}: name one")
    if not made.built:
        what = "cannot take weights" if made_anew else "has not all of its weights"
        raise Unsupported(
            f"expected a model that has made its weights at {reference}, found one that was never called and {what}: "
            "call it on an example, or build it, in the function that makes it"
        )
    return made


def of_model(made: Any) -> tuple[Source, dict[str, np.ndarray]]:
    """The layers of a model in order, and its weights by key."""
    walk = _Walk()
    walk.add(made, None, "")
    source = Source(
        layers=tuple(walk.layers),
        shared=walk.shared,
        excluded=tuple(Excluded(each.path, _SEED) for each in _keras_variables.seeds(made)),
        inputs=_keras_variables.inputs(made),
        versions={"keras": keras.__version__, "tensorflow": tf.__version__},
    )
    forgotten = [each.path for each in made.weights if id(each) not in walk.keys]
    if forgotten:
        raise Unsupported(f"expected every weight of the model in a layer, found {forgotten[0]} in none")
    return source, {walk.keys[each]: walk.arrays[each] for each in walk.arrays}


class _Walk:
    """Layers as they are met; a variable has the key of the leaf that it is met as first."""

    def __init__(self) -> None:
        self.layers: list[SourceLayer] = []
        self.shared: dict[str, str] = {}
        self.keys: dict[int, str] = {}
        self.arrays: dict[int, np.ndarray] = {}
        self.by_path: dict[str, Any] = {}
        self._paths: dict[int, str] = {}

    def add(self, layer: Any, parent: str | None, step: str) -> None:
        path = f"{parent}/{step}" if parent else step
        if id(layer) in self._paths:
            self.shared[path] = self._paths[id(layer)]
            return
        self._paths[id(layer)] = path
        self.by_path[path] = layer
        inner = list(_keras_variables.children(layer))
        self.layers.append(self._described(layer, path, parent, step, inner))
        for name, child in inner:
            self.add(child, path, name)

    def _described(
        self, layer: Any, path: str, parent: str | None, step: str, inner: Sequence[tuple[str, Any]]
    ) -> SourceLayer:
        return SourceLayer(
            path=path,
            parent=parent,
            step=step,
            module=_keras_config.module_of(type(layer).__module__),
            class_name=type(layer).__name__,
            config=_keras_variables.config(layer),
            compute_dtype=str(getattr(layer, "compute_dtype", "") or ""),
            variable_dtype=str(getattr(layer, "variable_dtype", "") or ""),
            leaves=tuple(self._leaf(name, variable, path) for name, variable in _keras_variables.leaves(layer, inner)),
            shape=_keras_variables.input_shape(layer),
            container=_keras_variables.is_container(layer),
        )

    def _leaf(self, name: str, variable: Any, path: str) -> Leaf:
        key = f"{path}/{name}" if path else name
        tied = self.keys.get(id(variable), "")
        if not tied:
            self.keys[id(variable)] = key
            self.arrays[id(variable)] = np.asarray(variable.numpy())
        return Leaf(name, key, tuple(map(int, variable.shape)), str(variable.dtype), bool(variable.trainable), tied)


def write(given: Given, arrays: Mapping[str, np.ndarray], scratch: Path) -> tuple[bytes, dict[str, np.ndarray]]:
    """A .weights.h5 file with these arrays, and what another such model reads from it, by key.

    Args:
      given: where the model is.
      arrays: by key, one for every weight.
      scratch: a folder for files.

    Raises:
      Unsupported: the model has other weights than these.
    """
    made, path = model(given, scratch), scratch / f"back{SUFFIX}"
    _set(made, arrays)
    made.save_weights(path, overwrite=True)
    other = model(given, scratch)
    _weight_files.load(other, path)
    return path.read_bytes(), of_model(other)[1]


def _set(made: Any, arrays: Mapping[str, np.ndarray]) -> None:
    own = dict(variables(made))
    absent, unknown = own.keys() - arrays.keys(), arrays.keys() - own.keys()
    if absent or unknown:
        raise Unsupported(
            f"expected the model that the weights were read of, found one "
            f"{f'with {min(absent)}' if absent else f'without {min(unknown)}'}: name the same model"
        )
    for key, variable in own.items():
        array = arrays[key]
        if tuple(variable.shape) != array.shape or str(variable.dtype) != array.dtype.name:
            raise Unsupported(
                f"expected {variable.dtype}{list(variable.shape)} for {key}, found {array.dtype}{list(array.shape)}: "
                "name the same model"
            )
        variable.assign(array)


def variables(made: Any) -> Iterator[tuple[str, Any]]:
    """Every variable once, by the key that `of_model` gives it."""
    walk = _Walk()
    walk.add(made, None, "")
    by_id = {id(each): each for each in made.weights}
    return ((key, by_id[identity]) for identity, key in walk.keys.items())


def layers_by_path(made: Any) -> dict[str, Any]:
    """Every layer by the path that it stands under first."""
    walk = _Walk()
    walk.add(made, None, "")
    return walk.by_path
