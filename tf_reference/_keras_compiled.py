"""The compilation of a Keras model, its regularizers, and the lines of its own code, as data.

Nothing is called but a train_step whose source is not followed, which is traced.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras

from tf_reference import (
    _input_pipeline,
    _keras_config,
    _keras_graph,
    _keras_outputs,
    _keras_variables,
    _keras_weights,
    _own_steps,
    _traced_steps,
    _traced_training,
)
from tf_reference._keras_described import describe
from workloads.core import frames
from workloads.protocol.architecture import Architecture, Compiled, OwnStep, Penalty
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import KERAS_LAYERS, SourceLayer

_MASKED = "a result that carries a mask: Keras leaves what is masked out of the loss"


def read(location: _keras_weights.Given, scratch: Path) -> Architecture:
    """The architecture of a model.

    Raises:
      Unsupported: there is no such model, it is hostile, or it has no graph.
    """
    return of_model(_keras_weights.model(location, scratch))


def of_model(model: Any) -> Architecture:
    """The architecture of a model, or of the part behind its lookups of words.

    Raises:
      Unsupported: it has no graph.
    """
    model, pipeline = _input_pipeline.behind_lookups(model)
    source, _ = _keras_weights.of_model(model)
    by_path = dict(_keras_variables.by_path(model))
    paths = _keras_variables.first_paths(by_path)
    own = _read_own_step(model, paths)
    beside = [by_path[path] for path in own.uses] if isinstance(own, OwnStep) else ()
    read = _keras_graph.read(model, paths, beside)
    layers = (_as_read(layer, read) for layer in source.layers)
    return Architecture(
        name=model.name,
        source=replace(source, layers=(*layers, *map(_operation, read.operations, read.operations.values()))),
        graphs=read.graphs,
        reasons=read.reasons,
        lines={path: line for path, layer in by_path.items() if (line := _line(layer))},
        penalties=tuple(_penalties(by_path)),
        frozen=tuple(_find_frozen(by_path)),
        compiled=_read_compilation(model, _hidden_parts(by_path, read), own),
        drawn=_keras_outputs.drawn_shapes(model) if getattr(model, "compiled", False) else (),
        pipeline=pipeline,
        has_call=read.has_call,
    )


def _hidden_parts(by_path: Mapping[str, keras.Layer], read: _keras_graph.Read) -> Mapping[str, Sequence[str]]:
    """The training behavior of layers that the parts "loss" and "step" must include."""
    is_written = any(graph.masks for graph in read.graphs)
    loss = [_MASKED] if read.masked and not is_written else []
    for path in sorted(read.ended_early):
        if getattr(by_path[path], "activity_regularizer", None) is not None:
            loss.append(f"a regularizer of what {path} returns, which ends in a function of the user's own")
    return {"loss": loss, "step": list(_find_constrained(by_path))}


def _as_read(layer: SourceLayer, read: _keras_graph.Read) -> SourceLayer:
    """A layer as its graph has it: without an activation that stands behind it, or as the Dropout that it is."""
    if layer.path in read.ended_early:
        return replace(layer, config={**layer.config, "activation": "linear"})
    if layer.path in read.dropouts:
        config = read.dropouts[layer.path]
        return replace(layer, module=KERAS_LAYERS, class_name="Dropout", config=config, container=False)
    return layer


def _operation(path: str, operation: Any) -> SourceLayer:
    """An operation that a call makes as it goes."""
    parent, _, _ = path.rpartition(f"/{operation.name}")
    module = _keras_config.module_of(type(operation).__module__)
    return SourceLayer(path, parent, operation.name, module, type(operation).__name__, _attributes(operation))


def _attributes(operation: Any) -> dict[str, Plain]:
    """The arguments of the constructor of an operation."""
    config = _keras_variables.config(operation)
    return config or _keras_config.plain_config({k: v for k, v in vars(operation).items() if not k.startswith("_")})


def _line(layer: Any) -> str:
    """FILE:LINE of a class or function that is not Keras' own."""
    code = getattr(layer, "function", None) if type(layer).__name__ == "Lambda" else type(layer)
    if code is type(layer) and _keras_variables.is_keras(layer):
        return ""
    try:
        file, (_, line) = inspect.getsourcefile(code), inspect.getsourcelines(code)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""
    return f"{os.path.basename(file)}:{line}" if file and not frames.is_framework(file) else ""


