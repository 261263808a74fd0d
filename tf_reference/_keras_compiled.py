"""What a Keras model was compiled with, its regularizers, and where its own code stands: as data, nothing is called."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras

from tf_reference import _keras_config, _keras_graph, _keras_variables, _keras_weights
from workloads import _frames
from workloads._architecture import Architecture, Compiled, Described, Inner, Penalty
from workloads._framework import Unsupported

_OF_LEAVES = {"kernel": "kernel_regularizer", "bias": "bias_regularizer", "gamma": "gamma_regularizer",
              "beta": "beta_regularizer", "embeddings": "embeddings_regularizer"}  # fmt: skip
_UNSAID = (NotImplementedError, TypeError, AttributeError, ValueError)


def read(given: _keras_weights.Given, scratch: Path) -> Architecture:
    """The architecture of a model.

    Args:
      given: where it is.
      scratch: a folder for files that are unpacked.

    Raises:
      Unsupported: there is no such model, it is hostile, or it has no graph.
    """
    return of_model(_keras_weights.model(given, scratch))


def of_model(model: Any) -> Architecture:
    """The architecture of a model.

    Raises:
      Unsupported: it has no graph.
    """
    source, _ = _keras_weights.of_model(model)
    graphs = tuple(_keras_graph.graphs(model))
    by_path = dict(_by_path(model, ""))
    return Architecture(
        name=model.name,
        source=source,
        graphs=graphs,
        lines={path: line for path, each in by_path.items() if (line := _line(each))},
        penalties=tuple(_penalties(by_path)),
        frozen=tuple(_frozen(by_path)),
        compiled=_compiled(model),
    )


def _by_path(layer: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every layer with its path; one that is shared stands under each."""
    for name, child in _keras_variables.children(layer):
        inner = f"{path}/{name}" if path else name
        yield inner, child
        yield from _by_path(child, inner)


def _line(layer: Any) -> str:
    """FILE:LINE of a class or function that is not Keras' own."""
    code = getattr(layer, "function", None) if type(layer).__name__ == "Lambda" else type(layer)
    if code is type(layer) and _keras_variables.is_keras(layer):
        return ""
    try:
        file, (_, line) = inspect.getsourcefile(code), inspect.getsourcelines(code)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""
    return f"{os.path.basename(file)}:{line}" if file and not _frames.is_framework(file) else ""


def _penalties(by_path: Mapping[str, Any]) -> Iterator[Penalty]:
    seen: set[int] = set()
    for path, layer in by_path.items():
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        found = {"": getattr(layer, "activity_regularizer", None)}
        for name, variable in _keras_variables.leaves(layer, list(_keras_variables.children(layer))):
            found[name] = getattr(variable, "regularizer", None)
        yield from (Penalty(path, leaf, described(each)) for leaf, each in found.items() if each is not None)


def _frozen(by_path: Mapping[str, Any]) -> Iterator[str]:
    seen: set[int] = set()
    for path, layer in by_path.items():
        if id(layer) in seen or getattr(layer, "trainable", True):
            continue
        seen.add(id(layer))
        inner = list(_keras_variables.children(layer))
        yield from (f"{path}/{name}" for name, _ in _keras_variables.leaves(layer, inner))


def described(value: Any) -> Described:
    """A loss, optimizer, schedule, metric or regularizer as data."""
    kind = value if inspect.isfunction(value) else type(value)
    own = kind.__module__.split(".")[0] in ("keras", "tf_keras")
    try:
        config = {} if inspect.isfunction(value) else value.get_config()
    except _UNSAID:
        config, own = {}, False
    inner = {
        name: _of_config(each) for name, each in config.items() if isinstance(each, Mapping) and "class_name" in each
    }
    plain = _keras_config.plain_config({name: each for name, each in config.items() if name not in inner})
    return Described(kind.__name__, own, plain, inner)


def _of_config(value: Mapping[str, Any]) -> Inner:
    module, config = str(value.get("module") or ""), value.get("config")
    plain = _keras_config.plain_config(config) if isinstance(config, Mapping) else {}
    return Inner(str(value["class_name"]), module.split(".")[0] == "keras", plain)


def _compiled(model: Any) -> Compiled | None:
    if not getattr(model, "compiled", False):
        return None
    if type(model).train_step is not keras.Model.train_step or type(model).compute_loss is not keras.Model.compute_loss:
        return Compiled(obstacle="a train_step or compute_loss of its own")
    told: Mapping[str, Any] = getattr(getattr(model, "_compile_config", None), "config", None) or {}
    obstacle = next((f"{name} in compile()" for name in ("loss_weights", "weighted_metrics") if told.get(name)), "")
    try:
        losses = tuple(_losses(model, told.get("loss", getattr(model, "loss", None))))
    except Unsupported as error:
        losses, obstacle = (), str(error)
    return Compiled(
        losses=losses,
        metrics=tuple(_metrics(told.get("metrics"))),
        optimizer=described(model.optimizer) if model.optimizer is not None else None,
        obstacle=obstacle,
    )


def _losses(model: Any, given: Any) -> Iterator[Described | None]:
    if isinstance(given, Mapping):
        names = list(model.output_names)
        if set(given) - set(names):
            raise Unsupported("a loss by the name of something that is no output")
        given = [given.get(name) for name in names]
    for each in given if isinstance(given, list | tuple) else [given]:
        yield None if each is None else described(keras.losses.get(each))


def _metrics(given: Any) -> Iterator[Described]:
    if isinstance(given, Mapping):
        given = list(given.values())
    for each in given if isinstance(given, list | tuple) else [given]:
        if isinstance(each, list | tuple | Mapping):
            yield from _metrics(each)
        elif isinstance(each, str):
            yield Described(each)
        elif each is not None:
            yield described(each)
