"""Describes the code of one program for a device, for the record: counts, memory, bounds, and launches on a GPU."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from compare.devices import bounds, launches
from compare.devices.device import Device
from compare.devices.launches import Assembled
from compare.devices.occupancy import occupancy
from compare.devices.traffic import traffic
from compare.hlo import bindings, compiled, levels, read_module
from compare.hlo.compiled import CONTROL_FLOW, NO_CODE, CompiledSummary
from compare.hlo.dumps import directory, gpu, grammar
from compare.hlo.graph import Graph, Node
from compare.hlo.kernel_times import sources_of
from compare.hlo.levels import Subject
from compare.record.target_part import Launch, OnTarget, Target

_PRODUCTS = ("dot", "convolution")
_THUNK_LIBRARIES = {
    "kGemm": "cuBLAS", "kCublasLtMatmul": "cuBLASLt", "kConvolution": "cuDNN", "kCuDnn": "cuDNN", "kFft": "cuFFT",
    "kCholesky": "cuSOLVER", "kTriangularSolve": "cuBLAS", "kCubSort": "CUB",
}  # fmt: skip
"""By thunk, whose kernels it launches; what an instruction calls comes first."""

GPU_NOTES = (
    "nothing was tuned: without the device, tiles and the choice between Triton and cuBLAS are XLA's heuristics",
    "without cuDNN and cuBLAS here, their workspace is likely understated",
)
TPU_NOTES = ("kernels count instructions of the module: what a TPU runs at once, such as copies, counts one each",)


@dataclass(frozen=True)
class Made:
    """A program and what XLA made of it for a device.

    Attributes:
      artifact: the StableHLO that was compiled.
      program: the same as it is aligned with others.
      module: as XLA optimized it.
      memory: bytes by use: "argument", "output", "temp", "alias" and "code".
      dump: the folder that XLA wrote for a GPU; None of a TPU.
      reports: by PTX file, what the assembler said.
      machine_code: by PTX file, what the disassembler said; empty where the toolkit has none.
    """

    artifact: bytes
    program: Subject
    module: Subject
    memory: Mapping[str, int]
    dump: Path | None = None
    reports: Mapping[str, str] = field(default_factory=dict)
    machine_code: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Placed:
    """An operation that runs code, and the computation that it stands in."""

    node: Node
    graph: Graph


def summary(product: Made) -> CompiledSummary:
    """The module counted, as those for the CPU are.

    Raises:
      UnreadableProgram: it cannot be read.
    """
    return compiled.describe(product.module.hlo, product.memory["temp"], product.module.sources)


def describe(device: Device, product: Made) -> OnTarget:
    """The program on the device in numbers.

    Raises:
      UnreadableProgram: the module or the dump cannot be read.
    """
    counts = summary(product)
    entry = read_module.read(product.module.hlo, product.module.sources)
    nodes = {one.node.name: one for one in _running(entry)}
    # What a TPU's compiler calls by name is code of its own.
    own = device.platform == "tpu"
    libraries = {call.name: call.library or ("" if own else call.target) for call in counts.custom_calls}
    rows = _launch_rows(device, product, nodes, libraries)
    bytes_ = float(sum(traffic(one.node, one.graph) for one in nodes.values()))
    flops = bindings.hlo_cost(product.program.hlo).get("flops")
    bound = bounds.bound(device, bytes_, flops, product_types(product.program))
    peak = peak_bytes(product.memory)
    return OnTarget(
        kernels=len(nodes),
        launches=len(rows) if product.dump else None,
        fusions=counts.fusions,
        temp_bytes=product.memory["temp"],
        peak_bytes=peak,
        library_calls=dict(Counter(filter(None, libraries.values())).most_common()),
        flops=flops,
        bytes=bytes_,
        bound_s=bound.seconds if bound else None,
        bound_by=bound.by if bound else "",
        fits=peak <= device.memory_bytes if device.memory_bytes else None,
        launched=rows,
        notes=(*(GPU_NOTES if device.platform == "gpu" else TPU_NOTES), *_notes(device, peak, entry)),
    )


_FIGURES = {
    "kernels": "kernels", "launches": "launches", "fusions": "fusions", "bytes": "bytes read and written",
    "flops": "floating-point operations of the program", "temp_bytes": "bytes of intermediates",
    "peak_bytes": "bytes of memory",
}  # fmt: skip
_DETAILS = ("layout_copies", "aliases", "custom_calls", "converts")


def differences(target: Target, left: Made, right: Made) -> Iterator[str]:
    """In what two modules on a device differ, a sentence each; nothing where nothing that is counted does."""
    labels = ("tf@jax", "jax@jax")
    for name, unit in _FIGURES.items():
        figures = [getattr(cell, name) if cell else None for cell in (target.tf, target.jax)]
        if None not in figures and figures[0] != figures[1]:
            yield f"{unit}: {figures[0]:,.0f} in {labels[0]}, {figures[1]:,.0f} in {labels[1]}"
    for difference in compiled.compare(summary(left), summary(right), labels):
        if difference.kind in _DETAILS:
            yield difference.text


def peak_bytes(memory: Mapping[str, int]) -> int:
    """Bytes that a call holds at once: what it updates in place is argument and result."""
    return memory["argument"] + memory["output"] - memory["alias"] + memory["temp"] + memory["code"]


def product_types(program: Subject) -> frozenset[str]:
    """Types of the operands of a program's matrix products and convolutions."""
    return frozenset(_products(levels.read(program)))