def _penalties(by_path: Mapping[str, keras.Layer]) -> Iterator[Penalty]:
    seen_ids, placed_ids = set[int](), {id(layer) for layer in by_path.values()}
    for path, layer in by_path.items():
        if id(layer) in seen_ids:
            continue
        seen_ids.add(id(layer))
        # An operation holds none.
        for inner in layer._flatten_layers(include_self=False) if hasattr(layer, "_flatten_layers") else ():
            # Of a layer that keeps the weights of those in it as its own, as attention does.
            if id(inner) not in placed_ids and getattr(inner, "activity_regularizer", None) is not None:
                placed_ids.add(id(inner))
                yield Penalty(f"{path}/{inner.name}", "", describe(inner.activity_regularizer))
        regularizers = {"": getattr(layer, "activity_regularizer", None)}
        for name, variable in _keras_variables.leaves(layer, list(_keras_variables.children(layer))):
            # A weight that is not trained has no penalty.
            regularizers[name] = (
                getattr(variable, "regularizer", None) if getattr(variable, "trainable", True) else None
            )
        yield from (
            Penalty(path, leaf, describe(regularizer))
            for leaf, regularizer in regularizers.items()
            if regularizer is not None
        )


def _find_frozen(by_path: Mapping[str, keras.Layer]) -> Iterator[str]:
    seen_ids: set[int] = set()
    for path, layer in by_path.items():
        if id(layer) in seen_ids:
            continue
        seen_ids.add(id(layer))
        still = _keras_variables.frozen_variables(layer)
        inner = list(_keras_variables.children(layer))
        yield from (
            f"{path}/{name}" for name, variable in _keras_variables.leaves(layer, inner) if id(variable) in still
        )


def _find_constrained(by_path: Mapping[str, keras.Layer]) -> Iterator[str]:
    """The weights that a step projects onto a constraint."""
    for path, layer in by_path.items():
        for name, variable in _keras_variables.leaves(layer, list(_keras_variables.children(layer))):
            constraint = getattr(variable, "constraint", None)
            if constraint is not None:
                yield f"the constraint {type(constraint).__name__} of {path}/{name}"


def _read_own_step(model: Any, paths: Mapping[int, str]) -> OwnStep | str | None:
    """A training step of the user's own; why it is not read; None of Keras' own, and of a model without a training."""
    if not getattr(model, "compiled", False) or not _own_steps.is_own(model):
        return None
    try:
        return _own_steps.read(model)
    except Unsupported:
        pass
    line, name = _own_steps.line_of(model), "train_step" if _own_steps.has_step(model) else "compute_loss"
    try:
        traced = _traced_steps.read(model)
    except Unsupported as error:
        return f"the {name} at {line}: {error}"
    return OwnStep(line, (), traced=traced.step, uses=tuple(paths[id(layer)] for layer in traced.used))


def _read_compilation(model: Any, hidden: Mapping[str, Sequence[str]], own: OwnStep | str | None) -> Compiled | None:
    """Read the arguments of a model's `compile`.

    Args:
      hidden: what layers do in training that its parts "loss" and "step" have to do.
      own: its own training step, or why that is not read.
    """
    if not getattr(model, "compiled", False):
        return None
    if isinstance(own, str):
        return Compiled(obstacle=own)
    if own is not None and own.traced is not None:
        return Compiled(own=own, left={part: tuple(reasons) for part, reasons in hidden.items() if reasons})
    settings = _keras_outputs.compiled_with(model)
    obstacle, exclusion = "", _traced_training.exclusion(model.optimizer)
    hidden_parts = {part: tuple(reasons) for part, reasons in hidden.items() if reasons}
    hidden_parts |= {"optimizer": (exclusion,)} if exclusion else {}
    compiled, metrics, of_no_output = Compiled(), (), ""
    try:
        # They are no part of the step: what is not known of them leaves it as it is.
        metrics = _keras_outputs.metrics(model, settings)
    except Unsupported as error:
        of_no_output = str(error)
    try:
        compiled = Compiled(
            losses=_keras_outputs.losses(model, settings),
            weights=_keras_outputs.weights(model, settings),
            metrics=metrics,
            of_no_output=of_no_output,
        )
    except Unsupported as error:
        obstacle = str(error)
    optimizer = _traced_training.optimizer(model.optimizer) if model.optimizer is not None else None
    return replace(compiled, optimizer=optimizer, obstacle=obstacle, own=own, left=hidden_parts)
