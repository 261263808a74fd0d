"""The executor of a command: one worker that compiles and runs programs, started when the first one comes."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.hlo import executing
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import Executable, Executor, Options, ProgramLost, Runnable
from compare.hlo.steps import Steps
from compare.sides import xla
from compare.sides._side import Reply, Side, SideError
from compare.sides.replaceable import Replaceable
from workloads._spec import Arrays

_DONE = {"compile_steps": "compile", "read_text": "read"}


@contextmanager
def programs_apart(timeout_s: float = 300) -> Iterator[None]:
    """Have programs compiled and run by a worker meanwhile; inside another such block, by that one's.

    Args:
      timeout_s: how long a compilation or a call may take.
    """
    if executing.in_use():
        yield
        return
    with ExitStack() as stack:
        worker = ProgramWorker(timeout_s, stack)
        stack.enter_context(executing.using(worker))
        yield


class ProgramWorker(Executor):
    """A worker that is replaced after a program has ended it. What was compiled before is compiled again then."""

    def __init__(self, timeout_s: float, stack: ExitStack) -> None:
        self._worker = Replaceable("xla", timeout_s, stack)
        self._handles = itertools.count()
        self._released: list[int] = []

    def check(self, bytecode: bytes) -> None:
        """Check that a program can be read.

        Raises:
          UnreadableProgram: it cannot.
          ProgramLost: reading it ended the worker.
        """
        with self._worker.asking:
            self.ask(self.current(), "read", {}, {xla.PROGRAM: np.frombuffer(bytecode, np.uint8)})

    def read_text(self, text: str) -> bytes:
        """The HLO module of a text.

        Raises:
          UnreadableProgram: it is none.
          ProgramLost: reading it ended the worker.
        """
        sent = {xla.PROGRAM: np.frombuffer(text.encode(errors="replace"), np.uint8)}
        with self._worker.asking:
            return self.ask(self.current(), "read_text", {}, sent).arrays[xla.PROGRAM].tobytes()

    def compile(self, bytecode: bytes, options: Options) -> Executable:
        """Compile a program, and again in each worker that it is run in later.

        Raises:
          UnreadableProgram: XLA refuses it.
          ProgramLost: compiling it ended the worker.
        """
        arrays = {xla.PROGRAM: np.frombuffer(bytecode, np.uint8)}
        compiled = _CompiledProgram(self, _Request("compile", {"options": dict(options)}, arrays))
        compiled.load()
        return compiled

    def compile_steps(self, steps: Steps, options: Options) -> Runnable:
        """Compile each operation of a graph, and again in each worker that it is run in later.

        Raises:
          UnreadableProgram: XLA refuses one.
          ProgramLost: compiling one ended the worker.
        """
        described, arrays = xla.pack_steps(steps)
        compiled = _Compiled(self, _Request("compile_steps", {"options": dict(options), **described}, arrays))
        compiled.load()
        return compiled

    def current(self) -> Side:
        """The worker that programs are given to now."""
        return self._worker.started()

    def load(self, request: _Request) -> tuple[Side, int]:
        """Compile in the worker that there is: that worker, and a handle which means something to it alone."""
        with self._worker.asking:
            side, handle = self.current(), next(self._handles)
            self.ask(side, request.method, {"handle": handle, **request.parameters}, request.arrays)
            return side, handle

    def ask_of(
        self, compiled: _Compiled, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None
    ) -> Reply:
        """The reply of a worker to a request about a program that it has compiled, or compiles first."""
        with self._worker.asking:
            side, handle = compiled.load()
            return self.ask(side, method, {"handle": handle, **parameters}, arrays)

    def ask(self, side: Side, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        """The reply of a worker, which may be the last thing that it says."""
        released, self._released = self._released, []
        try:
            return self._worker.call(side, method, {**parameters, "released": released}, arrays)
        except SideError as error:
            if not error.lost:
                raise UnreadableProgram(error.reason) from error
            raise ProgramLost(f"XLA did not {_DONE.get(method, method)} the program: {error.reason}") from error

    def release(self, handle: int) -> None:
        """Let go of a program with the next request: its results may be collected while another one is under way."""
        self._released.append(handle)


@dataclass(frozen=True, eq=False)
class _Request:
    """What compiles a program, in whichever worker."""

    method: str
    parameters: Mapping[str, Any]
    arrays: Arrays


class _Compiled(Runnable):
    def __init__(self, worker: ProgramWorker, request: _Request) -> None:
        self._worker, self._request = worker, request
        self._loaded: tuple[Side, int] | None = None

    def load(self) -> tuple[Side, int]:
        """The worker that has the program, and its handle there."""
        if self._loaded is None or self._loaded[0] is not self._worker.current():
            self._loaded = self._worker.load(self._request)
            weakref.finalize(self, self._worker.release, self._loaded[1])
        return self._loaded

    def each(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        described, packed = xla.pack_calls(calls)
        reply = self._worker.ask_of(self, "run", {"calls": described}, packed)
        return xla.unpack_calls(reply.value, reply.arrays)


class _CompiledProgram(_Compiled, Executable):
    @property
    def optimized(self) -> bytes:
        return self._worker.ask_of(self, "optimized", {}).arrays[xla.PROGRAM].tobytes()
