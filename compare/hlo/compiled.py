"""Reads an optimized module: kernels, library calls, layout changes, converts and aliasing."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.hlo import bindings, proto, read_module
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.pair import Pair

NO_CODE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
CONTROL_FLOW = frozenset({"call", "while", "conditional"})

_LIBRARIES = {
    "__onednn": "oneDNN", "__ynn": "YNNPACK", "__xnn": "XNNPACK", "__cublas$lt": "cuBLASLt", "__cublas": "cuBLAS",
    "__cudnn": "cuDNN", "__cub$": "CUB", "cu_fft": "cuFFT",
    "lapack": "LAPACK", "cusolver": "cuSOLVER", "__triton": "Triton",
}  # fmt: skip
# The first is the CPU compiler's word, the second the GPU compiler's.
_FUSION_KIND = re.compile(rb'"fusion_(?:backend_)?config":\{"kind":"([^"]+)"')
_OF_XLA = b'"custom_fusion_config":{"name":"dynamic_slice_fusion"'
"""A fusion that XLA's own runtime carries out: it hands parts of arrays to what is inside, without a copy."""

_MAY_ALIAS, _MUST_ALIAS = 1, 2


@dataclass(frozen=True)
class CustomCall:
    """Code that XLA did not write: a custom call, or a fusion that is handed to a library.

    `library` is "" where the target names none that is known here, such as XLA's own runtime.
    """

    name: str
    target: str
    library: str
    source: str


@dataclass(frozen=True)
class LayoutChange:
    """A copy, transpose or bitcast after which the same elements stand in another order, or under other dimensions.

    `before` and `after` are shapes with layouts, as HLO text has them; `bytes` are those written, 0 of a bitcast.
    """

    name: str
    opcode: str
    before: str
    after: str
    bytes: int
    source: str


@dataclass(frozen=True)
class Convert:
    """A conversion between dtypes."""

    name: str
    before: str
    after: str
    elements: int
    source: str


@dataclass(frozen=True)
class Alias:
    """A result that overwrites a parameter, both by position; kind is "may-alias" or "must-alias"."""

    result: int
    parameter: int
    kind: str


@dataclass(frozen=True)
class CompiledSummary:
    """An optimized HLO module.

    `instructions` counts every computation, those inside fusions included; `fusions` counts the
    fusion instructions. `kernels` counts what runs code: the instructions of the entry computation,
    and of the computations that it reaches by call, while and conditional, other than parameter,
    constant, tuple, get-tuple-element, bitcast and after-all. The calling instruction counts through
    its callees, once per place that calls: a loop body counts once, however often it runs.
    `flops` and `bytes` are XLA's own cost analysis of the module, None where it gives none;
    `temp_bytes` is what the compiler says, which the module does not.
    """

    instructions: int
    fusions: int
    kernels: int
    kernel_names: tuple[str, ...]
    flops: float | None
    bytes: float | None
    text: str
    custom_calls: tuple[CustomCall, ...] = ()
    layout_copies: tuple[LayoutChange, ...] = ()
    converts: tuple[Convert, ...] = ()
    aliases: tuple[Alias, ...] = ()
    temp_bytes: int | None = None


@dataclass(frozen=True)
class FigureDifference:
    """One thing in which two modules differ: the field of the summary, a sentence, and either side's figure.

    `sources` are the lines that what is counted comes from, where they are known.
    """

    kind: str
    text: str
    left: float
    right: float
    sources: tuple[str, ...] = ()


