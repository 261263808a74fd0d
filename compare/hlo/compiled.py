"""What XLA made of a program: instructions, fusions and kernels of an optimized module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compare.hlo import bindings, wire

_NO_CODE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
_CONTROL_FLOW = frozenset({"call", "while", "conditional"})


@dataclass(frozen=True)
class CompiledSummary:
    """An optimized HLO module.

    `instructions` counts every computation, those inside fusions included; `fusions` counts the
    fusion instructions. `kernels` counts what runs code: the instructions of the entry computation,
    and of the computations that it reaches by call, while and conditional, other than parameter,
    constant, tuple, get-tuple-element, bitcast and after-all. The calling instruction counts through
    its callees, once per place that calls: a loop body counts once, however often it runs.
    `flops` and `bytes` are XLA's own cost analysis of the module, None where it gives none.
    """

    instructions: int
    fusions: int
    kernels: int
    kernel_names: tuple[str, ...]
    flops: float | None
    bytes: float | None
    text: str


def describe(optimized: bytes) -> CompiledSummary:
    """Summarise a serialized HloModuleProto.

    Raises:
      UnreadableProgram: the bytes are no HloModuleProto.
    """
    module = wire.read(optimized)
    instructions = [one for computation in module.computations.values() for one in computation.instructions]
    kernels = tuple(_kernels(module, module.entry))
    cost = bindings.hlo_cost(optimized)
    return CompiledSummary(
        instructions=len(instructions),
        fusions=sum(instruction.opcode == "fusion" for instruction in instructions),
        kernels=len(kernels),
        kernel_names=kernels,
        flops=cost.get("flops"),
        bytes=cost.get("bytes accessed"),
        text=bindings.hlo_text(optimized),
    )


def _kernels(module: wire.Module, computation: str) -> Iterator[str]:
    for instruction in module.computations[computation].instructions:
        if instruction.opcode in _CONTROL_FLOW:
            for callee in instruction.called:
                yield from _kernels(module, callee)
        elif instruction.opcode not in _NO_CODE:
            yield instruction.name
