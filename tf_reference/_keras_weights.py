"""The weights of a Keras model with the layers that they belong to; and arrays set into a model and saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import (
    _closed_over,
    _first_values,
    _input_pipeline,
    _keras_2_models,
    _keras_archive,
    _keras_config,
    _keras_optimizer,
    _keras_variables,
    _saved_weights,
    _traced_calls,
    _weight_files,
)
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported
from workloads.protocol.transfer import Excluded, Leaf, Source, SourceLayer

_EXAMPLE = 32
"""The size of an axis of an example, where a model leaves it open."""


@dataclass(frozen=True)
class Given:
    """Where a model is, and what is loaded into it.

    Attributes:
      reference: a .keras or .h5 file, or FILE.py:NAME.
      weights: a .weights.h5 file.
      checkpoint: the prefix of a tf.train.Checkpoint.
      dtype: that the layers of a file are built in; "" for that of the file.
      compiled: whether it is compiled as a file says, where that names nothing but Keras' own.
      optimizer: whether the variables of its optimizer are wanted too.
      leave: paths of what a checkpoint may have besides, or of what holds it, each with why.
      closures: whether it may be a function that closes over models.
      custom: FILE.py:NAME of every class and function that a file names and Keras does not have.
    """

    reference: str
    weights: Path | None = None
    checkpoint: str = ""
    dtype: str = ""
    compiled: bool = False
    optimizer: bool = False
    leave: Mapping[str, str] = field(default_factory=dict)
    closures: bool = False
    custom: Sequence[str] = ()


def read(location: Given, scratch: Path) -> tuple[Source, dict[str, np.ndarray]]:
    """The layers of a model in order, and its weights by key.

    Raises:
      Unsupported: there is no such model, it is hostile, or it has not made its weights yet.
    """
    folder = Path(location.reference)
    if _saved_weights.is_saved_model(folder):
        if location.optimizer:
            raise Unsupported(
                f"expected a model with its optimizer, found the SavedModel {folder}, which does not tell which "
                f"weight a slot is of: name the code, with --checkpoint {folder}"
            )
        return _saved_weights.read(folder, location.leave)
    keras_model, besides = load(location, scratch)
    source, arrays = of_model(keras_model, location.optimizer)
    return replace(source, excluded=(*source.excluded, *besides)), arrays


def model(location: Given, scratch: Path) -> Any:
    """The model with its weights.

    Raises:
      Unsupported: as `read`.
    """
    return load(location, scratch)[0]


def load(location: Given, scratch: Path) -> tuple[Any, tuple[Excluded, ...]]:
    """The model with its weights, and what their file has besides.

    Raises:
      Unsupported: as `read`.
    """
    # What has no name is numbered: from the start, so that one code gives one model each time.
    keras.utils.clear_session(free_memory=False)
    path, besides = Path(location.reference), ()
    if _saved_weights.is_saved_model(path):
        raise Unsupported(
            f"expected a Keras model, found the SavedModel {path}, which has only variables: name the code"
        )
    if path.suffix.lower() in _weight_files.ARCHIVES:
        keras_model, besides = _of_archive(path, scratch, location)
    else:
        keras_model = _of_code(location.reference, bool(location.weights or location.checkpoint), location.closures)
        if _keras_2_models.is_of_keras_2(keras_model):
            keras_model, _ = _of_archive(
                _keras_2_models.save(keras_model, location.reference, scratch), scratch, location
            )
    held_optimizer = _keras_optimizer.of_model(keras_model) if location.optimizer else None
    if location.weights is not None:
        besides = _weight_files.load(saved_as(keras_model), location.weights, held_optimizer)
    if location.checkpoint:
        besides = _weight_files.restore(saved_as(keras_model), location.checkpoint, held_optimizer, location.leave)
    return keras_model, besides


def saved_as(keras_model: Any) -> Any:
    """The object that weights are saved from: for a function that closes over one model, that model."""
    alone = isinstance(keras_model, _closed_over.ClosedOver) and len(keras_model.held) == 1
    inner = getattr(keras_model, keras_model.held[0]) if alone else keras_model
    return inner if isinstance(inner, keras.Model) else keras_model


def _of_archive(path: Path, scratch: Path, location: Given) -> tuple[Any, tuple[Excluded, ...]]:
    with _traced_calls.remembering():
        keras_model = _keras_archive.build(path, location.dtype, location.custom)
    if location.optimizer:
        _keras_archive.compile_as_saved(keras_model, path, location.custom)
    held_optimizer = _keras_optimizer.of_model(keras_model) if location.optimizer else None
    besides = _weight_files.load_own(keras_model, path, scratch, held_optimizer)
    if location.compiled and not location.optimizer:
        _keras_archive.compile_as_saved(keras_model, path, location.custom)
    return keras_model, besides


def _of_code(reference: str, made_anew: bool, closures: bool) -> Any:
    with _traced_calls.remembering():
        value = resolve(reference)
        computes = closures and _closed_over.takes_arguments(value, unknown=False)
        is_model = isinstance(value, keras.Layer) or _keras_2_models.is_of_keras_2(value)
        keras_model = value if is_model or computes else value()
        if _keras_2_models.is_of_keras_2(keras_model):
            return keras_model
        if isinstance(keras_model, keras.Model) and keras_model.built:
            _build_rest(keras_model)
    if closures and callable(keras_model) and not isinstance(keras_model, keras.Layer):
        keras_model = _closed_over.gather(keras_model, reference)
    if not isinstance(keras_model, keras.Layer):
        raise Unsupported(
            f"expected a model of Keras 3 at {reference}, found {_keras_2_models.kind_of(keras_model)}: name one"
        )
    if not keras_model.built and not _is_of_built_ones(keras_model):
        what = "cannot take weights" if made_anew else "has not all of its weights"
        raise Unsupported(
            f"expected a model that has made its weights at {reference}, found one that was never called and {what}: "
            "call it on an example, or build it, in the function that makes it"
        )
    return keras_model


def _build_rest(keras_model: keras.Model) -> None:
    """Let layers in a model make their weights that do so at the first call with numbers alone, as in fit()."""
    # A model of a class of the user's own has none where it was built or called, not made of symbols.
    inputs = getattr(keras_model, "inputs", None)
    if not inputs or all(layer.built for layer in keras_model._flatten_layers()):
        return
    nest = getattr(keras_model, "_inputs_struct", inputs)
    example = keras.tree.map_structure(
        lambda symbol: tf.zeros([1, *(size or _EXAMPLE for size in symbol.shape[1:])], symbol.dtype), nest
    )
    # One that takes no such example is read as it is.
    with suppress(*_traced_calls.NOT_FOLLOWED):
        keras_model(example[0] if isinstance(example, list) and len(example) == 1 else example)


def _is_of_built_ones(keras_model: Any) -> bool:
    """Whether a model of the user's is never called itself, as one of two that train against each other is not."""
    children = [child for _, child in _keras_variables.children(keras_model)]
    return not _keras_variables.is_keras(keras_model) and bool(children) and all(child.built for child in children)


