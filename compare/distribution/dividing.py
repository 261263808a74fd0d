"""How a workload's inputs are divided among devices, and whether that can tell a distributed step from a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compare.errors import RequestError
from compare.inputs import port_files
from compare.inputs.at_size import Prepared
from compare.inputs.sizes import choose_size
from compare.sides import mapped, wire
from workloads.core.declared import AnyWorkload
from workloads.core.spec import Arrays
from workloads.protocol.distributing import part_of


@dataclass(frozen=True)
class Divided:
    """A workload at a size whose inputs are divided.

    Attributes:
      prepared: its arrays.
      batch: the dimension that is the number of examples.
      examples: how many there are.
      axes: by input, the axis of the examples; None of what every device is given whole.
      alike: inputs whose parts are equal in every batch: who takes another device's part is not seen.
    """

    prepared: Prepared
    batch: str
    examples: int
    axes: Mapping[str, int | None]
    alike: tuple[str, ...] = ()


def divide(workload: AnyWorkload, size: str | None, devices: int, steps: int, scratch: Path) -> Divided:
    """A workload with its arrays, and how they are divided.

    Args:
      size: a size of the workload; None takes the smallest.

    Raises:
      RequestError: it does not train, its batch does not divide, or a part of it is like another.
    """
    training = workload.training
    if training is None:
        raise RequestError(f"expected a workload that trains, found {workload.name}: it has no step to distribute")
    size_name = choose_size(workload, size or ("smoke" if "smoke" in workload.sizes else None))
    port_files.check_batch(workload, size_name, None)
    instance = port_files.prepare_one(workload, size_name, None, scratch)
    examples = int(instance.dimensions[training.batch])
    if examples % devices:
        raise RequestError(
            f"expected a batch of {workload.name} that {devices} devices divide, found {examples} at size {size_name}: "
            "choose another size, or other --devices"
        )
    # The arrays at another batch: what grows with it is what is divided.
    other = port_files.prepare_batch(workload, size_name, 2 * examples, None, scratch)
    axes = {name: _axis(name, spec.shape, other.inputs[name].shape) for name, spec in instance.inputs.items()}
    if all(axis is None for axis in axes.values()):
        raise RequestError(f"expected inputs of {workload.name} that grow with {training.batch}, found none")
    twin_arrays = mapped.load(instance.loading.arrays)
    batches = {name: twin_arrays[f"{wire.BATCHES}/{name}"] for name in instance.inputs}
    if (count := len(next(iter(batches.values())))) < steps:
        raise RequestError(f"expected at least --steps {steps} steps of training, found {count} in {workload.name}")
    _check_parts_differ(workload.name, batches, axes, devices, steps)
    alike = tuple(name for name, axis in axes.items() if _always_alike(batches[name][:steps], axis, devices))
    return Divided(instance, training.batch, examples, axes, alike)


def _axis(name: str, one: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    if len(one) != len(other):
        raise RequestError(f"expected as many axes of {name} at every batch, found {len(one)} and {len(other)}")
    axes = [axis for axis, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(axes) > 1:
        raise RequestError(
            f"expected one axis of {name} that grows with the batch, found {axes}: it cannot be divided among devices"
        )
    return axes[0] if axes else None


def _always_alike(batches: np.ndarray, axis: int | None, devices: int) -> bool:
    """Whether all parts of each batch are equal."""
    parts = ([part_of(batch, axis, number, devices) for number in range(devices)] for batch in batches)
    return axis is not None and all(np.array_equal(first, other) for first, *others in parts for other in others)


def _check_parts_differ(name: str, batches: Arrays, axes: Mapping[str, int | None], devices: int, steps: int) -> None:
    """Refuse batches with equal parts: every device would compute the same, and hide a missing reduction."""
    for step in range(steps):
        parts = [
            [part_of(array[step], axes[of], number, devices) for of, array in batches.items() if axes[of] is not None]
            for number in range(devices)
        ]
        for part_index, part in enumerate(parts):
            for before in range(part_index):
                if all(np.array_equal(a, b) for a, b in zip(part, parts[before], strict=True)):
                    raise RequestError(
                        f"expected parts of {name}'s batch {step + 1} that differ, "
                        f"found part {part_index} like part {before}: "
                        "a reduction that is missing would not be seen; give it other examples"
                    )
