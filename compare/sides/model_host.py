"""Hosts TensorFlow to read what is in a model, and in TensorFlow. Code of a user's runs here, and nowhere else."""

from __future__ import annotations

import importlib
import os
from typing import Any

import msgspec

from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.parameters import InspectCode, InspectFile, Nothing, TryExpressions
from workloads._spec import Arrays

_READER, _OPERATIONS, _TRYING = "tf_reference._inspecting", "tf_reference._operations", "tf_reference._trying"


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
        return _plain(self._reader.keras_archive_built(parameters.path))

    def code(self, parameters: InspectCode, arrays: Arrays) -> Reply:
        """What is in a model or function of a file."""
        os.chdir(parameters.folder)
        return _plain(self._reader.code(parameters.reference, parameters.inputs))

    def operations(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """The operations that TensorFlow registers."""
        return _plain(importlib.import_module(_OPERATIONS).registry())

    def try_expressions(self, parameters: TryExpressions, arrays: Arrays) -> Reply:
        """What becomes of expressions, and of the operations in them."""
        return _plain(importlib.import_module(_TRYING).tried(parameters.expressions))


def _plain(found: Any) -> Reply:
    return Reply(msgspec.to_builtins(found))