def of_model(keras_model: Any, optimizer: bool = False) -> tuple[Source, dict[str, np.ndarray]]:
    """The layers of a model in order, and its weights by key; behind its lookups, where it looks words up.

    Args:
      optimizer: whether with its optimizer, and the variables of that.

    Raises:
      Unsupported: it has a weight in no layer, or no optimizer.
    """
    # The variables of an optimizer are those of the whole.
    keras_model = keras_model if optimizer else _input_pipeline.behind_lookups(keras_model)[0]
    walk = _Walk()
    walk.add(keras_model, None, "")
    weights_missed = [weight.path for weight in keras_model.weights if id(weight) not in walk.keys]
    if weights_missed:
        raise Unsupported(f"expected every weight of the model in a layer, found {weights_missed[0]} in none")
    source = Source(
        layers=tuple(walk.layers),
        shared=walk.shared,
        excluded=tuple(Excluded(state.path, _seed(state)) for state in _keras_variables.seeds(keras_model)),
        inputs=_keras_variables.inputs(keras_model),
        versions={"keras": keras.__version__, "tensorflow": tf.__version__},
        optimizer=_keras_optimizer.read(keras_model, walk.keys) if optimizer else None,
    )
    arrays = {walk.keys[identity]: walk.arrays[identity] for identity in walk.arrays}
    slots = _keras_optimizer.variables(keras_model, walk.keys) if optimizer else {}
    return source, arrays | {key: np.array(variable.numpy()) for key, variable in slots.items()}


