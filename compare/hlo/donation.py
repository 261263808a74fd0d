"""Donation verified: whether an optimized module overwrites the arrays that it was given to overwrite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compare.hlo import proto, read_module
from compare.hlo.compiled import aliases, bytes_of
from compare.hlo.graph import Shape
from compare.hlo.levels import Subject


@dataclass(frozen=True)
class InPlace:
    """A parameter whose memory holds a result after the call."""

    parameter: str
    result: str
    shape: str
    bytes: int
    kind: str


@dataclass(frozen=True)
class NotAliased:
    """A parameter that was donated and not overwritten, and why; its memory is set aside a second time."""

    parameter: str
    shape: str
    bytes: int
    reason: str

    def __str__(self) -> str:
        return f"{self.parameter}: donated, not aliased: {self.reason}"


@dataclass(frozen=True)
class Verified:
    """The outcome of a donation: `bytes_in_place` are those of `in_place`, `bytes_missed` those of `missed`."""

    donated: int
    in_place: tuple[InPlace, ...]
    missed: tuple[NotAliased, ...]

    @property
    def holds(self) -> bool:
        """Whether every donated parameter is overwritten."""
        return not self.missed

    @property
    def bytes_in_place(self) -> int:
        """Bytes that the step updates without setting them aside."""
        return sum(array.bytes for array in self.in_place)

    @property
    def bytes_missed(self) -> int:
        """Bytes that were donated in vain."""
        return sum(array.bytes for array in self.missed)


def verify(compiled: Subject, donated_positions: Sequence[int]) -> Verified:
    """Read the aliases of an optimized module.

    Args:
      compiled: its parameters and results are named here, where the subject names them, else by position.
      donated_positions: positions of the parameters that were given away.

    Raises:
      UnreadableProgram: the bytes are no HLO.
      ValueError: a parameter was donated that the module has not.
    """
    module = proto.read_module(compiled.hlo)
    parameters, results = _signature(module)
    if any(not 0 <= position < len(parameters) for position in donated_positions):
        raise ValueError(f"expected donated positions below {len(parameters)}, found {list(donated_positions)}")
    names = compiled.parameters or [f"parameter {position}" for position in range(len(parameters))]
    result_names = compiled.results or [f"result {position}" for position in range(len(results))]
    module_aliases = aliases(module)
    aliased_parameters, aliased_results = (
        {alias.parameter for alias in module_aliases},
        {alias.result for alias in module_aliases},
    )
    free = Counter(shape for position, shape in enumerate(results) if position not in aliased_results)
    return Verified(
        donated=len(donated_positions),
        in_place=tuple(
            InPlace(names[alias.parameter], result_names[alias.result], str(parameters[alias.parameter]),
                    bytes_of(parameters[alias.parameter]), alias.kind)
            for alias in module_aliases
        ),
        missed=tuple(
            NotAliased(names[position], str(parameters[position]), bytes_of(parameters[position]),
                       _reason(parameters[position], results, free))
            for position in donated_positions
            if position not in aliased_parameters
        ),
    )  # fmt: skip


def _signature(module: Any) -> tuple[list[Shape], list[Shape]]:
    program = module.host_program_shape
    result = read_module.shape(program.result)
    parameters = [read_module.shape(parameter) for parameter in program.parameters]
    return parameters, list(result.parts) if result.dtype == "tuple" else [result]


def _reason(shape: Shape, results: Sequence[Shape], free: Counter[Shape]) -> str:
    if free[shape]:
        return f"a result is {shape} too, and XLA wrote it elsewhere"
    if shape in results:
        return f"every result that is {shape} overwrites another parameter"
    if any(result.dimensions == shape.dimensions for result in results):
        return f"no result is {shape}: one has its shape and another dtype"
    return f"no result is {shape}: none has its shape"
