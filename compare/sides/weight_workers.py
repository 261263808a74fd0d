"""The two workers that weights go between: one reads and writes Keras models, the other reads Flax modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from compare import files
from compare.errors import RequestError
from compare.sides._side import Reply, SideError, unread
from compare.sides.replaceable import Replaceable
from workloads._architecture import Architecture
from workloads._inspection import Value
from workloads._spec import Arrays
from workloads._transfer import Source, Target

_FILE = ".weights.h5"
_Declared = TypeVar("_Declared")


@dataclass(frozen=True)
class KerasModel:
    """Where a Keras model is.

    Attributes:
      reference: a .keras or .h5 file, or FILE.py:NAME.
      weights: a .weights.h5 file that is loaded into it.
      checkpoint: the prefix of a tf.train.Checkpoint that is restored into it.
      optimizer: whether the variables of its optimizer are wanted too.
      leave: paths of what a checkpoint may have besides, or of what holds it, each with why.
      custom: FILE.py:NAME of every class and function that a .keras or .h5 file names and Keras does not have.
    """

    reference: str
    weights: Path | None = None
    checkpoint: str = ""
    optimizer: bool = False
    leave: Mapping[str, str] = field(default_factory=dict)
    custom: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of a request."""
        weights = None if self.weights is None else str(self.weights)
        return {
            "reference": self.reference, "folder": str(Path.cwd()), "weights": weights, "checkpoint": self.checkpoint,
            "optimizer": self.optimizer, "leave": dict(self.leave), "custom": self.custom,
        }  # fmt: skip


@dataclass(frozen=True)
class FlaxModule:
    """Where a Flax module is.

    Attributes:
      reference: FILE.py:NAME.
      optimizer: FILE.py:NAME of what makes its optimizer of optax; "" where none is wanted.
    """

    reference: str
    optimizer: str = ""

    def parameters(self, inputs: Sequence[Value]) -> dict[str, Any]:
        """Those of a request, for a port of a model with these inputs."""
        return {
            "reference": self.reference, "folder": str(Path.cwd()), "inputs": msgspec.to_builtins(tuple(inputs)),
            "optimizer": self.optimizer,
        }  # fmt: skip


class WeightWorkers:
    """Two workers, each started when it is first asked.

    Args:
      tf_python: interpreter with TensorFlow; None is this one.
      jax_python: interpreter with JAX and Flax; None is this one.
      timeout_s: how long a request may take.
      stack: closes the workers.
    """

    def __init__(self, tf_python: str | None, jax_python: str | None, timeout_s: float, stack: ExitStack) -> None:
        self._models = Replaceable("models", timeout_s, stack, tf_python)
        self._modules = Replaceable("modules", timeout_s, stack, jax_python)

    def start(self) -> None:
        """Start both: each takes seconds to import its framework."""
        self._models.started()
        self._modules.started()

    def source(self, model: KerasModel) -> tuple[Source, Arrays]:
        """The layers of a model and its weights.

        Raises:
          RequestError: there is no such model, or it cannot be read.
        """
        reply = _asked(self._models, model.reference, "weights", model.parameters)
        return _declared(reply.value, Source, model.reference), reply.arrays

    def architecture(self, model: KerasModel) -> Architecture:
        """The calls of the layers of a model, and what it was compiled with.

        Raises:
          RequestError: there is no such model, or it cannot be read.
        """
        reply = _asked(self._models, model.reference, "architecture", model.parameters)
        return _declared(reply.value, Architecture, model.reference)

    def written(self, model: KerasModel, arrays: Arrays) -> tuple[bytes, Arrays]:
        """A .weights.h5 file of a model with these arrays, and what another such model reads from it.

        Raises:
          RequestError: the model has other weights, or cannot be read.
        """
        reply = _asked(self._models, model.reference, "write_weights", model.parameters, arrays)
        weights = {name: array for name, array in reply.arrays.items() if name != _FILE}
        return reply.arrays[_FILE].tobytes(), weights

    def target(self, module: FlaxModule, inputs: Sequence[Value] = ()) -> Target:
        """What is in a module.

        Args:
          module: where it is.
          inputs: of the model that it is a port of.

        Raises:
          RequestError: there is no such module.
        """
        reply = _asked(self._modules, module.reference, "module", module.parameters(inputs))
        return _declared(reply.value, Target, module.reference)

    def keras_steps(self, model: KerasModel, gradients: Arrays, steps: int, fresh: bool) -> Arrays:
        """The weights after each of some steps of a model's optimizer, as "STEP/KEY".

        Args:
          model: where it is.
          gradients: as "STEP/KEY".
          steps: how many.
          fresh: whether the optimizer starts anew.

        Raises:
          RequestError: it cannot take them.
        """
        given = {"model": model.parameters, "steps": steps, "fresh": fresh}
        return _asked(self._models, model.reference, "optimizer_steps", given, gradients).arrays

    def optax_steps(
        self, module: FlaxModule, inputs: Sequence[Value], arrays: Arrays, steps: int, fresh: bool
    ) -> Arrays:
        """The parameters after each of some steps of a module's optimizer, as "STEP/PATH".

        Args:
          module: where it is.
          inputs: of the model that it is a port of.
          arrays: parameters as "weights/PATH", the state as "state/PATH", gradients as "STEP/PATH".
          steps: how many.
          fresh: whether the optimizer starts anew.

        Raises:
          RequestError: it cannot take them.
        """
        given = {"module": module.parameters(inputs), "steps": steps, "fresh": fresh}
        return _asked(self._modules, module.optimizer, "module_steps", given, arrays).arrays

    def write_checkpoint(self, module: FlaxModule, inputs: Sequence[Value], arrays: Arrays, path: Path) -> None:
        """Write a checkpoint of Orbax, whole or not at all.

        Args:
          module: where it is.
          inputs: of the model that it is a port of.
          arrays: by path.
          path: of the folder, which must not be there.

        Raises:
          RequestError: it cannot be written.
        """
        given = {"module": module.parameters(inputs), "path": str(path.absolute())}
        _asked(self._modules, str(path), "write_checkpoint", given, arrays)

    def read_checkpoint(self, path: Path) -> Arrays:
        """The arrays of a checkpoint of Orbax, by path.

        Raises:
          RequestError: it is none.
        """
        return _asked(self._modules, str(path), "read_checkpoint", {"path": str(path.absolute())}).arrays


def _asked(
    worker: Replaceable, named: str, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None
) -> Reply:
    try:
        with worker.asking:
            return worker.call(worker.started(), method, parameters, arrays)
    except SideError as error:
        raise unread(named, error) from error


def _declared(value: Any, kind: type[_Declared], named: str) -> _Declared:
    try:
        return files.converted(value, kind)
    except msgspec.ValidationError as error:
        raise RequestError(f"expected data of the declared types of {named}, found: {error}") from error