def _seed(state: Any) -> str:
    values = np.asarray(state.numpy()).tolist()
    return (
        f"the state {values} of a random generator: nnx.Rngs draws other numbers from any seed; jaxport.random draws "
        f"those of Keras with jit_compile=True from seed={values}"
    )


class _Walk:
    """Layers as they are met; a variable has the key of the leaf that it is met as first."""

    def __init__(self) -> None:
        self.layers: list[SourceLayer] = []
        self.shared: dict[str, str] = {}
        self.keys: dict[int, str] = {}
        self.variables: dict[int, Any] = {}
        self.arrays: dict[int, np.ndarray] = {}
        self.by_path: dict[str, keras.Layer] = {}
        self._paths: dict[int, str] = {}

    def add(self, layer: Any, parent: str | None, step: str) -> None:
        path = f"{parent}/{step}" if parent else step
        if id(layer) in self._paths:
            self.shared[path] = self._paths[id(layer)]
            return
        self._paths[id(layer)] = path
        self.by_path[path] = layer
        inner = list(_keras_variables.children(layer))
        self.layers.append(self._describe(layer, path, parent, step, inner))
        for name, child in inner:
            self.add(child, path, name)

    def _describe(
        self, layer: Any, path: str, parent: str | None, step: str, inner: Sequence[tuple[str, Any]]
    ) -> SourceLayer:
        config = _keras_variables.config(layer)
        return SourceLayer(
            path=path,
            parent=parent,
            step=step,
            module=_keras_config.module_of(type(layer).__module__),
            class_name=type(layer).__name__,
            config=config,
            compute_dtype=str(getattr(layer, "compute_dtype", "") or ""),
            variable_dtype=str(getattr(layer, "variable_dtype", "") or ""),
            leaves=tuple(self._leaf(name, variable, path) for name, variable in _keras_variables.leaves(layer, inner)),
            shape=_keras_variables.input_shape(layer),
            container=_keras_variables.is_container(layer),
            defaults=_keras_variables.defaults(layer, config),
        )

    def _leaf(self, name: str, variable: Any, path: str) -> Leaf:
        key = f"{path}/{name}" if path else name
        tied_key = self.keys.get(id(variable), "")
        if not tied_key:
            self.keys[id(variable)], self.variables[id(variable)] = key, variable
            self.arrays[id(variable)] = np.asarray(variable.numpy())
        trainable = _keras_variables.is_made_to_train(variable)
        first = _first_values.initializer_of(variable)
        return Leaf(name, key, tuple(map(int, variable.shape)), str(variable.dtype), trainable, tied_key, first)


def variables(keras_model: Any) -> Iterator[tuple[str, Any]]:
    """Every variable once, by the key that `of_model` gives it."""
    walk = _Walk()
    walk.add(keras_model, None, "")
    return ((key, walk.variables[identity]) for identity, key in walk.keys.items())


def keys(keras_model: Any) -> dict[int, str]:
    """The key of every variable, by its id."""
    walk = _Walk()
    walk.add(keras_model, None, "")
    return walk.keys


def layers_by_path(keras_model: Any) -> dict[str, keras.Layer]:
    """Every layer by the path that it stands under first."""
    walk = _Walk()
    walk.add(keras_model, None, "")
    return walk.by_path
