"""Hosts JAX and Flax to read what is in a module of a user's. Their code runs here, and nowhere else."""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from typing import Any

import msgspec

from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.host_parameters import InspectFile, ModuleCheckpoint, ModuleReference, ModuleSteps
from workloads._spec import Arrays

_READER, _OPTIMIZERS = "jaxport._module_reading", "jaxport._optimizer_reading"
_CHECKPOINTS = "jaxport._orbax_weights"


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
        target = self._reader.read(parameters.reference, parameters.inputs)
        if parameters.optimizer:
            optimizers = importlib.import_module(_OPTIMIZERS)
            held = optimizers.read(parameters.optimizer, parameters.reference, parameters.inputs)
            target = replace(target, optimizer=held)
        return Reply(msgspec.to_builtins(target))

    def module_steps(self, parameters: ModuleSteps, arrays: Arrays) -> Reply:
        """Parameters of a module after steps of an optimizer."""
        os.chdir(parameters.module.folder)
        optimizers, given = importlib.import_module(_OPTIMIZERS), parameters.module
        held = optimizers.parameters(self._reader.module(given.reference), given.inputs)
        made = optimizers.transformation(given.optimizer)
        return Reply(arrays=optimizers.stepped(made, held, arrays, parameters.steps, parameters.fresh))

    def write_checkpoint(self, parameters: ModuleCheckpoint, arrays: Arrays) -> Reply:
        """A checkpoint of a module."""
        given = parameters.module
        os.chdir(given.folder)
        optimizer = importlib.import_module(_OPTIMIZERS).transformation(given.optimizer) if given.optimizer else None
        checkpoints, module = importlib.import_module(_CHECKPOINTS), self._reader.module(given.reference)
        checkpoints.write(module, given.inputs, optimizer, arrays, parameters.path)
        return Reply()

    def read_checkpoint(self, parameters: InspectFile, arrays: Arrays) -> Reply:
        """What is in a checkpoint."""
        return Reply(arrays=importlib.import_module(_CHECKPOINTS).read(parameters.path))
