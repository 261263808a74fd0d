"""Counts the types of a program and of its optimized module, and the conversions in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from compare.hlo import bindings, compiled, read_module
from compare.hlo.bindings import ir

ARITHMETIC = frozenset({
    "abs", "add", "atan2", "cbrt", "compare", "convolution", "cosine", "divide", "dot", "erf", "exponential",
    "exponential-minus-one", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "power",
    "remainder", "rsqrt", "sine", "sqrt", "subtract", "tan", "tanh",
})  # fmt: skip

NARROW = {"bf16": "bfloat16", "f16": "float16"}
"""Floats that processors compute in, if at all, by instructions of their own: HLO's name and NumPy's, least precise
first."""


@dataclass(frozen=True)
class ArithmeticTypes:
    """By type as HLO writes it, how many instructions compute in it; by "bf16 to f32", how many convert.

    `calls` are what XLA hands to a library, of which nothing is known.
    """

    computes: Mapping[str, int]
    converts: Mapping[str, int]
    calls: tuple[str, ...] = ()


def arithmetic_types(module_bytes: bytes) -> ArithmeticTypes:
    """Read off a serialized HloModuleProto, fusions and reducers included; a comparison counts by its operands.

    Raises:
      UnreadableProgram: the bytes are no HloModuleProto.
    """
    computes: Counter[str] = Counter()
    for graph in compiled.computations(read_module.read(module_bytes), set()):
        for node in graph:
            if node.opcode in ARITHMETIC:
                of = graph.nodes[node.operands[0]] if node.opcode == "compare" else node
                computes[of.shape.dtype] += 1
    summary = compiled.describe(module_bytes)
    converts = Counter(f"{convert.before} to {convert.after}" for convert in summary.converts)
    calls = tuple(dict.fromkeys(call.target for call in summary.custom_calls))
    return ArithmeticTypes(dict(computes), dict(converts), calls)


def asked_types(artifact: bytes) -> dict[str, int]:
    """By type as HLO writes it, how many instructions of a StableHLO program compute in it, reducers included.

    What computes in a wider type than the inputs have here was asked for so, and is nothing that XLA decided.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    counts: Counter[str] = Counter()
    module = bindings.parse(artifact)  # owns the operations: they die with it
    for operation in bindings.operations(module):
        dialect, _, name = operation.name.partition(".")
        if dialect in ("stablehlo", "chlo") and _hlo_name(name) in ARITHMETIC:
            of = operation.operands[0] if name == "compare" else operation.results[0]
            counts[_hlo_type(of.type)] += 1
    return dict(counts)


def _hlo_name(name: str) -> str:
    return "dot" if name == "dot_general" else name.replace("_", "-")


def _hlo_type(type_: ir.Type) -> str:
    """The type of the elements: "bf16", "s32", "pred"."""
    element = str(ir.ShapedType(type_).element_type).lower()
    if element == "i1":
        return "pred"
    complexes = {"complex<f32>": "c64", "complex<f64>": "c128"}
    integer = f"s{element[1:]}" if element.startswith("i") else element.replace("ui", "u")
    return complexes.get(element, integer)
