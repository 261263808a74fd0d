"""The executor of a command: one worker that compiles and runs programs, started when the first one comes."""

from __future__ import annotations

import itertools
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from compare.hlo import executing
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import Executable, Executor, Options, ProgramLost
from compare.sides import xla
from compare.sides._side import Reply, SideError
from compare.sides.client import LiveSide
from workloads._spec import Arrays


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
        self._timeout_s = timeout_s
        # Made now: a command that starts the worker later may have temporary files of its own, which go with it.
        self._scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-xla-")))
        self._side: LiveSide | None = None
        self._handles = itertools.count()
        self._released: list[int] = []
        stack.callback(self._close)

    def compile(self, bytecode: bytes, options: Options) -> Executable:
        compiled = _Compiled(self, bytecode, options)
        compiled.load()
        return compiled

    def load(self, bytecode: bytes, options: Options) -> tuple[LiveSide, int]:
        """Compile in the worker that there is: that worker, and a handle which means something to it alone."""
        side, handle = self._started(), next(self._handles)
        arrays = {xla.PROGRAM: np.frombuffer(bytecode, np.uint8)}
        self.ask(side, "compile", {"handle": handle, "options": dict(options)}, arrays)
        return side, handle

    def ask(self, side: LiveSide, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        released, self._released = self._released, []
        try:
            return side.call(method, {**parameters, "released": released}, arrays)
        except SideError as error:
            if not error.lost:
                raise UnreadableProgram(error.reason) from error
            self._close()
            raise ProgramLost(f"XLA did not {method} the program: {error.reason}") from error

    def is_current(self, side: LiveSide) -> bool:
        return side is self._side

    def release(self, side: LiveSide, handle: int) -> None:
        """Let go of a program with the next request: its results may be collected while another one is under way."""
        if self.is_current(side):
            self._released.append(handle)

    def _started(self) -> LiveSide:
        if self._side is None:
            self._side = LiveSide("xla", self._scratch, timeout_s=self._timeout_s)
            self._released = []
        return self._side

    def _close(self) -> None:
        if self._side is not None:
            self._side.close()
            self._side = None


class _Compiled(Executable):
    def __init__(self, worker: ProgramWorker, bytecode: bytes, options: Options) -> None:
        self._worker, self._bytecode, self._options = worker, bytecode, options
        self._loaded: tuple[LiveSide, int] | None = None

    def load(self) -> tuple[LiveSide, int]:
        """The worker that has the program, and its handle there."""
        if self._loaded is None or not self._worker.is_current(self._loaded[0]):
            self._loaded = self._worker.load(self._bytecode, self._options)
            weakref.finalize(self, self._worker.release, *self._loaded)
        return self._loaded

    @property
    def optimized(self) -> bytes:
        side, handle = self.load()
        return self._worker.ask(side, "optimized", {"handle": handle}).arrays[xla.PROGRAM].tobytes()

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        side, handle = self.load()
        described, packed = xla.pack(arrays)
        reply = self._worker.ask(side, "run", {"handle": handle, "arguments": described}, packed)
        return xla.unpack(reply.value, reply.arrays)
