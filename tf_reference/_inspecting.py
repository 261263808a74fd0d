"""Lists the contents of a SavedModel, a .keras file, or a Keras model or function in a user's file."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from tf_reference import (
    _graph_nodes,
    _keras_2_models,
    _keras_archive,
    _keras_layers,
    _python_effects,
    _saved_model,
)
from tf_reference._closed_over import takes_arguments
from tf_reference._function_graph import UNTRACED, Spec, variable_names
from tf_reference._graph_nodes import Place
from tf_reference._sources import callees, users_line
from workloads.core import foreign
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Inspection, Operation, Value

TRAINING = "training"
_LONGEST_REASON = 300


def saved_model(folder: Path) -> Inspection:
    """The contents of a SavedModel, which is not loaded."""
    return _saved_model.inspect(folder)


def keras_archive(path: Path) -> Inspection:
    """The contents of a .keras file, which is not built."""
    return _keras_archive.inspect(path)


def keras_archive_built(path: Path, custom: Sequence[str] = ()) -> Inspection:
    """The contents of a .keras file's model, built with new weights: also its operations.

    Args:
      custom: FILE.py:NAME of every class that it names and Keras does not have.

    Raises:
      Unsupported: it cannot be built.
    """
    inspection = _keras_archive.inspect(path)
    model_inspection = _of_model(_keras_archive.build(path, custom=custom), ())
    return replace(model_inspection, kind=inspection.kind, training=inspection.training, versions=inspection.versions)


def code(reference: str, inputs: Sequence[Spec]) -> Inspection:
    """The contents of a Keras model or function in a user's file.

    Args:
      reference: FILE.py:NAME.
      inputs: of one call, in order; may be left out of a model that knows its own.

    Raises:
      Unsupported: there is nothing of either by that name, or it cannot be traced without inputs.
    """
    value = _as_keras_3(_make(resolve(reference), inputs), reference)
    if isinstance(value, keras.Layer):
        return _of_model(value, inputs)
    return _of_function(value, inputs, reference)


def _make(value: Any, inputs: Sequence[Spec]) -> Any:
    """The model itself, of a class or a function that makes one of no arguments."""
    is_class = inspect.isclass(value)
    if (
        isinstance(value, keras.Layer)
        or _keras_2_models.is_of_keras_2(value)
        or (not is_class and (inputs or takes_arguments(value, unknown=True)))
    ):
        return value
    if is_class and takes_arguments(value, unknown=True):
        raise Unsupported(
            f"expected a model, or what makes one of no arguments, found the class {value.__name__}, which takes some: "
            "name an instance, or a function that returns one"
        )
    model = value()
    if not isinstance(model, keras.Layer) and not _keras_2_models.is_of_keras_2(model):
        kind = _keras_2_models.kind_of(model)
        raise Unsupported(f"expected a model of Keras 3, found {kind}: name a model, or give --input for each argument")
    return model


def _as_keras_3(value: Any, reference: str) -> Any:
    """The value, a model of tf_keras as Keras 3 builds it of its file."""
    if not _keras_2_models.is_of_keras_2(value):
        return value
    with tempfile.TemporaryDirectory() as scratch:
        path = _keras_2_models.save(value, reference, Path(scratch))
        model = _keras_archive.build(path)
        _keras_archive.compile_as_saved(model, path)
    return model


def _of_model(model: Any, inputs: Sequence[Spec]) -> Inspection:
    specs = [_spec(spec) for spec in inputs] or _own_specs(model)
    operations, entries, values, why = (), (), ((), (), ()), ""
    if specs is None:
        why = "its inputs are not known: give --input for each of them"
    else:
        try:
            operations, entries, values = _traced_model(model, specs)
        except UNTRACED as error:
            # Its layers can be listed all the same.
            why = _trace_problem(error)
    calls = [type(layer).call for layer in [model, *model._flatten_layers(include_self=False)]]
    return Inspection(
        kind="keras model",
        layers=_keras_layers.layers(model),
        operations=operations,
        entries=entries,
        inputs=values[0],
        outputs=values[1],
        # Before it is called a model has made a part of its variables only.
        variables=() if why else _keras_layers.variables(model),
        effects=_python_effects.effects(calls),
        training=_keras_layers.training(model),
        not_traced=why,
    )


def _trace_problem(error: Exception) -> str:
    """The line that says why a model could not be traced: AutoGraph puts the calls that led there before it."""
    kind = type(error).__name__
    lines = [line.strip() for line in str(error).splitlines()]
    after = next((index for index, line in enumerate(lines) if line.startswith(f"{kind}: ")), None)
    if after is None:
        return f"{kind}: {foreign.error_line(error)}"
    reason_lines = [line for line in lines[after:] if line][:2]
    return " ".join(reason_lines)[:_LONGEST_REASON].rstrip(".")


def _own_specs(model: Any) -> Any:
    """The specs of a model's own inputs, in its structure; None where it does not know them."""
    try:
        structure = model.input
    except (AttributeError, ValueError, RuntimeError):
        # A Sequential that was read from a config has been built, and was never called.
        inputs = getattr(model, "inputs", None) or ()
        structure = inputs[0] if len(inputs) == 1 else None
    if structure is None:
        return None
    return [keras.tree.map_structure(lambda symbol: tf.TensorSpec(symbol.shape, symbol.dtype, symbol.name), structure)]


