"""Hosts JAX and Flax to read what is in a module of a user's. Their code runs here, and nowhere else."""

from __future__ import annotations

import importlib
import os
from typing import Any

import msgspec

from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.parameters import ModuleReference
from workloads._spec import Arrays

_READER = "jaxport._module_reading"


def create() -> Host:
    """A host that has imported Flax."""
    # As of every framework, by name: the judges import none.
    return Modules(importlib.import_module(_READER))


class Modules(Host):
    """Answers about one module after the other; nothing is kept."""

    host = "modules"

    def __init__(self, reader: Any) -> None:
        super().__init__()
        self._reader = reader

    def module(self, parameters: ModuleReference, arrays: Arrays) -> Reply:
        """What is in a module."""
        os.chdir(parameters.folder)
        return Reply(msgspec.to_builtins(self._reader.read(parameters.reference, parameters.inputs)))
