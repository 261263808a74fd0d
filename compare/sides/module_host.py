"""Hosts JAX and Flax to read what is in a module of a user's. Their code runs here, and nowhere else."""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from compare.sides._host import Host
from compare.sides.replies import Calls, FlaxModule
from workloads.core.spec import Arrays
from workloads.protocol.transfer import Target

_READER, _OPTIMIZERS = "jaxport._module_reading", "jaxport._optimizer_reading"
_CHECKPOINTS = "jaxport._orbax_weights"


def create() -> Host:
    """A host that has imported Flax."""
    # As of every framework, by name: the judges import none.
    return Modules(importlib.import_module(_READER))


class Modules(Host):
    """JAX and Flax, which read what is in a module; nothing is kept."""

    host = "modules"

    def __init__(self, reader: Any) -> None:
        super().__init__()
        self._reader = reader

    def module(self, module: FlaxModule, /) -> Target:
        """Return the modules and variables of a Flax module."""
        os.chdir(module.folder)
        target = self._reader.read(module.reference, module.inputs)
        if not module.optimizer:
            return target
        optimizers = importlib.import_module(_OPTIMIZERS)
        return replace(target, optimizer=optimizers.read(module.optimizer, module.reference, module.inputs))

    def module_steps(self, module: FlaxModule, steps: Calls, fresh: bool, arrays: Arrays) -> Arrays:
        """Return the parameters after steps of an optax optimizer with the arrays of the request.

        Args:
          fresh: whether the optimizer starts anew, and not from the state that is sent.
        """
        os.chdir(module.folder)
        optimizers = importlib.import_module(_OPTIMIZERS)
        start = optimizers.parameters(self._reader.module(module.reference), module.inputs)
        return optimizers.take_steps(optimizers.transformation(module.optimizer), start, arrays, steps, fresh)

    def write_checkpoint(self, module: FlaxModule, path: Path, arrays: Arrays) -> None:
        """Write arrays as a checkpoint of Orbax.

        Args:
          path: the folder of the checkpoint.
          arrays: by path in the module.
        """
        os.chdir(module.folder)
        optimizer = importlib.import_module(_OPTIMIZERS).transformation(module.optimizer) if module.optimizer else None
        checkpoints, flax_module = importlib.import_module(_CHECKPOINTS), self._reader.module(module.reference)
        checkpoints.write(flax_module, module.inputs, optimizer, arrays, path)

    def read_checkpoint(self, path: Path) -> Arrays:
        """Return the arrays of a checkpoint of Orbax, by path."""
        return importlib.import_module(_CHECKPOINTS).read(path)
