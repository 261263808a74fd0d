"""Which types an optimized module computes in, and what it converts to get there: emulation shows in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from compare.hlo import compiled, read_module

ARITHMETIC = frozenset({
    "abs", "add", "atan2", "cbrt", "compare", "convolution", "cosine", "divide", "dot", "erf", "exponential",
    "exponential-minus-one", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "power",
    "remainder", "rsqrt", "sine", "sqrt", "subtract", "tan", "tanh",
})  # fmt: skip


@dataclass(frozen=True)
class ArithmeticTypes:
    """By type as HLO writes it, how many instructions compute in it; by "bf16 to f32", how many convert.

    `calls` are what XLA hands to a library, of which nothing is known.
    """

    computes: Mapping[str, int]
    converts: Mapping[str, int]
    calls: tuple[str, ...] = ()


def arithmetic_types(optimized: bytes) -> ArithmeticTypes:
    """Read off a serialized HloModuleProto, fusions and reducers included; a comparison counts by its operands.

    Raises:
      UnreadableProgram: the bytes are no HloModuleProto.
    """
    computes: Counter[str] = Counter()
    for graph in compiled.computations(read_module.read(optimized), set()):
        for node in graph:
            if node.opcode in ARITHMETIC:
                of = graph.nodes[node.operands[0]] if node.opcode == "compare" else node
                computes[of.shape.dtype] += 1
    summary = compiled.describe(optimized)
    converts = Counter(f"{each.before} to {each.after}" for each in summary.converts)
    calls = tuple(dict.fromkeys(call.target for call in summary.custom_calls))
    return ArithmeticTypes(dict(computes), dict(converts), calls)
