"""Hosts TensorFlow to read models and TensorFlow's registries. The user's code runs here, and nowhere else."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from compare.sides._host import Host
from compare.sides.replies import Calls, KerasModel
from workloads.core.spec import Arrays
from workloads.protocol.architecture import Architecture
from workloads.protocol.framework import Size
from workloads.protocol.function_graph import FunctionGraph
from workloads.protocol.inspection import Inspection
from workloads.protocol.raw_operations import Expression, Registry, Tried
from workloads.protocol.saved_graph import SavedGraph
from workloads.protocol.transfer import Source

Inputs = tuple[tuple[str, tuple[Size | None, ...], str], ...]
"""Name, shape and dtype of each; None is a size that is not fixed."""

_READER, _OPERATIONS, _TRYING = "tf_reference._inspecting", "tf_reference._operations", "tf_reference._trying"
_WEIGHTS = "tf_reference._keras_weights"
_WRITTEN = "tf_reference._keras_written"
_FUNCTION = "tf_reference._function_graph"
_SAVED = "tf_reference._saved_port"
_COMPILED = "tf_reference._keras_compiled"


def create() -> Host:
    """A host that has imported TensorFlow."""
    # As of every framework, by name: the judges import none.
    return Models(importlib.import_module(_READER))


class Models(Host):
    """TensorFlow, which reads what is in a model; nothing is kept."""

    host = "models"

    def __init__(self, reader: Any) -> None:
        super().__init__()
        self._reader = reader

    def saved_model(self, path: Path) -> Inspection:
        """Report the contents of a SavedModel, and load and run nothing of it."""
        return self._reader.saved_model(path)

    def keras_archive(self, path: Path) -> Inspection:
        """Report what a .keras or .h5 file says, and build nothing of it."""
        return self._reader.keras_archive(path)

    def keras_archive_built(self, path: Path, folder: Path, custom: tuple[str, ...]) -> Inspection:
        """Build the model of a .keras or .h5 file, and report its contents.

        Args:
          custom: FILE.py:NAME of what the file names and Keras does not have.
        """
        os.chdir(folder)
        return self._reader.keras_archive_built(path, custom)

    def code(self, reference: str, folder: Path, inputs: Inputs) -> Inspection:
        """Report the contents of a Keras model or function of a user's file.

        Args:
          reference: FILE.py:NAME.
        """
        os.chdir(folder)
        return self._reader.code(reference, inputs)

    def function_graph(self, reference: str, folder: Path, inputs: Inputs) -> tuple[FunctionGraph, Arrays]:
        """Return the graph of a function of a file, and its constants as arrays.

        Args:
          reference: FILE.py:NAME.
        """
        os.chdir(folder)
        return importlib.import_module(_FUNCTION).read(reference, inputs)

    def saved_graph(self, selection: SavedGraph, folder: Path, inputs: Inputs) -> tuple[FunctionGraph, Arrays]:
        """Return a part of a saved graph, its constants as arrays, and what its variables hold.

        Args:
          selection: what is computed of which file.
          inputs: arguments whose sizes the file leaves open.
        """
        os.chdir(folder)
        return importlib.import_module(_SAVED).read(selection, inputs)

    def operations(self) -> Registry:
        """List the operations that TensorFlow registers, with their kernels."""
        return importlib.import_module(_OPERATIONS).registry()

    def try_expressions(self, expressions: tuple[Expression, ...]) -> Tried:
        """Report what XLA compiles the operations of expressions to."""
        return importlib.import_module(_TRYING).try_expressions(expressions)

    def weights(self, model: KerasModel, /) -> tuple[Source, Arrays]:
        """Return the layers of a Keras model, and its weights as arrays by key."""
        with _weights_of(model) as (module, selection, scratch):
            return module.read(selection, scratch)

    def architecture(self, model: KerasModel, /) -> Architecture:
        """Return the calls of a Keras model's layers, and the arguments of its compile()."""
        with _weights_of(model) as (module, selection, scratch):
            compiled = module.Given(selection.reference, compiled=True, custom=selection.custom)
            return importlib.import_module(_COMPILED).read(compiled, scratch)

    def write_weights(self, model: KerasModel, /, arrays: Arrays) -> tuple[Annotated[bytes, ".weights.h5"], Arrays]:
        """Write a .weights.h5 file with these arrays, and return what a model reads from it."""
        with _weights_of(model) as (_, selection, scratch):
            return importlib.import_module(_WRITTEN).write(selection, arrays, scratch)

    def optimizer_steps(self, model: KerasModel, steps: Calls, fresh: bool, arrays: Arrays) -> Arrays:
        """Return the weights after steps of a Keras optimizer with gradients.

        Args:
          fresh: whether the optimizer starts anew.
        """
        with _weights_of(model) as (_, selection, scratch):
            return importlib.import_module(_WRITTEN).take_steps(selection, arrays, steps, fresh, scratch)


@contextlib.contextmanager
def _weights_of(model: KerasModel) -> Iterator[tuple[Any, Any, Path]]:
    """The reader of weights, their place, and a folder to unpack to."""
    module = importlib.import_module(_WEIGHTS)
    os.chdir(model.folder)
    with tempfile.TemporaryDirectory() as scratch:
        selection = module.Given(
            model.reference,
            model.weights,
            model.checkpoint,
            optimizer=model.optimizer,
            leave=model.leave,
            closures=True,
            custom=model.custom,
        )
        yield module, selection, Path(scratch)