def describe(
    module_bytes: bytes, temp_bytes: int | None = None, sources: Mapping[str, str] | None = None
) -> CompiledSummary:
    """Summarise a serialized HloModuleProto.

    Args:
      temp_bytes: bytes of intermediates as the compiler plans them; None where it does not tell.
      sources: "file:line" by the op_name in its metadata, where the module does not say it.

    Raises:
      UnreadableProgram: the bytes are no HloModuleProto.
    """
    module = proto.read_module(module_bytes)
    entry = read_module.read_message(module, sources)
    placements = [(node, graph) for graph in computations(entry, set()) for node in graph]
    names = tuple(node.name for node in kernels(entry))
    cost = bindings.hlo_cost(module_bytes)
    return CompiledSummary(
        instructions=sum(len(computation.instructions) for computation in module.computations),
        fusions=sum(node.opcode == "fusion" for node, _ in placements),
        kernels=len(names),
        kernel_names=names,
        flops=cost.get("flops"),
        bytes=cost.get("bytes accessed"),
        text=bindings.hlo_text(module_bytes),
        custom_calls=_custom_calls(module, [node for node, _ in placements]),
        layout_copies=tuple(change for node, graph in placements if (change := _layout_change(node, graph))),
        converts=tuple(_convert(node, graph) for node, graph in placements if node.opcode == "convert"),
        aliases=aliases(module),
        temp_bytes=temp_bytes,
    )


def kernels(graph: Graph) -> Iterator[Node]:
    """The instructions that run code, in the order of the module, also within calls, loops and branches."""
    for node in graph:
        if node.opcode in CONTROL_FLOW:
            for region in node.regions:
                yield from kernels(region)
        elif node.opcode not in NO_CODE:
            yield node


def bytes_of(shape: Shape) -> int:
    """Bytes of an array, those of all parts of a tuple; 0 of a token."""
    if not shape.is_array:
        return sum(map(bytes_of, shape.parts))
    width = re.search(r"\d+", shape.dtype)
    return shape.elements * (int(width[0]) if width else 8) // 8


def aliases(module: Any) -> tuple[Alias, ...]:
    """The results of a HloModuleProto that overwrite parameters."""
    return tuple(
        Alias(
            result=entry.output_shape_index[0] if entry.output_shape_index else 0,
            parameter=entry.parameter_number,
            kind="must-alias" if entry.kind == _MUST_ALIAS else "may-alias",
        )
        for entry in module.input_output_alias.entries
        if entry.kind in (_MAY_ALIAS, _MUST_ALIAS)
    )


def library_of(target: str) -> str:
    """The library that a custom call or fusion kind names, "" of none known."""
    return next((library for start, library in _LIBRARIES.items() if target.lower().startswith(start)), "")


def computations(graph: Graph, skip: set[Graph]) -> Iterator[Graph]:
    """Every computation that is reached from one, each once; `skip` are those to leave out."""
    skip.add(graph)
    yield graph
    for node in graph:
        for region in node.regions:
            if region not in skip:
                yield from computations(region, skip)


def _custom_calls(module: Any, nodes: list[Node]) -> tuple[CustomCall, ...]:
    instructions = {
        instruction.id: instruction for computation in module.computations for instruction in computation.instructions
    }
    # Parts of a root are taken out by values that the module does not hold.
    targets = [(node, _target(instructions[node.id])) for node in nodes if node.id in instructions]
    return tuple(
        CustomCall(node.name, target, library_of(target), source_of(node)) for node, target in targets if target
    )


def _target(instruction: Any) -> str:
    if instruction.opcode == "custom-call":
        return instruction.custom_call_target
    if instruction.opcode != "fusion" or _OF_XLA in instruction.backend_config:
        return ""
    kind = _FUSION_KIND.search(instruction.backend_config)
    return kind[1].decode() if kind else ""


def source_of(node: Node) -> str:
    """The user's line of an instruction, or of the last one inside it that has one."""
    inner = (instruction.source for region in node.regions for instruction in reversed(list(region.walk())))
    return node.source or next(filter(None, inner), "")


def _convert(node: Node, graph: Graph) -> Convert:
    operand = graph.nodes[node.operands[0]]
    return Convert(node.name, operand.shape.dtype, node.shape.dtype, node.shape.elements, node.source)