def _products(graph: Graph) -> Iterator[str]:
    for node in graph:
        if node.opcode in _PRODUCTS:
            yield graph.nodes[node.operands[0]].shape.dtype
        for region in node.regions:
            yield from _products(region)


def _running(graph: Graph) -> Iterator[_Placed]:
    """The instructions that run code, also within calls, loops and branches; the ends of async pairs do not count."""
    for node in graph:
        if node.opcode in CONTROL_FLOW:
            for region in node.regions:
                yield from _running(region)
        elif node.opcode not in NO_CODE and not node.opcode.endswith("-done"):
            yield _Placed(node, graph)


def _notes(device: Device, peak: int, entry: Graph) -> Iterator[str]:
    if any(node.opcode == "while" for node in entry.walk()):
        yield "a loop's body counts once, however often it runs"
    if device.cache_bytes and peak <= device.cache_bytes:
        yield "everything fits in the second-level cache: a warm call may beat the bound by memory"


def _launch_rows(
    device: Device, product: Made, nodes: Mapping[str, _Placed], libraries: Mapping[str, str]
) -> tuple[Launch, ...]:
    if product.dump is None:
        return ()
    module = directory.modules(product.dump)[-1]
    sequence = gpu.thunks(module)[0]
    names = "".join(file.text() for file in module.of(grammar.THUNK_NAMES))
    reports = launches.parse_reports("\n".join(product.reports.values()))
    return tuple(
        _row(device, launch, nodes.get(launch.instruction), libraries, reports.get(launch.kernel))
        for launch in launches.launches(sequence, names)
    )


def _row(
    device: Device,
    launch: launches.Launch,
    node: _Placed | None,
    libraries: Mapping[str, str],
    report: Assembled | None,
) -> Launch:
    library = libraries.get(launch.instruction) or _THUNK_LIBRARIES.get(launch.kind, "")
    row = Launch(
        kernel=launch.kernel,
        kind=launch.kind,
        instruction=launch.instruction,
        library=library,
        grid=launch.grid,
        threads=launch.threads,
        bytes=traffic(node.node, node.graph) if node else None,
        sources=sources_of(node.node) if node else (),
    )
    return _with_occupancy(row, device, launch, report) if launch.grid else row


def _with_occupancy(row: Launch, device: Device, launch: launches.Launch, report: Assembled | None) -> Launch:
    """The row with how a kernel of XLA's own fills the GPU."""
    blocks = math.prod(launch.grid)
    row = replace(row, filled=min(1.0, blocks / device.cores))
    if report is None:
        return row
    shared_memory = launch.shared_memory_bytes + report.shared_memory_bytes
    row = replace(
        row,
        registers=report.registers,
        spill_bytes=report.spill_store_bytes + report.spill_load_bytes,
        shared_memory_bytes=shared_memory,
    )
    if device.multiprocessor is None:
        return row
    fill = occupancy(device.multiprocessor, math.prod(launch.threads), report.registers, shared_memory)
    return replace(row, occupancy=fill.share, limited_by=fill.limited_by)
