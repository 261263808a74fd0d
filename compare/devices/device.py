"""A device that programs are compiled for, whether it is here or not, and what is published of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from compare.errors import RequestError

DevicePlatform = Literal["gpu", "tpu"]


class UnknownDevice(RequestError):
    """No device has this name, and no file of this name describes one."""


@dataclass(frozen=True)
class Multiprocessor:
    """The limits on the resident threads of a kernel on one streaming multiprocessor of a GPU.

    Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; the units in which registers
    and shared memory are given out are those of NVIDIA's occupancy calculator (cuda_occupancy.h in the CUDA toolkit).

    Attributes:
      threads: that are resident at once.
      blocks: that are resident at once.
      registers: of 32 bits.
      shared_memory_bytes: for all resident blocks together.
      shared_memory_unit: shared memory is given to a block in multiples of so many bytes.
      reserved_bytes: of shared memory, taken by the system for each block.
    """

    threads: int
    blocks: int
    registers: int
    shared_memory_bytes: int
    shared_memory_unit: int
    reserved_bytes: int


@dataclass(frozen=True)
class Device:
    """One device, as XLA's compiler knows it.

    Attributes:
      name: as a user asks for it: "H100", "v5e:2x2".
      platform: "gpu" or "tpu".
      description: what its vendor calls it.
      source: where the figures are published.
      topology: what `jax.experimental.topologies.get_topology_desc` is given.
      memory_bytes: of one device; None where it is not known, like the next.
      bandwidth: of its memory, in bytes a second.
      peaks: by type of the operands of a matrix product, floating-point operations a second; "f32" and "f64" are those
        of the ordinary units. Empty where none is published.
      cores: streaming multiprocessors of a GPU; 0 of a TPU.
      cache_bytes: of the second-level cache; 0 where there is none.
      multiprocessor: of a GPU whose compute capability is known.
    """

    name: str
    platform: DevicePlatform
    description: str
    source: str
    topology: Mapping[str, str | tuple[int, ...]]
    memory_bytes: int | None = None
    bandwidth: float | None = None
    peaks: Mapping[str, float] = field(default_factory=dict)
    cores: int = 0
    cache_bytes: int = 0
    multiprocessor: Multiprocessor | None = None
