"""TPUs by name: generations, their published figures, and slices of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from compare.devices.device import Device, UnknownDevice

GIBI = 1 << 30


@dataclass(frozen=True)
class Generation:
    """One generation, by the device that JAX sees: a core of v2 and v3, a whole chip of the others but tpu7x's half.

    Attributes:
      description: what its vendor calls it.
      axes: of the network between chips, hence of a slice's shape.
      smallest: the smallest slice that one host has.
      memory_bytes: of one device.
      bandwidth: of that memory, in bytes a second.
      bf16: peak of matrix products, in floating-point operations a second; float32 ones take it too by default.
      source: the page of the Cloud TPU documentation.
    """

    description: str
    axes: int
    smallest: tuple[int, ...]
    memory_bytes: int
    bandwidth: float
    bf16: float
    source: str


_DOCS = "https://docs.cloud.google.com/tpu/docs"

GENERATIONS: Mapping[str, Generation] = {
    "v2": Generation("TPU v2", 2, (2, 2), 8 * GIBI, 350e9, 22.5e12, f"{_DOCS}/v2"),
    "v3": Generation("TPU v3", 2, (2, 2), 16 * GIBI, 450e9, 61.5e12, f"{_DOCS}/v3"),
    "v4": Generation("TPU v4", 3, (2, 2, 1), 32 * GIBI, 1200e9, 275e12, f"{_DOCS}/v4"),
    "v5e": Generation("TPU v5e", 2, (2, 2), 16 * GIBI, 819e9, 197e12, f"{_DOCS}/v5e"),
    "v5p": Generation("TPU v5p", 3, (2, 2, 1), 95 * GIBI, 2765e9, 459e12, f"{_DOCS}/v5p"),
    "v6e": Generation("TPU v6e (Trillium)", 2, (2, 2), 32 * GIBI, 1638e9, 918e12, f"{_DOCS}/v6e"),
}
"""By the name that libtpu takes."""


def find(name: str) -> Device | None:
    """The TPU of a name such as "v5e:2x2", or of a generation alone in its smallest slice; None where there is none.

    Raises:
      UnknownDevice: the shape is none of this generation.
    """
    generation, _, topology_text = name.lower().partition(":")
    generation_row = GENERATIONS.get(generation)
    if generation_row is None:
        return None
    shape = _shape(name, generation_row, topology_text) if topology_text else generation_row.smallest
    full_name = f"{generation}:{'x'.join(map(str, shape))}"
    topology: dict[str, str | tuple[int, ...]] = {"topology_name": full_name}
    if math.prod(shape) == 1:
        # By default a host has several chips.
        topology["chips_per_host_bounds"] = (1, 1, 1)
    return Device(
        name=full_name,
        platform="tpu",
        description=generation_row.description,
        source=generation_row.source,
        topology=topology,
        memory_bytes=generation_row.memory_bytes,
        bandwidth=generation_row.bandwidth,
        peaks={"bf16": generation_row.bf16},
    )


def _shape(name: str, generation: Generation, topology_text: str) -> tuple[int, ...]:
    fits = re.fullmatch(r"\d{1,4}(?:x\d{1,4})*", topology_text)
    shape = tuple(map(int, topology_text.split("x"))) if fits else ()
    if len(shape) != generation.axes or not all(shape):
        example = "x".join(map(str, generation.smallest))
        raise UnknownDevice(
            f"expected a slice of {generation.axes} axes such as {name.partition(':')[0]}:{example}, found {name!r}: "
            "correct --target"
        )
    return shape
