"""Whether what computes in bfloat16 or float16 does so, or is emulated in a wider type: sentences of a record."""

from __future__ import annotations

from collections import Counter

from compare.record.datatypes_part import TypedProgram
from compare.record.program_parts import Compiled
from compare.record.workload_part import Workload
from compare.report.datatype_page import arithmetic
from compare.report.showable import present
from workloads.core.modes import JAX_CELL, JAX_JIT, TF_CELL, TF_JIT

_NARROW = ("bf16", "f16")
_CELLS = {TF_JIT: TF_CELL, JAX_JIT: JAX_CELL}
"""The compiled modes, and the cells that are the same programs under the same compilers."""


def in_words(workload: Workload) -> tuple[str, ...]:
    """A sentence for each compiled mode and narrow type that its program asks for."""
    compiled = [(mode, present(workload.compiled.get(str(cell)))) for mode, cell in _CELLS.items()]
    return tuple(
        f"{mode} in {own}: {arithmetic(own, _program(str(mode), cell))}"
        for mode, cell in compiled
        if cell is not None
        for own in _NARROW
        if own in cell.asks
    )


def _program(name: str, cell: Compiled) -> TypedProgram:
    converts = Counter(f"{convert.before} to {convert.after}" for convert in cell.converts)
    calls = tuple(dict.fromkeys(call.target for call in cell.custom_calls))
    return TypedProgram(name, computes=cell.computes, asks=cell.asks, converts=converts, calls=calls)
