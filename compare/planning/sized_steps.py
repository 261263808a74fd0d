"""The training step of a workload in JAX at any batch and number of layers, and which axes of inputs are examples."""

from __future__ import annotations

import dataclasses
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compare.errors import RequestError
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import Subject
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_batch
from compare.inputs.sizes import choose_size
from compare.prove.on_targets import lower_program
from compare.prove.subjects import twin_of
from compare.record.base import require
from compare.sides import requests
from compare.sides.pool import Pool
from workloads.core.declared import AnyWorkload
from workloads.core.modes import JAX
from workloads.core.spec import Arrays, Workload
from workloads.protocol.framework import STEP, Platform, Program

LAYERS = "layers"
WIDTH = 4
"""Bytes of a float32."""
MOST_WEIGHT_BYTES = 2 << 30
"""The most bytes of weights in a search: this machine draws them, and JAX holds them and the optimizer's state."""
MOST_INPUT_BYTES = 1 << 29
"""The most bytes of a batch in a search: drawing it takes five times as much memory."""
MOST_LAYERS = 256
"""The most layers in a search: XLA's time grows with depth."""


@dataclass(frozen=True)
class SizedStep:
    """A training step as JAX lowers it.

    Attributes:
      program: with its arguments donated.
      subject: the same as it is counted.
      batch_axes: by input, which axis is examples; None where none is.
    """

    program: Program
    subject: Subject
    batch_axes: Mapping[str, int | None]


class SizedSteps:
    """A workload's training step at any batch, and where it has the dimension `layers`, at any number of them.

    Args:
      size: of it; None takes the default.
      data: a file of training data; None takes the workload's own.

    Raises:
      RequestError: the workload has no such size, does not train, or has no batch that can be chosen.
    """

    def __init__(self, pool: Pool, workload: AnyWorkload, size: str | None, data: Path | None, scratch: Path) -> None:
        self._pool, self._workload, self._data, self._scratch = pool, workload, data, scratch
        self.size = choose_size(workload, size)
        self._made: dict[tuple[Platform, int, int | None], SizedStep] = {}
        self._axes: Mapping[str, int | None] | None = None

    def step_for(self, platform: Platform, batch: int, layers: int | None = None) -> SizedStep:
        """The step for a platform.

        Args:
          layers: None takes those of the size.

        Raises:
          RequestError: the workload refuses the batch or the layers.
          SideError: JAX does not deliver it.
          UnreadableProgram: XLA does not take it.
        """
        key = (platform, batch, layers)
        if key not in self._made:
            axes = self.batch_axes()
            with self._draw(batch, layers) as instance:
                side = self._pool.get(JAX)
                requests.load(side, instance.loading)
                program = lower_program(side, STEP, platform).program
            # The values of the state are never read, and are as large as the model.
            program = dataclasses.replace(program, states={})
            self._made[key] = SizedStep(program, Subject(JAX, hlo_of_artifact(program.artifact)), axes)
        return self._made[key]

    def run_on_one(self, batch: int) -> tuple[SizedStep, list[np.ndarray], Arrays]:
        """The step lowered for the CPU, its arguments, and what JAX computes of them on one device.

        Raises:
          RequestError: as `step_for`, and SideError and UnreadableProgram.
        """
        axes = self.batch_axes()
        with self._draw(batch, None) as instance:
            side = self._pool.get(JAX)
            requests.load(side, instance.loading)
            program = lower_program(side, STEP, "cpu").program
            case = instance.loading.cases[0]
            twin = twin_of(instance)
            arguments = [np.array(twin.argument(parameter, case, program.states)) for parameter in program.parameters]
            outputs = requests.outputs(side, "jit", STEP, case, "float32")
        return SizedStep(program, Subject(JAX, hlo_of_artifact(program.artifact)), axes), arguments, outputs

    def batch_axes(self) -> Mapping[str, int | None]:
        """By input, the axis that grows with the batch.

        Raises:
          RequestError: the workload has no batch that can be chosen.
        """
        if self._axes is None:
            with self._draw(2, 1 if self._has_layers() else None) as small:
                shapes = {name: spec.shape for name, spec in small.inputs.items()}
            with self._draw(4, 1 if self._has_layers() else None) as large:
                larger_shapes = {name: spec.shape for name, spec in large.inputs.items()}
            self._axes = {name: _differing(shapes[name], larger_shapes[name]) for name in shapes}
        return self._axes

    def dimensions(self) -> Mapping[str, int]:
        """The dimensions of the size; empty for a port file, which has its own.

        Raises:
          RequestError: there is no such size.
        """
        return dict(self._workload.dimensions(self.size)) if isinstance(self._workload, Workload) else {}

    def parameters(self, layers: int | None = None) -> int | None:
        """Numbers that are trained at this size; None of a port file, whose weights are its own.

        Args:
          layers: None takes those of the size.
        """
        if not isinstance(self._workload, Workload):
            return None
        dimensions = {**self.dimensions(), **({LAYERS: layers} if layers is not None else {})}
        return sum(math.prod(spec.shape) for spec in self._workload.weight_specs(dimensions).values())

    def most_layers(self) -> int:
        """The most layers whose weights stay below `MOST_WEIGHT_BYTES`; at most `MOST_LAYERS`.

        Raises:
          RequestError: as `layers`.
        """
        here = self.layers()
        one, two = (require(self.parameters(count)) for count in (1, 2))
        fitting = int((MOST_WEIGHT_BYTES / WIDTH - one) // max(two - one, 1)) + 1
        return max(here, min(fitting, MOST_LAYERS))

    def most_examples(self) -> int:
        """The most examples whose inputs stay below `MOST_INPUT_BYTES`.

        Raises:
          RequestError: as `batch_axes`.
        """
        axes = self.batch_axes()
        with self._draw(2, None) as two:
            grows = [spec for name, spec in two.inputs.items() if axes[name] is not None]
            of_one = sum(math.prod(spec.shape) * np.dtype(spec.dtype).itemsize for spec in grows) / 2
        return max(int(MOST_INPUT_BYTES // max(of_one, 1)), 1)

    def layers(self) -> int:
        """How many layers the size has.

        Raises:
          RequestError: the workload has no dimension of that name.
        """
        if not self._has_layers():
            raise RequestError(
                f"expected a workload with the dimension {LAYERS!r}, found {self._workload.name}: drop --layers and "
                "--largest-model"
            )
        return self.dimensions()[LAYERS]

    def _has_layers(self) -> bool:
        return LAYERS in self.dimensions()

    def _draw(self, batch: int, layers: int | None) -> _Drawing:
        folder = self._scratch / f"step-{batch}-{layers}"
        folder.mkdir()
        workload = self._workload
        if layers is not None and isinstance(workload, Workload):
            others = dict(workload.dimensions(self.size))
            workload = dataclasses.replace(workload, sizes={self.size: {**others, LAYERS: layers}})
        return _Drawing(workload, self.size, batch, self._data, folder)


@dataclass(frozen=True)
class _Drawing:
    workload: AnyWorkload
    size: str
    batch: int
    data: Path | None
    folder: Path

    def __enter__(self) -> Prepared:
        return prepare_batch(self.workload, self.size, self.batch, self.data, self.folder)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder)


def _differing(small: tuple[int, ...], large: tuple[int, ...]) -> int | None:
    return next((axis for axis, sizes in enumerate(zip(small, large, strict=True)) if sizes[0] != sizes[1]), None)
