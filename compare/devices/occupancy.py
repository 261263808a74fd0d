"""How many warps of a kernel a GPU's multiprocessor can hold at once, by what the kernel takes."""

from __future__ import annotations

from dataclasses import dataclass

from compare.devices.device import Multiprocessor

WARP = 32
REGISTER_UNIT = 256
"""Registers are given to a warp in multiples of so many."""
WARP_UNIT = 4
"""Warps with registers are given out evenly to a multiprocessor's four parts."""


@dataclass(frozen=True)
class Occupancy:
    """Resident warps over those that fit at most.

    Attributes:
      share: between 0 and 1; 0 where not even one block fits.
      blocks: that are resident at once on one multiprocessor.
      limited_by: "threads", "blocks", "registers" or "shared memory", whichever allows fewest.
    """

    share: float
    blocks: int
    limited_by: str


def occupancy(multiprocessor: Multiprocessor, threads: int, registers: int, shared_memory_bytes: int) -> Occupancy:
    """The theoretical occupancy of a kernel.

    The formula is that of NVIDIA's occupancy calculator (CUDA C++ Best Practices Guide, "Calculating Occupancy"; the
    toolkit's cuda_occupancy.h): each resource allows so many blocks, and the scarcest decides.
    """
    warps = -(-threads // WARP)
    most = multiprocessor.threads // WARP
    blocks_by_resource = {
        "threads": most // warps,
        "blocks": multiprocessor.blocks,
        "registers": _warps_with_registers(multiprocessor, registers) // warps,
        "shared memory": _blocks_with_memory(multiprocessor, shared_memory_bytes),
    }
    # Of equals the first: threads limit every kernel that nothing else does.
    limit = min(blocks_by_resource, key=lambda resource: blocks_by_resource[resource])
    return Occupancy(blocks_by_resource[limit] * warps / most, blocks_by_resource[limit], limit)


def _warps_with_registers(multiprocessor: Multiprocessor, registers: int) -> int:
    of_warp = _rounded_up(max(registers, 1) * WARP, REGISTER_UNIT)
    # Each part has its own registers: what is left over in one serves no warp of another.
    return multiprocessor.registers // WARP_UNIT // of_warp * WARP_UNIT


def _blocks_with_memory(multiprocessor: Multiprocessor, shared_memory_bytes: int) -> int:
    memory_per_block = _rounded_up(
        shared_memory_bytes + multiprocessor.reserved_bytes, multiprocessor.shared_memory_unit
    )
    return multiprocessor.shared_memory_bytes // memory_per_block if memory_per_block else multiprocessor.blocks


def _rounded_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
