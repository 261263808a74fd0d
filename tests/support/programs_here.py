"""An executor that runs a specification's own programs in its process, by the code that a worker runs them by."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes as ml_dtypes  # NumPy knows bfloat16 once it is imported
import numpy as np

from compare.hlo import artifacts, bindings
from compare.hlo.arrays import held
from compare.hlo.arrays.fingerprints import Fingerprint
from compare.hlo.arrays.layouts import Equal
from compare.hlo.executing import Executable, Executor, Held, Runnable
from compare.hlo.stepping import LoadedSteps, StepPrograms
from compare.hlo.steps import Steps
from compare.sides import xla
from workloads.protocol.framework import CompilerOptions


class ProgramsHere(Executor):
    """For programs that a specification wrote itself: what others wrote may end the process that runs it."""

    def __init__(self) -> None:
        bindings.initialize_libraries()
        self._operations = StepPrograms(bindings.load_bytecode)

    def check(self, bytecode: bytes) -> None:
        artifacts.hlo_of_artifact(bytecode)

    def read_text(self, text: str) -> bytes:
        return bindings.hlo_from_text(text)

    def compile(self, bytecode: bytes, options: CompilerOptions) -> Executable:
        return _Compiled(bindings.load_bytecode(bytecode, options))

    def compile_steps(self, steps: Steps) -> Runnable:
        return _Steps(self._operations.load(steps))

    def compare(self, left: Held, right: Held, pairs: Sequence[held.Places], tolerance: float) -> list[Equal | None]:
        assert isinstance(left, _Held)
        assert isinstance(right, _Held)
        return held.compare_results(left.results, right.results, pairs, tolerance)

    def let_go(self) -> None:
        """Nothing: it is forgotten as it is."""


class _Held(Held):
    def __init__(self, results: held.HeldResults) -> None:
        self.results = results

    @property
    def fingerprints(self) -> Sequence[Sequence[Fingerprint]]:
        return self.results.fingerprints


class _Steps(Runnable):
    def __init__(self, loaded: LoadedSteps) -> None:
        self._loaded = loaded

    def each(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        return self._loaded.each(calls)

    def hold(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Held:
        return _Held(held.hold_results(self.each(calls), tolerance))

    def fingerprints(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Sequence[Sequence[Fingerprint]]:
        return xla.take_fingerprints(self._loaded, calls, tolerance)


class _Compiled(Executable):
    def __init__(self, loaded: bindings.LoadedProgram) -> None:
        self._loaded = loaded

    @property
    def optimized_module(self) -> bytes:
        return self._loaded.optimized_module

    def each(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        return [list(results) for results in self._loaded.each(calls)]

    def hold(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Held:
        return _Held(held.hold_results(self.each(calls), tolerance))

    def fingerprints(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Sequence[Sequence[Fingerprint]]:
        return xla.take_fingerprints(self._loaded, calls, tolerance)
