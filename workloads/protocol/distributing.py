"""A training step on several devices: what both sides implement, and the data that crosses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from workloads.core.spec import Arrays
from workloads.protocol import trajectory
from workloads.protocol.framework import Scalar, Twin
from workloads.protocol.trajectory import LOSS, STATE

SINGLE = "single"
"""The training step on one device, as the twin has it: the whole batch at once."""

IN_TURN = "in-turn"
"""On one device, what replicas compute: the gradients of one part of the batch after the other from the same weights,
averaged, and one update; moving statistics are averaged likewise."""

OWN = "own"
"""A distributed step that the twin hands over."""

SUMMED, ALONE = "in-turn summed", "in-turn alone"
"""As in turn, with a mistake: gradients summed, or those of the first part alone. A judge has to see it."""

LOGICAL_DEVICES = "JAXPORT_LOGICAL_DEVICES"
"""The variable with the number of logical devices of a process's CPU; JAX also needs a flag of XLA."""

REFERENCES = (SINGLE, IN_TURN)
MISTAKES = (SUMMED, ALONE)


@dataclass(frozen=True)
class Division:
    """How the inputs of a step are divided among devices.

    Attributes:
      devices: of one process, logical ones of its CPU.
      batch: the dimension of the workload that is the number of examples.
      axes: by input, the axis of its examples; None where every device is given the whole.
    """

    devices: int
    batch: str
    axes: Mapping[str, int | None]


@dataclass(frozen=True)
class Cluster:
    """The processes that compute together, and which of them this one is.

    Attributes:
      addresses: of each, HOST:PORT on loopback; JAX needs the first alone.
      process: which this one is, from 0.
      limit_s: how long the others are waited for.
    """

    addresses: tuple[str, ...]
    process: int
    limit_s: float


@dataclass(frozen=True)
class Unlike:
    """An array that should be the same on two devices and is not, at the first element that differs.

    Attributes:
      leaf: its path.
      index: of that element.
      devices: two that hold something else.
      values: on either.
      step: after which, from 1; None of what belongs to no step alone.
    """

    leaf: str
    index: tuple[int, ...]
    devices: tuple[str, str]
    values: tuple[float, float]
    step: int | None = None


@dataclass(frozen=True)
class Stepped:
    """The results of training steps: "loss" [steps], "weights@STEP/PATH" and "state@STEP/NAME" after each step.

    Attributes:
      arrays: by leaf.
      compilations: programs that XLA compiled for the first step; None where it was not counted.
      unlike: arrays whose copies on several devices differ.
    """

    arrays: Arrays
    compilations: int | None = None
    unlike: Sequence[Unlike] = ()


@dataclass(frozen=True)
class Collective:
    """A transfer between devices in one step.

    Attributes:
      kind: as XLA or TensorFlow calls it: "all-reduce".
      arrays: how many it takes together.
      bytes: of what one device puts in.
      groups: numbers of the devices that exchange it; empty where all of them do.
      source: "file:line" of the code that it comes from; empty where that is not known.
    """

    kind: str
    arrays: int
    bytes: int
    groups: tuple[tuple[int, ...], ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Program:
    """The compiled program of a step, or the graph that it runs: its transfers, or a module that has them."""

    collectives: Sequence[Collective] = ()
    module: bytes = b""


class Distributing(Protocol):
    """One side on several devices."""

    def environment(self) -> Mapping[str, Scalar]:
        """Versions, and the devices."""
        ...

    def load(self, twin: Twin, division: Division) -> Sequence[str]:
        """Take a twin; the names of the strategies that it can be distributed by."""
        ...

    def join(self, cluster: Cluster) -> int:
        """Compute with other processes from now on; how many devices there are in all.

        Raises:
          Unsupported: the other processes did not come within the limit.
        """
        ...

    def steps(
        self, strategy: str, dtype: str, count: int, first: int = 0, checkpoint: str = "", equal_parts: bool = False
    ) -> Stepped:
        """Train so many steps on the batches of the twin, from the one after the `first` on.

        Args:
          dtype: "float32" or "float64".
          first: how many were taken before: with some, what they left is read from the checkpoint.
          checkpoint: a folder, where what the last step leaves is written; "" writes nothing.
        """
        ...

    def program(self, strategy: str) -> Program:
        """The transfers of a step."""
        ...

    def prepare(self, strategy: str) -> Any:
        """A step of the float32 twin that can be called again and again, and waits for its results."""
        ...


def check_devices(devices: int, division: Division) -> None:
    """Refuse to compute on fewer devices than there should be: every strategy would pass on one.

    Raises:
      RuntimeError: this process has others.
    """
    if devices != division.devices:
        raise RuntimeError(f"expected {division.devices} logical devices in this process, found {devices}")


def part_of(array: np.ndarray, axis: int | None, number: int, parts: int) -> np.ndarray:
    """One of equal parts of an input.

    Args:
      array: x[...], the whole.
      axis: of the examples; None gives the whole.
      number: which part, from 0.
    """
    if axis is None:
        return array
    size = array.shape[axis] // parts
    slices = [slice(None)] * array.ndim
    slices[axis] = slice(number * size, (number + 1) * size)
    return array[tuple(slices)]


def of_equal_parts(
    batch: Mapping[str, np.ndarray], axes: Mapping[str, int | None], parts: int
) -> dict[str, np.ndarray]:
    """A batch of as many examples whose parts all are the first one.

    Args:
      batch: x[...] by input, the whole.
      axes: by input, the axis of the examples; None of what is given whole.
    """
    return {
        name: array
        if (axis := axes[name]) is None
        else np.concatenate([part_of(array, axis, 0, parts)] * parts, axis=axis)
        for name, array in batch.items()
    }


def first_unlike(leaf: str, copies: Mapping[str, np.ndarray], step: int | None = None) -> Unlike | None:
    """Where the copies of an array differ in any bit; None where they do not.

    Args:
      copies: by device, x[...].
      step: after which they were kept, from 1; None of what belongs to no step alone.
    """
    (first, one), *others = copies.items()
    for device, other in others:
        if other.shape != one.shape:
            return Unlike(leaf, (), (first, device), (float(one.size), float(other.size)), step)
        differs = np.flatnonzero(_bits(one) != _bits(other))
        if differs.size:
            position = int(differs[0]) // max(1, one.itemsize)
            index = tuple(int(i) for i in np.unravel_index(position, one.shape))
            return Unlike(leaf, index, (first, device), (float(one.flat[position]), float(other.flat[position])), step)
    return None


def _bits(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


@dataclass
class Kept:
    """Collects what steps give, under the names that are judged."""

    first: int = 0
    losses: list[np.ndarray] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    unlike: list[Unlike] = field(default_factory=list)

    def step(self, loss: Any, weights: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Keep what one step left.

        Args:
          weights: by path.
          state: of the optimizer, by name.
        """
        self.losses.append(np.array(loss))
        step_number = self.first + len(self.losses)
        self.arrays |= {
            str(trajectory.KeptArray(step_number, path)): np.array(value) for path, value in weights.items()
        }
        self.arrays |= {
            str(trajectory.KeptArray(step_number, name, STATE)): np.array(value) for name, value in state.items()
        }

    def result(self, compilations: int | None) -> Stepped:
        """All of it."""
        return Stepped({LOSS: np.array(self.losses), **self.arrays}, compilations, tuple(self.unlike))