def _traced_model(model: Any, specs: Sequence[Any]) -> tuple[tuple[Operation, ...], tuple[str, ...], Any]:
    """The operations of inference, and those that training adds."""
    trains = "training" in inspect.signature(model.call).parameters or bool(getattr(model, "layers", ()))
    if not trains:
        operations, values = _trace(lambda *arguments: model(*arguments), specs)
        return operations, ("call",), values
    inference, values = _trace(lambda *arguments: model(*arguments, training=False), specs)
    training, _ = _trace(lambda *arguments: model(*arguments, training=True), specs)
    kinds = {(operation.type, operation.source) for operation in inference}
    extra = [
        replace(operation, function=TRAINING)
        for operation in training
        if (operation.type, operation.source) not in kinds
    ]
    return (*inference, *extra), ("inference", TRAINING), values


def _of_function(function: Any, inputs: Sequence[Spec], reference: str) -> Inspection:
    signature = getattr(function, "input_signature", None)
    if not inputs and signature is None and takes_arguments(function, unknown=True):
        raise Unsupported(f"expected --input for each argument of {reference}, found none: add --input 'x=f32[B,128]'")
    specs = [_spec(spec) for spec in inputs] or list(signature or ())
    operations, (own_inputs, outputs, variables) = _trace(function, specs)
    return Inspection(
        kind="function",
        operations=operations,
        entries=(reference.rpartition(":")[2],),
        inputs=own_inputs,
        outputs=outputs,
        variables=variables,
        effects=_python_effects.effects([getattr(function, "python_function", function)]),
    )


def _spec(spec: Spec) -> tf.TensorSpec:
    name, shape, dtype = spec
    return tf.TensorSpec(shape, dtype, name)


def _trace(function: Callable[..., Any], specs: Sequence[Any]) -> tuple[tuple[Operation, ...], Any]:
    """The operations of a function; its inputs, outputs and variables."""
    traceable: Any = function if hasattr(function, "get_concrete_function") else tf.function(function)
    concrete = traceable.get_concrete_function(*specs)
    graph = concrete.graph
    operations = _graph_nodes.from_traced(graph, places(graph))
    capture_count = len(graph.captures)
    inputs = graph.inputs[: len(graph.inputs) - capture_count]
    variables = tuple(
        Value(variable.name, variable.dtype.name, _graph_nodes.known_shape(variable.shape), variable.trainable)
        for variable in variable_names(graph).values()
    )
    return operations, (_values(inputs), _values(graph.outputs), variables)


def _values(tensors: Sequence[Any]) -> tuple[Value, ...]:
    return tuple(Value(tensor.op.name, tensor.dtype.name, _graph_nodes.known_shape(tensor.shape)) for tensor in tensors)


_LAYERS = ("/keras/src/layers/", "/tf_keras/src/layers/")
_CALL = ("/layers/layer.py", "/engine/base_layer.py")
"""Through these a layer of the user's is called as well."""


def places(graph: Any) -> dict[tuple[str, str], Place]:
    """By function and node, where it comes from; "" is the graph itself."""
    return dict(_places(graph, "", "", set()))


def _places(graph: Any, function: str, caller: str, seen_names: set[str]) -> Iterator[tuple[tuple[str, str], Place]]:
    for operation in graph.get_operations():
        frames = list(operation.traceback or ())
        line = users_line(frames)
        yield (function, operation.name), (line or caller, _in_layer(frames, line))
        for name, callee in callees(graph, operation):
            if name not in seen_names:
                seen_names.add(name)
                yield from _places(callee, name, line or caller, seen_names)


def _in_layer(frames: Iterable[Any], line: str) -> bool:
    """Whether the innermost code that is not a framework's machinery is a layer of Keras."""
    after = True
    in_layer = False
    for frame in frames:
        if line and users_line([frame]):
            after, in_layer = True, False
        elif after and any(part in frame.filename for part in _LAYERS):
            in_layer = in_layer or not frame.filename.endswith(_CALL)
    return in_layer
