"""Records the arguments of both step programs at a few steps of training, from TensorFlow's weights and own states."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compare.prove.moved_arguments import move_roundings
from compare.prove.running import Running, running
from workloads.core.spec import Arrays
from workloads.protocol.compiling import REPEATEDLY
from workloads.protocol.framework import Program, Twin
from workloads.protocol.trajectory import kept_as
from workloads.protocol.unroll import unroll

Call = list[np.ndarray]
"""The arguments of one call of a program."""


@dataclass(frozen=True)
class GuidedRun:
    """A training run in which each step starts from TensorFlow's float64 weights.

    Attributes:
      twin: has the batches, and the weights and states to start from.
      guide: "weights@STEP/PATH" of TensorFlow's run.
    """

    twin: Twin
    guide: Arrays

    def train(self, run: Running, seed: int | None = None, unit: float = 0.0) -> Arrays:
        """The losses and weights of all steps, as a side records them.

        Args:
          seed: of the roundings by which whatever a step takes is moved; None moves nothing.

        Raises:
          UnreadableProgram: XLA does not run the program apart.
        """

        def step(call: Call) -> Sequence[np.ndarray]:
            return run.executable(call if seed is None else move_roundings(call, seed, unit))

        return unroll(step, run.program, self.twin, self._handed_on, self.guide)

    def record(self, program: Program, steps: Collection[int]) -> dict[int, dict[str, np.ndarray]]:
        """By step, the arguments of a program by kind and name.

        Args:
          program: the step, in float64, so that its states are not the outcome of choices that rounding made.
          steps: numbers of steps, from 1.

        Raises:
          UnreadableProgram: XLA does not run the program apart.
        """
        names = [f"{parameter.kind} {parameter.name}" for parameter in program.parameters]
        last, run = max(steps), running(program, self.twin, REPEATEDLY)
        numbers = iter(range(1, last + 1))
        records: dict[int, dict[str, np.ndarray]] = {}

        def step(call: Call) -> Sequence[np.ndarray]:
            if (number := next(numbers)) in steps:
                records[number] = dict(zip(names, call, strict=True))
            return run.executable(call)

        twin = replace(self.twin, batches={name: array[:last] for name, array in self.twin.batches.items()})
        unroll(step, program, twin, self._handed_on, self.guide)
        return records

    @property
    def _handed_on(self) -> Sequence[int]:
        """After which steps the weights are TensorFlow's."""
        return sorted({checkpoint.step for name in self.guide if (checkpoint := kept_as(name)) is not None})
