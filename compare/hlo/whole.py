"""Whether an HLO module is whole: all that it refers to is in it, and written out it is no larger than can be read."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any

from compare.hlo.bindings import UnreadableProgram

MOST_INSTRUCTIONS = 10_000_000
"""With every computation written out where it is called, a hundred times those of the largest workload. Thirty
computations that each call the next one twice are a billion."""

MOST_NESTED = 64
"""Computations within one another: reading one calls itself."""

_TRANSPARENT = frozenset({"call", "fusion"})


def check(module: Any) -> None:
    """Let a whole HloModuleProto pass.

    Raises:
      UnreadableProgram: it refers to what is not in it, as half a file does, or calls itself, or is too large.
    """
    computations = {computation.id: computation for computation in module.computations}
    _whole(len(computations) == len(module.computations) and module.entry_computation_id in computations)
    for computation in module.computations:
        _check_computation(computation, computations)
    _check_size(computations)
    _check_calls(computations)


def _check_computation(computation: Any, computations: dict[int, Any]) -> None:
    seen_ids: set[int] = set()
    for instruction in computation.instructions:
        _whole(instruction.id not in seen_ids and seen_ids.issuperset(instruction.operand_ids))
        _whole(all(callee in computations for callee in instruction.called_computation_ids))
        seen_ids.add(instruction.id)
    _whole(computation.root_id in seen_ids)


def _check_calls(computations: dict[int, Any]) -> None:
    """Every call and fusion gives each parameter of what it calls one operand."""
    parameters = {
        key: sorted(
            instruction.parameter_number
            for instruction in computation.instructions
            if instruction.opcode == "parameter"
        )
        for key, computation in computations.items()
    }
    for computation in computations.values():
        for call in computation.instructions:
            if call.opcode in _TRANSPARENT:
                _whole(len(call.called_computation_ids) == 1)
                numbers = parameters[call.called_computation_ids[0]]
                _whole(len(numbers) == len(call.operand_ids) and numbers == list(range(len(numbers))))


def _check_size(computations: dict[int, Any]) -> None:
    callees = {
        key: [callee for instruction in computation.instructions for callee in instruction.called_computation_ids]
        for key, computation in computations.items()
    }
    sizes: dict[int, int] = {}
    depths: dict[int, int] = {}
    try:
        for key in TopologicalSorter(callees).static_order():
            sizes[key] = len(computations[key].instructions) + sum(sizes[callee] for callee in callees[key])
            depths[key] = 1 + max((depths[callee] for callee in callees[key]), default=0)
    except CycleError as error:
        raise UnreadableProgram("expected an HLO module that ends, found a computation that calls itself") from error
    if max(sizes.values()) > MOST_INSTRUCTIONS or max(depths.values()) > MOST_NESTED:
        raise UnreadableProgram(
            f"expected an HLO module of up to {MOST_INSTRUCTIONS:,} instructions, calls written out, and {MOST_NESTED} "
            f"computations within one another, found {max(sizes.values()):,} and {max(depths.values())}"
        )


def _whole(holds: bool) -> None:
    if not holds:
        raise UnreadableProgram("expected a whole HLO module, found references to what is not in it: dump it again")
