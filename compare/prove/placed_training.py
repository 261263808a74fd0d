"""Short training runs that start where no ordinary run gets: with large counters, or batches of other magnitudes."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.prove.running import running
from workloads.core.spec import Arrays
from workloads.protocol.compiling import REPEATEDLY
from workloads.protocol.framework import Program, Twin
from workloads.protocol.unroll import unroll


@dataclass(frozen=True)
class Change:
    """A change of the batches of a run, or of the weights that it starts from.

    Attributes:
      inputs: names of float inputs that are multiplied; with none, the weights are.
      factor: what they are multiplied by, 0 or a power of two.
      infinite: an input whose first element is infinite in the first step; empty where none is.
    """

    inputs: tuple[str, ...] = ()
    factor: float = 1.0
    infinite: str = ""

    def __str__(self) -> str:
        if self.infinite:
            return f"an infinity in {self.infinite}"
        factor = f"2^{math.log2(self.factor):g}" if self.factor else "0"
        return f"{' and '.join(self.inputs) or 'the weights'} times {factor}"

    def apply(self, twin: Twin) -> Twin:
        """The twin with other batches, or other weights in its first case."""
        if self.infinite:
            array = np.array(twin.batches[self.infinite], np.float64)
            array[0].flat[0] = np.inf
            return dataclasses.replace(twin, batches={**twin.batches, self.infinite: array})
        if self.inputs:
            batches = {name: twin.batches[name].astype(np.float64) * self.factor for name in self.inputs}
            return dataclasses.replace(twin, batches={**twin.batches, **batches})
        weights = {
            path: array * array.dtype.type(self.factor) if array.dtype.kind == "f" else array
            for path, array in twin.weights_of(twin.first_case).items()
        }
        inputs = {name: twin.cases[twin.first_case][name] for name in twin.inputs}
        return dataclasses.replace(twin, weights=weights, cases={twin.first_case: inputs})


@dataclass(frozen=True)
class Placement:
    """Where a short training run starts.

    Attributes:
      case: what reports call it.
      first: the number of its first step, which chooses its batches; steps count from 0.
      steps: how many it takes.
      before: ordinary steps that are taken first, so that moments and averages are those of a run.
      counters: by side, the states that count, as they are after `first` steps.
      change: of its batches or weights; None changes nothing.
    """

    case: str
    first: int
    steps: int
    before: int = 0
    counters: Mapping[str, Arrays] = field(default_factory=dict)
    change: Change | None = None


def train_placed(
    program: Program, twin: Twin, placement: Placement, side: str, see: Callable[[list[np.ndarray]], None] | None = None
) -> dict[str, np.ndarray]:
    """The losses of a placed run and of the ordinary steps before it, and the weights that it leaves.

    Args:
      program: the step of a side, in float64.
      see: is given the arguments of each call.

    Raises:
      UnreadableProgram: XLA does not run the program apart from its framework.
    """
    executable = running(program, twin, REPEATEDLY).executable
    counters, calls = placement.counters.get(side, {}), itertools.count()

    def run(arguments: list[np.ndarray]) -> Sequence[np.ndarray]:
        if next(calls) == placement.before:
            arguments = [
                counters[parameter.name].astype(parameter.dtype)
                if parameter.kind == "state" and parameter.name in counters
                else argument
                for parameter, argument in zip(program.parameters, arguments, strict=True)
            ]
        if see is not None:
            see(arguments)
        return executable(arguments)

    return unroll(run, program, placed_twin(twin, placement), (placement.before + placement.steps,))


def placed_twin(twin: Twin, placement: Placement) -> Twin:
    """The twin with the batches of a placed run alone, in order."""
    numbers = [*range(placement.before), *range(placement.first, placement.first + placement.steps)]
    batches = {name: array[np.asarray(numbers) % len(array)] for name, array in twin.batches.items()}
    run_twin = dataclasses.replace(twin, batches=batches)
    return placement.change.apply(run_twin) if placement.change else run_twin
