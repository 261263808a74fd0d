"""The two workers that weights go between: one reads and writes Keras models, the other reads Flax modules."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from compare.sides._side import reading
from compare.sides.methods import request
from compare.sides.model_host import Models
from compare.sides.module_host import Modules
from compare.sides.replaceable import Replaceable
from compare.sides.replies import FlaxModule as FlaxModule
from compare.sides.replies import KerasModel as KerasModel
from workloads.core.spec import Arrays
from workloads.protocol.architecture import Architecture
from workloads.protocol.inspection import Value
from workloads.protocol.transfer import Source, Target


class WeightWorkers:
    """Two workers, each started when it is first asked.

    Args:
      tf_python: interpreter with TensorFlow; None is this one.
      jax_python: interpreter with JAX and Flax; None is this one.
      timeout_s: how long a request may take.
    """

    def __init__(self, tf_python: str | None, jax_python: str | None, timeout_s: float, stack: ExitStack) -> None:
        self._models = Replaceable("models", timeout_s, stack, tf_python)
        self._modules = Replaceable("modules", timeout_s, stack, jax_python)

    def start(self) -> None:
        """Start both: each takes seconds to import its framework."""
        self._models.current_worker()
        self._modules.current_worker()

    def source(self, model: KerasModel) -> tuple[Source, Arrays]:
        """The layers of a model and its weights.

        Raises:
          RequestError: there is no such model, or it cannot be read.
        """
        with reading(model.reference):
            return request(Models.weights)(self._models, model)

    def architecture(self, model: KerasModel) -> Architecture:
        """The calls of the layers of a model, and what it was compiled with.

        Raises:
          RequestError: there is no such model, or it cannot be read.
        """
        with reading(model.reference):
            return request(Models.architecture)(self._models, model)

    def write_weights(self, model: KerasModel, arrays: Arrays) -> tuple[bytes, Arrays]:
        """A .weights.h5 file of a model with these arrays, and what another such model reads from it.

        Raises:
          RequestError: the model has other weights, or cannot be read.
        """
        with reading(model.reference):
            return request(Models.write_weights)(self._models, model, arrays)

    def target(self, module: FlaxModule, inputs: Sequence[Value] = ()) -> Target:
        """The modules and variables of a module.

        Raises:
          RequestError: there is no such module.
        """
        with reading(module.reference):
            return request(Modules.module)(self._modules, replace(module, inputs=tuple(inputs)))

    def keras_steps(self, model: KerasModel, gradients: Arrays, steps: int, fresh: bool) -> Arrays:
        """The weights after each of some steps of a model's optimizer, as "STEP/KEY".

        Args:
          gradients: as "STEP/KEY".
          fresh: whether the optimizer starts anew.

        Raises:
          RequestError: it cannot take them.
        """
        with reading(model.reference):
            return request(Models.optimizer_steps)(self._models, model, steps, fresh, gradients)

    def optax_steps(
        self, module: FlaxModule, inputs: Sequence[Value], arrays: Arrays, steps: int, fresh: bool
    ) -> Arrays:
        """The parameters after each of some steps of a module's optimizer, as "STEP/PATH".

        Args:
          arrays: parameters as "weights/PATH", the state as "state/PATH", gradients as "STEP/PATH".
          fresh: whether the optimizer starts anew.

        Raises:
          RequestError: it cannot take them.
        """
        with_inputs = replace(module, inputs=tuple(inputs))
        with reading(module.optimizer):
            return request(Modules.module_steps)(self._modules, with_inputs, steps, fresh, arrays)

    def write_checkpoint(self, module: FlaxModule, inputs: Sequence[Value], arrays: Arrays, path: Path) -> None:
        """Write a checkpoint of Orbax, whole or not at all.

        Args:
          arrays: by path.
          path: of the folder, which must not be there.

        Raises:
          RequestError: it cannot be written.
        """
        with_inputs = replace(module, inputs=tuple(inputs))
        with reading(str(path)):
            request(Modules.write_checkpoint)(self._modules, with_inputs, path.absolute(), arrays)

    def read_checkpoint(self, path: Path) -> Arrays:
        """The arrays of a checkpoint of Orbax, by path.

        Raises:
          RequestError: it is none.
        """
        with reading(str(path)):
            return request(Modules.read_checkpoint)(self._modules, path.absolute())