def _layout_change(node: Node, graph: Graph) -> LayoutChange | None:
    if node.opcode not in ("copy", "transpose", "bitcast") or not node.shape.is_array:
        return None
    before = graph.nodes[node.operands[0]].shape
    if not _reorders(node, before):
        return None
    byte_count = 0 if node.opcode == "bitcast" else bytes_of(node.shape)
    return LayoutChange(node.name, node.opcode, _with_layout(before), _with_layout(node.shape), byte_count, node.source)


def _reorders(node: Node, before: Shape) -> bool:
    """Whether elements move, or, of a bitcast, whether dimensions are renamed; one of size 1 has no place in memory."""
    after = node.shape
    if node.opcode == "bitcast":
        has_same_sizes = sorted(before.dimensions) == sorted(after.dimensions)
        differs = _without_ones(before) != _without_ones(after) or before.layout != after.layout
        return has_same_sizes and differs and before.dtype == after.dtype
    order = node.attribute("dimensions", ()) or tuple(range(len(after.dimensions)))
    return [order[axis] for axis in _places(after)] != list(_places(before))


def _without_ones(shape: Shape) -> tuple[int, ...]:
    return tuple(size for size in shape.dimensions if size != 1)


def _places(shape: Shape) -> tuple[int, ...]:
    """Dimensions of more than one element from the one that varies fastest."""
    layout = shape.layout or tuple(reversed(range(len(shape.dimensions))))
    return tuple(axis for axis in layout if shape.dimensions[axis] != 1)


def _with_layout(shape: Shape) -> str:
    return f"{shape}{{{','.join(map(str, shape.layout))}}}"


def compare(left: CompiledSummary, right: CompiledSummary, labels: tuple[str, str]) -> tuple[FigureDifference, ...]:
    """In what two modules differ; empty where nothing that is counted here does."""
    sides = Pair(left, right)
    differences = [
        _figure(kind, unit, sides.map(operator.attrgetter(kind)), labels)
        for kind, unit in (
            ("kernels", "kernels"), ("fusions", "fusions"), ("flops", "floating-point operations"),
            ("bytes", "bytes accessed"), ("temp_bytes", "bytes of intermediates"),
        )
    ]  # fmt: skip
    moved_bytes = sides.map(lambda side: sum(change.bytes for change in side.layout_copies))
    differences.append(_figure("layout_copies", "bytes moved to another layout", moved_bytes, labels))
    alias_counts = sides.map(lambda side: len(side.aliases))
    differences.append(_figure("aliases", "parameters updated in place", alias_counts, labels))
    for kind, unit, lines_of in (("custom_calls", "custom calls", _calls), ("converts", "converts", _converts)):
        lines = sides.map(lines_of)
        for name in sorted({*lines.left, *lines.right}):
            of_name = Pair(lines.left.get(name, []), lines.right.get(name, []))
            differences.append(
                _figure(kind, f"{unit} {name}", of_name.map(len), labels, (*of_name.left, *of_name.right))
            )
    return tuple(filter(None, differences))


def _calls(summary: CompiledSummary) -> dict[str, list[str]]:
    """By target and library, the line of each call."""
    lines: dict[str, list[str]] = {}
    for call in summary.custom_calls:
        name = f"{call.target} ({call.library})" if call.library else call.target
        lines.setdefault(name, []).append(call.source)
    return lines


def _converts(summary: CompiledSummary) -> dict[str, list[str]]:
    """By dtypes, the line of each conversion."""
    lines: dict[str, list[str]] = {}
    for convert in summary.converts:
        lines.setdefault(f"{convert.before} to {convert.after}", []).append(convert.source)
    return lines


def _figure(
    kind: str, unit: str, figures: Pair[float | None], labels: tuple[str, str], lines: Sequence[str] = ()
) -> FigureDifference | None:
    left, right = figures
    if left is None or right is None or left == right:
        return None
    label, other = labels
    text = f"{unit}: {left:,.0f} in {label}, {right:,.0f} in {other}"
    return FigureDifference(kind, text, left, right, tuple(filter(None, dict.fromkeys(lines))))
