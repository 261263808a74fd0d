"""Hosts TensorFlow to read what is in a model. Code of a user's runs here, and nowhere else."""

from __future__ import annotations

import dataclasses
import importlib
import os
from typing import Any

import msgspec

from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.parameters import InspectCode, InspectFile
from workloads._inspection import Inspection
from workloads._spec import Arrays

_READER = "tf_reference._inspecting"


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


def _plain(inspection: Inspection) -> Reply:
    return Reply(msgspec.to_builtins(dataclasses.asdict(inspection)))
