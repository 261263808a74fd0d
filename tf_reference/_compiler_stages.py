"""The stages of TensorFlow's compiler for a function; older releases have fewer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tf_reference import _private
from workloads.protocol.framework import MemoryAnalysis

STAGES = ("stablehlo", "hlo", "optimized_hlo")
"""The stages of a program as text; the last needs the device that it is compiled for."""

_UNKNOWN = "Invalid stage selected"
"""The message of `experimental_get_compiler_ir` about a stage that this TensorFlow lacks."""


def program(lower: Callable[..., Any]) -> bytes:
    """The program as StableHLO bytecode, or as a serialized HloModuleProto if this TensorFlow writes no StableHLO.

    TensorFlow 2.18 writes none; `compare.sides.older_programs` makes StableHLO of that.
    """
    stablehlo = _stage(lower, "stablehlo_serialized")
    return lower(stage="hlo_serialized") if stablehlo is None else stablehlo


def texts(lower: Callable[..., Any], stages: Sequence[str]) -> dict[str, str]:
    """The stages as text that this TensorFlow has."""
    by_stage = {stage: _stage(lower, stage) for stage in stages}
    return {stage: str(text) for stage, text in by_stage.items() if text is not None}


def memory(lower: Callable[..., Any]) -> MemoryAnalysis:
    """The memory that the compiler plans for a call, if this TensorFlow reports it."""
    plan = _stage(lower, "optimized_hlo_proto_serialized")
    return MemoryAnalysis() if plan is None else _private.memory_analysis(plan)


def _stage(lower: Callable[..., Any], name: str) -> Any:
    """A stage; None where this TensorFlow has none of that name."""
    try:
        return lower(stage=name)
    except ValueError as error:
        if not str(error).startswith(_UNKNOWN):
            raise
        return None
