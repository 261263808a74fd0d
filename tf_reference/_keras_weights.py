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
from workloads._framework import Unsupported
from workloads._target import resolve
from workloads._transfer import Excluded, Leaf, Source, SourceLayer

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


def read(given: Given, scratch: Path) -> tuple[Source, dict[str, np.ndarray]]:
    """The layers of a model in order, and its weights by key.

    Args:
      given: where it is.
      scratch: a folder for files that are unpacked.

    Raises:
      Unsupported: there is no such model, it is hostile, or it has not made its weights yet.
    """
    folder = Path(given.reference)
    if _saved_weights.is_saved_model(folder):
        if given.optimizer:
            raise Unsupported(
                f"expected a model with its optimizer, found the SavedModel {folder}, which does not tell which "
                f"weight a slot is of: name the code, with --checkpoint {folder}"
            )
        return _saved_weights.read(folder, given.leave)
    made, besides = loaded(given, scratch)
    source, arrays = of_model(made, given.optimizer)
    return replace(source, excluded=(*source.excluded, *besides)), arrays


def model(given: Given, scratch: Path) -> Any:
    """The model with its weights.

    Args:
      given: where it is.
      scratch: a folder for files that are unpacked.

    Raises:
      Unsupported: as `read`.
    """
    return loaded(given, scratch)[0]


def loaded(given: Given, scratch: Path) -> tuple[Any, tuple[Excluded, ...]]:
    """The model with its weights, and what their file has besides.

    Args:
      given: where it is.
      scratch: a folder for files that are unpacked.

    Raises:
      Unsupported: as `read`.
    """
    # What has no name is numbered: from the start, so that one code gives one model each time.
    keras.utils.clear_session(free_memory=False)
    path, besides = Path(given.reference), ()
    if _saved_weights.is_saved_model(path):
        raise Unsupported(
            f"expected a Keras model, found the SavedModel {path}, which has only variables: name the code"
        )
    if path.suffix.lower() in _weight_files.ARCHIVES:
        made, besides = _of_archive(path, scratch, given)
    else:
        made = _of_code(given.reference, bool(given.weights or given.checkpoint), given.closures)
        if _keras_2_models.is_of_keras_2(made):
            made, _ = _of_archive(_keras_2_models.saved(made, given.reference, scratch), scratch, given)
    held = _keras_optimizer.of_model(made) if given.optimizer else None
    if given.weights is not None:
        besides = _weight_files.load(saved_as(made), given.weights, held)
    if given.checkpoint:
        besides = _weight_files.restore(saved_as(made), given.checkpoint, held, given.leave)
    return made, besides


def saved_as(made: Any) -> Any:
    """What has files of weights: of a function that closes over one model, that model."""
    alone = isinstance(made, _closed_over.ClosedOver) and len(made.held) == 1
    inner = getattr(made, made.held[0]) if alone else made
    return inner if isinstance(inner, keras.Model) else made


def _of_archive(path: Path, scratch: Path, given: Given) -> tuple[Any, tuple[Excluded, ...]]:
    with _traced_calls.remembering():
        made = _keras_archive.build(path, given.dtype, given.custom)
    if given.optimizer:
        _keras_archive.compile_as_saved(made, path, given.custom)
    held = _keras_optimizer.of_model(made) if given.optimizer else None
    besides = _weight_files.load_own(made, path, scratch, held)
    if given.compiled and not given.optimizer:
        _keras_archive.compile_as_saved(made, path, given.custom)
    return made, besides


def _of_code(reference: str, made_anew: bool, closures: bool) -> Any:
    with _traced_calls.remembering():
        value = resolve(reference)
        computes = closures and _closed_over.takes_arguments(value, unknown=False)
        is_model = isinstance(value, keras.Layer) or _keras_2_models.is_of_keras_2(value)
        made = value if is_model or computes else value()
        if _keras_2_models.is_of_keras_2(made):
            return made
        if isinstance(made, keras.Model) and made.built:
            _build_rest(made)
    if closures and callable(made) and not isinstance(made, keras.Layer):
        made = _closed_over.gathered(made, reference)
    if not isinstance(made, keras.Layer):
        raise Unsupported(
            f"expected a model of Keras 3 at {reference}, found {_keras_2_models.kind_of(made)}: name one"
        )
    if not made.built and not _is_of_built_ones(made):
        what = "cannot take weights" if made_anew else "has not all of its weights"
        raise Unsupported(
            f"expected a model that has made its weights at {reference}, found one that was never called and {what}: "
            "call it on an example, or build it, in the function that makes it"
        )
    return made


