"""Where programs are compiled and run: not here. A program can end the process that runs it, or never end at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from compare.hlo.arrays.fingerprints import Fingerprint
from compare.hlo.arrays.held import Places
from compare.hlo.arrays.layouts import Equal
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.steps import Steps
from workloads.protocol.framework import CompilerOptions

"""XLA's debug options by name, such as {"xla_disable_hlo_passes": "fusion"}."""


class ProgramLost(UnreadableProgram):
    """The process that a program ran in ended, or the program did not end in time."""


class Held(ABC):
    """Results of several calls of a program that stay with the executor: they may be larger than anyone reads."""

    @property
    @abstractmethod
    def fingerprints(self) -> Sequence[Sequence[Fingerprint]]:
        """By result, of each call."""


class Runnable(ABC):
    """A compiled program that can be called."""

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One call and all of its results.

        Raises:
          UnreadableProgram: XLA refuses to run it.
          ProgramLost: it took its process with it.
        """
        return self.each([arrays])[0]

    @abstractmethod
    def each(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """Several calls in one request; raises as one call does."""

    @abstractmethod
    def hold(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Held:
        """Run calls, and keep the results in the executor as long as they are referenced.

        Args:
          tolerance: of the fingerprints, for float32.

        Raises:
          UnreadableProgram, ProgramLost: as one call does.
        """

    @abstractmethod
    def fingerprints(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Sequence[Sequence[Fingerprint]]:
        """By result, its fingerprint in each call; of steps no result stays, so that they may be of any size together.

        Args:
          tolerance: of the fingerprints, for float32.

        Raises:
          UnreadableProgram, ProgramLost: as one call does.
        """


class Executable(Runnable):
    """A program compiled as one."""

    @property
    @abstractmethod
    def optimized_module(self) -> bytes:
        """Serialized HloModuleProto of the optimized module."""


class Executor(ABC):
    """Reads and compiles programs, in a process apart from this one."""

    @abstractmethod
    def check(self, bytecode: bytes) -> None:
        """Read StableHLO bytecode that comes from a file.

        Raises:
          UnreadableProgram: the bytes are no StableHLO, or XLA does not take the program.
          ProgramLost: reading took its process with it, or does not end.
        """

    @abstractmethod
    def read_text(self, text: str) -> bytes:
        """The serialized HloModuleProto of HLO text that comes from a file. What it leaves out comes back as garbage.

        Raises:
          UnreadableProgram: the text is no HLO.
          ProgramLost: reading took its process with it, or does not end.
        """

    @abstractmethod
    def compile(self, bytecode: bytes, options: CompilerOptions) -> Executable:
        """Compile StableHLO bytecode, portable artifact or not.

        Raises:
          UnreadableProgram: the bytes are no StableHLO, or XLA refuses the program or an option.
          ProgramLost: XLA took its process with it.
        """

    @abstractmethod
    def compile_steps(self, steps: Steps) -> Runnable:
        """Compile each operation of a graph; raises as compiling one program does."""

    @abstractmethod
    def compare(self, left: Held, right: Held, pairs: Sequence[Places], tolerance: float) -> list[Equal | None]:
        """By pair of results, how they are equal in every call, or None where they are not.

        Args:
          right: of another one, of as many calls.
          tolerance: float32's, relative to each value's scale.

        Raises:
          UnreadableProgram, ProgramLost: the results were lost, and computing them again failed.
        """

    @abstractmethod
    def let_go(self) -> None:
        """Forget the programs and results without references."""


_in_use: list[Executor] = []
"""The last is asked."""


def in_use() -> bool:
    """Whether there is an executor to ask."""
    return bool(_in_use)


@contextmanager
def using(executor: Executor) -> Iterator[None]:
    """Let this executor compile and run every program of this process meanwhile."""
    _in_use.append(executor)
    try:
        yield
    finally:
        _in_use.remove(executor)


def let_go() -> None:
    """Have the executor in use, if there is one, forget programs and results without references now."""
    if _in_use:
        current().let_go()


def compile_bytecode(bytecode: bytes, options: CompilerOptions | None = None) -> Executable:
    """Compile StableHLO bytecode by the executor in use, as `Executor.compile` does.

    Raises:
      RuntimeError: none is in use. There is no default that runs a stranger's program in this process.
    """
    return current().compile(bytecode, options or {})


def compile_steps(steps: Steps) -> Runnable:
    """Compile each operation of a graph by the executor in use, as `Executor.compile_steps` does.

    Raises:
      RuntimeError: none is in use.
    """
    return current().compile_steps(steps)


def compare(left: Held, right: Held, pairs: Sequence[Places], tolerance: float) -> list[Equal | None]:
    """Compare results that the executor in use holds, as `Executor.compare` does.

    Args:
      tolerance: float32's.

    Raises:
      RuntimeError: none is in use.
    """
    return current().compare(left, right, pairs, tolerance)


def check_bytecode(bytecode: bytes) -> bytes:
    """The bytecode, once the executor in use has read it: MLIR's reader is not safe against damaged bytes.

    One flipped bit makes jaxlib 0.10.2's reader run for ever, and a few of them end its process.

    Raises:
      UnreadableProgram: as `Executor.check` does.
      RuntimeError: no executor is in use.
    """
    current().check(bytecode)
    return bytecode


def hlo_from_text(text: str) -> bytes:
    """The serialized HloModuleProto of HLO text of a file, read by the executor in use.

    XLA's parser ends its process at a parameter whose number is out of order, say.

    Raises:
      UnreadableProgram: as `Executor.read_text` does.
      RuntimeError: no executor is in use.
    """
    return current().read_text(text)


def current() -> Executor:
    """The executor in use.

    Raises:
      RuntimeError: none is.
    """
    if not _in_use:
        raise RuntimeError(
            "expected an executor of programs, found none: enter compare.sides.program_worker.programs_apart()"
        )
    return _in_use[-1]
