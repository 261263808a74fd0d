"""A program of either side, run apart from its framework on arrays of this process."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.hlo import executing
from compare.hlo.portable import portable
from workloads.core.spec import Arrays
from workloads.protocol.compiling import IN_ORDER, for_size
from workloads.protocol.framework import WEIGHTS, CompilerOptions, Program, Twin
from workloads.protocol.trajectory import LOSS

MOST_BYTES = 1 << 26
"""The most bytes of arguments and results of one request."""
_ELEMENT_BYTES = 8


@dataclass(frozen=True)
class Running:
    """A program that is compiled, and the weights and states that it is run with."""

    program: Program
    executable: executing.Executable
    twin: Twin

    def arguments(self, case: Arrays) -> list[np.ndarray]:
        """The arguments of the program in a case."""
        return arguments(self.program, self.twin, case)

    def __call__(self, cases: Sequence[Arrays]) -> list[Arrays]:
        """The results of each case by name, without updated variables."""
        names = [result.name for result in self.program.results]
        return [
            without_states(self.program, dict(zip(names, results, strict=True)))
            for start in range(0, len(cases), self.at_once)
            for results in self.executable.each([self.arguments(case) for case in cases[start : start + self.at_once]])
        ]

    def by_case(self, cases: Sequence[str]) -> dict[str, Arrays]:
        """The results of cases of the twin, by the names of the cases."""
        return dict(zip(cases, self([self.twin.cases[case] for case in cases]), strict=True))

    @property
    def at_once(self) -> int:
        """How many calls one request may hold."""
        return max(1, MOST_BYTES // max(count_elements(self.program) * _ELEMENT_BYTES, 1))


def count_elements(program: Program) -> int:
    """The number of elements of all arguments and results of a program."""
    return sum(math.prod(array.shape) for array in (*program.parameters, *program.results))


def arguments(program: Program, twin: Twin, case: Arrays) -> list[np.ndarray]:
    """The arguments of a program in a case, which has inputs and may change weights.

    Args:
      case: by name, the arrays of a case.
    """
    alone = dataclasses.replace(twin, cases={"": case})
    return [alone.argument(parameter, "", program.states) for parameter in program.parameters]


def without_states(program: Program, results: Arrays) -> Arrays:
    """Results without the updated variables of a program, which no run of a mode returns."""
    state_names = {f"state/{parameter.name}" for parameter in program.parameters if parameter.kind == "state"}
    weights = {parameter.name for parameter in program.parameters if parameter.kind == "weight"}
    # The forward pass may update weights, such as moving averages of batch normalization; a step returns them.
    if weights & results.keys() and LOSS not in results:
        state_names |= {f"{WEIGHTS}{name}" for name in weights}
    return {leaf: array for leaf, array in results.items() if leaf not in state_names}


def running(program: Program, twin: Twin, options: CompilerOptions = IN_ORDER) -> Running:
    """The program, compiled.

    Raises:
      UnreadableProgram: XLA does not compile it where its framework is not.
    """
    items = tuple(sorted(for_size(options, count_elements(program)).items()))
    return Running(program, _compiled(executing.current(), portable(program.artifact), items), twin)


@functools.lru_cache(maxsize=12)
def _compiled(
    executor: executing.Executor, bytecode: bytes, options: tuple[tuple[str, Any], ...]
) -> executing.Executable:
    """Remembered: one workload's programs are run for several judges, and compiling them takes most of the time."""
    return executor.compile(bytecode, dict(options))
