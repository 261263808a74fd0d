"""Hosts TensorFlow to read what is in a model, and in TensorFlow. Code of a user's runs here, and nowhere else."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from compare.sides import wire
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.host_parameters import InspectCode, InspectFile, KerasSteps, KerasWeights, TryExpressions
from compare.sides.parameters import Nothing
from workloads._spec import Arrays

_READER, _OPERATIONS, _TRYING = "tf_reference._inspecting", "tf_reference._operations", "tf_reference._trying"
_WEIGHTS, _FILE = "tf_reference._keras_weights", ".weights.h5"
_WRITTEN = "tf_reference._keras_written"
_FUNCTION = "tf_reference._function_graph"
_COMPILED = "tf_reference._keras_compiled"


def create() -> Host:
    """A host that has imported TensorFlow."""
    # As of every framework, by name: the judges import none.
    return Models(importlib.import_module(_READER))


class Models(Host):
    """Answers about one model after the other; nothing is kept."""

    host = "models"

    def __init__(self, reader: Any) -> None:
        super().__init__()
        self._reader = reader

    def saved_model(self, parameters: InspectFile, arrays: Arrays) -> Reply:
        """What is in a SavedModel."""
        return _plain(self._reader.saved_model(parameters.path))

    def keras_archive(self, parameters: InspectFile, arrays: Arrays) -> Reply:
        """What a .keras file says."""
        return _plain(self._reader.keras_archive(parameters.path))

    def keras_archive_built(self, parameters: InspectFile, arrays: Arrays) -> Reply:
        """What is in the model of a .keras file."""
        os.chdir(parameters.folder)
        return _plain(self._reader.keras_archive_built(parameters.path, parameters.custom))

    def code(self, parameters: InspectCode, arrays: Arrays) -> Reply:
        """What is in a model or function of a file."""
        os.chdir(parameters.folder)
        return _plain(self._reader.code(parameters.reference, parameters.inputs))

    def function_graph(self, parameters: InspectCode, arrays: Arrays) -> Reply:
        """The graph of a function of a file, with its constants."""
        os.chdir(parameters.folder)
        graph, constants = importlib.import_module(_FUNCTION).read(parameters.reference, parameters.inputs)
        return Reply(msgspec.to_builtins(graph), constants)

    def operations(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """The operations that TensorFlow registers."""
        return _plain(importlib.import_module(_OPERATIONS).registry())

    def try_expressions(self, parameters: TryExpressions, arrays: Arrays) -> Reply:
        """What becomes of expressions, and of the operations in them."""
        return _plain(importlib.import_module(_TRYING).tried(parameters.expressions))

    def weights(self, parameters: KerasWeights, arrays: Arrays) -> Reply:
        """The layers of a Keras model and its weights."""
        with _weights_of(parameters) as (module, given, scratch):
            source, weights = module.read(given, scratch)
        return Reply(msgspec.to_builtins(source), weights)

    def architecture(self, parameters: KerasWeights, arrays: Arrays) -> Reply:
        """The calls of the layers of a Keras model, and what it was compiled with."""
        with _weights_of(parameters) as (module, given, scratch):
            compiled = module.Given(given.reference, compiled=True, custom=given.custom)
            return _plain(importlib.import_module(_COMPILED).read(compiled, scratch))

    def write_weights(self, parameters: KerasWeights, arrays: Arrays) -> Reply:
        """A file of weights, and what is read from it."""
        with _weights_of(parameters) as (_, given, scratch):
            data, weights = importlib.import_module(_WRITTEN).write(given, arrays, scratch)
        return Reply(arrays={**wire.pack_bytes(_FILE, data).arrays, **weights})

    def optimizer_steps(self, parameters: KerasSteps, arrays: Arrays) -> Reply:
        """Weights after steps of a model's optimizer."""
        with _weights_of(parameters.model) as (_, given, scratch):
            written = importlib.import_module(_WRITTEN)
            weights = written.stepped(given, arrays, parameters.steps, parameters.fresh, scratch)
        return Reply(arrays=weights)


@contextlib.contextmanager
def _weights_of(parameters: KerasWeights) -> Iterator[tuple[Any, Any, Path]]:
    """What reads weights, where they are, and a folder to unpack to."""
    module = importlib.import_module(_WEIGHTS)
    os.chdir(parameters.folder)
    with tempfile.TemporaryDirectory() as scratch:
        given = module.Given(
            parameters.reference,
            parameters.weights,
            parameters.checkpoint,
            optimizer=parameters.optimizer,
            leave=parameters.leave,
            closures=True,
            custom=parameters.custom,
        )
        yield module, given, Path(scratch)


def _plain(value: Any) -> Reply:
    return Reply(msgspec.to_builtins(value))
