"""The kernels of a module on a GPU: what its runtime launches, and what the assembler says of each. Pure text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from compare.hlo.dumps import gpu

_GRID = re.compile(r"grid: \[(\d+), (\d+), (\d+)\] threads: \[(\d+), (\d+), (\d+)\] +shared_memory: (\d+) bytes")
_EDGES = re.compile(r"^\[[^\]]*\]\s*")
_ANNOTATED = re.compile(r"thunk_info \{(.*?)\}", re.DOTALL)
_ANNOTATION = re.compile(r'profile_annotation: "([^"]*)"')
_NUMBER = re.compile(r"thunk_id: (\d+)")
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_STATIC = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Launch:
    """One thing that the runtime hands to the device in a call.

    Attributes:
      number: of its thunk.
      kind: of its thunk, as XLA names it, such as "kCustomKernel" or "kCopy".
      kernel: the entry in the PTX; "" of a library's call or a copy.
      instruction: of the optimized module; "" where XLA does not say it.
      grid, threads: blocks of the grid and threads of a block by axis; () where the kernel is not XLA's.
      shared_memory_bytes: dynamic, of one block.
      depth: loops and branches around it.
    """

    number: int
    kind: str
    kernel: str
    instruction: str
    grid: tuple[int, ...]
    threads: tuple[int, ...]
    shared_memory_bytes: int
    depth: int


@dataclass(frozen=True)
class Assembled:
    """The assembler's report on one kernel: registers of a thread, bytes spilled and of static shared memory."""

    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    shared_memory_bytes: int


def launches(thunks: gpu.Thunks, metadata: str) -> tuple[Launch, ...]:
    """The launches of a thunk sequence; a loop's body counts once.

    Args:
      metadata: XLA's thunk metadata in text form, which names instructions.
    """
    annotations = _annotations(metadata)
    return tuple(_launch(thunk, annotations) for thunk in thunks.thunks if thunk.launches)


def parse_reports(report: str) -> dict[str, Assembled]:
    """By kernel, what `ptxas -v` printed (CUDA Compiler Driver NVCC, "Printing Code Generation Statistics")."""
    starts = [*_ENTRY.finditer(report)]
    ends = [*(match.start() for match in starts[1:]), len(report)]
    return {match[1]: _parse_report(report[match.end() : end]) for match, end in zip(starts, ends, strict=False)}


def _annotations(metadata: str) -> Mapping[int, str]:
    annotations: dict[int, str] = {}
    for block in _ANNOTATED.findall(metadata):
        annotation, number = _ANNOTATION.search(block), _NUMBER.search(block)
        if annotation and number:
            annotations[int(number[1])] = annotation[1]
    return annotations


def _launch(thunk: gpu.Thunk, annotations: Mapping[int, str]) -> Launch:
    what = _EDGES.sub("", thunk.what)
    shape = _GRID.search(what)
    sizes = tuple(map(int, shape.groups())) if shape else ()
    return Launch(
        number=thunk.number,
        kind=thunk.kind,
        kernel=what[: shape.start()].strip() if shape else "",
        instruction=annotations.get(thunk.number, ""),
        grid=sizes[:3],
        threads=sizes[3:6],
        shared_memory_bytes=sizes[6] if sizes else 0,
        depth=thunk.depth,
    )


def _parse_report(report: str) -> Assembled:
    spills, use, static = _SPILLS.search(report), _USED.search(report), _STATIC.search(report)
    return Assembled(
        registers=int(use[1]) if use else 0,
        spill_store_bytes=int(spills[2]) if spills else 0,
        spill_load_bytes=int(spills[3]) if spills else 0,
        shared_memory_bytes=int(static[1]) if static else 0,
    )