def _build_rest(made: keras.Model) -> None:
    """Let layers in a model make their weights that do so at the first call with numbers alone, as in fit()."""
    # A model of a class of the user's own has none where it was built or called, not made of symbols.
    inputs = getattr(made, "inputs", None)
    if not inputs or all(layer.built for layer in made._flatten_layers()):
        return
    nest = getattr(made, "_inputs_struct", inputs)
    example = keras.tree.map_structure(
        lambda symbol: tf.zeros([1, *(size or _EXAMPLE for size in symbol.shape[1:])], symbol.dtype), nest
    )
    # One that takes no such example is read as it is.
    with suppress(*_traced_calls.NOT_FOLLOWED):
        made(example[0] if isinstance(example, list) and len(example) == 1 else example)


def _is_of_built_ones(made: Any) -> bool:
    """Whether a model of the user's is never called itself, as one of two that train against each other is not."""
    held = [child for _, child in _keras_variables.children(made)]
    return not _keras_variables.is_keras(made) and bool(held) and all(child.built for child in held)


def of_model(made: Any, optimizer: bool = False) -> tuple[Source, dict[str, np.ndarray]]:
    """The layers of a model in order, and its weights by key; behind its lookups, where it looks words up.

    Args:
      made: the model.
      optimizer: whether with its optimizer, and the variables of that.

    Raises:
      Unsupported: it has a weight in no layer, or no optimizer.
    """
    # The variables of an optimizer are those of the whole.
    made = made if optimizer else _input_pipeline.behind_lookups(made)[0]
    walk = _Walk()
    walk.add(made, None, "")
    forgotten = [weight.path for weight in made.weights if id(weight) not in walk.keys]
    if forgotten:
        raise Unsupported(f"expected every weight of the model in a layer, found {forgotten[0]} in none")
    source = Source(
        layers=tuple(walk.layers),
        shared=walk.shared,
        excluded=tuple(Excluded(state.path, _seed(state)) for state in _keras_variables.seeds(made)),
        inputs=_keras_variables.inputs(made),
        versions={"keras": keras.__version__, "tensorflow": tf.__version__},
        optimizer=_keras_optimizer.read(made, walk.keys) if optimizer else None,
    )
    arrays = {walk.keys[identity]: walk.arrays[identity] for identity in walk.arrays}
    held = _keras_optimizer.variables(made, walk.keys) if optimizer else {}
    return source, arrays | {key: np.array(variable.numpy()) for key, variable in held.items()}


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
        tied = self.keys.get(id(variable), "")
        if not tied:
            self.keys[id(variable)], self.variables[id(variable)] = key, variable
            self.arrays[id(variable)] = np.asarray(variable.numpy())
        trainable = _keras_variables.is_made_to_train(variable)
        first = _first_values.initializer_of(variable)
        return Leaf(name, key, tuple(map(int, variable.shape)), str(variable.dtype), trainable, tied, first)


def variables(made: Any) -> Iterator[tuple[str, Any]]:
    """Every variable once, by the key that `of_model` gives it."""
    walk = _Walk()
    walk.add(made, None, "")
    return ((key, walk.variables[identity]) for identity, key in walk.keys.items())


def keys(made: Any) -> dict[int, str]:
    """The key of every variable, by its id."""
    walk = _Walk()
    walk.add(made, None, "")
    return walk.keys


def layers_by_path(made: Any) -> dict[str, Any]:
    """Every layer by the path that it stands under first."""
    walk = _Walk()
    walk.add(made, None, "")
    return walk.by_path
