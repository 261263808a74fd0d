"""The executor of a command: one worker that compiles and runs programs, started when the first one comes."""

from __future__ import annotations

import atexit
import functools
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from compare.hlo import executing
from compare.hlo.arrays.fingerprints import Fingerprint
from compare.hlo.arrays.held import Places
from compare.hlo.arrays.layouts import Equal
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import Executable, Executor, Held, ProgramLost, Runnable
from compare.hlo.steps import Steps
from compare.sides import xla
from compare.sides._side import Parameters, Reply, Side, SideError
from compare.sides.replaceable import Replaceable
from workloads.core.spec import Arrays
from workloads.protocol.framework import CompilerOptions

_DONE = {
    "compile_steps": "compile",
    "read_text": "read",
    "hold": "run",
    "fingerprint": "run",
    "compare_held": "compare results of",
}


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


@contextmanager
def programs_kept(before_each: Callable[[], object], timeout_s: float) -> Iterator[Callable[[], object]]:
    """Like `programs_apart`, by a worker that stays for the next such block, until this process ends.

    Args:
      before_each: called before each request; what it raises ends the block's work.
      timeout_s: how long a compilation or a call may take, where the worker is not there yet.

    Returns:
      What ends the worker, from any thread: a request that waits for it fails, and the next block has another one.
    """
    if executing.in_use():
        yield lambda: None
        return
    worker = _kept_worker(timeout_s)
    worker.before_each = before_each
    try:
        with executing.using(worker):
            yield worker.stop
    finally:
        worker.before_each = _nothing


@functools.cache
def _kept_worker(timeout_s: float) -> ProgramWorker:
    stack = ExitStack()
    worker = ProgramWorker(timeout_s, stack)
    # After its folder is there: what is registered last is called first, and Python removes folders likewise.
    atexit.register(stack.close)
    return worker


def _nothing() -> None:
    """Nothing is to be done."""


class ProgramWorker(Executor):
    """A worker that is replaced after a program has ended it. What was compiled before is compiled again then."""

    def __init__(self, timeout_s: float, stack: ExitStack) -> None:
        self._worker = Replaceable("xla", timeout_s, stack)
        self.before_each: Callable[[], object] = _nothing
        self._handles = itertools.count()
        self._released: list[int] = []

    @override
    def check(self, bytecode: bytes) -> None:
        with self._worker.asking:
            self.ask(self.current(), "read", {}, {xla.PROGRAM: np.frombuffer(bytecode, np.uint8)})

    @override
    def read_text(self, text: str) -> bytes:
        arrays = {xla.PROGRAM: np.frombuffer(text.encode(errors="replace"), np.uint8)}
        with self._worker.asking:
            return self.ask(self.current(), "read_text", {}, arrays).arrays[xla.PROGRAM].tobytes()

    @override
    def compile(self, bytecode: bytes, options: CompilerOptions) -> Executable:
        """See the base class. Each later worker that runs the program compiles it again."""
        arrays = {xla.PROGRAM: np.frombuffer(bytecode, np.uint8)}
        compiled = _CompiledProgram(self, _Request("compile", {"options": dict(options)}, arrays))
        compiled.load()
        return compiled

    @override
    def compile_steps(self, steps: Steps) -> Runnable:
        """See the base class. Each later worker that runs the graph compiles it again."""
        description, arrays = xla.pack_steps(steps)
        compiled = _Compiled(self, _Request("compile_steps", vars(description), arrays))
        compiled.load()
        return compiled

    @override
    def compare(self, left: Held, right: Held, pairs: Sequence[Places], tolerance: float) -> list[Equal | None]:
        assert isinstance(left, _ResultsThere)
        assert isinstance(right, _ResultsThere)
        with self._worker.asking:
            # A worker that died meanwhile is replaced by the first that asks, and the other's results are not there.
            left.load()
            _, second = right.load()
            side, first = left.load()
            parameters = {"left": first, "right": second, "pairs": pairs, "tolerance": tolerance}
            return xla.unpack_equal(self.ask(side, "compare_held", parameters).value)

    def let_go(self) -> None:
        """Have the worker forget what was released; one that died has nothing left."""
        with self._worker.asking:
            if self._released:
                self.ask(self.current(), "release", {})

    def hold(
        self, program: _Compiled, calls: Sequence[Sequence[np.ndarray]], tolerance: float
    ) -> tuple[Side, int, list[list[Fingerprint]]]:
        """Run a program: the worker that has the results, their handle there, and their fingerprints."""
        call_rows, arrays = xla.pack_calls(calls)
        with self._worker.asking:
            side, handle = program.load()
            results = self.new_handle()
            parameters = {"handle": handle, "calls": call_rows, "results": results, "tolerance": tolerance}
            reply = self.ask(side, "hold", parameters, arrays)
            return side, results, xla.unpack_fingerprints(reply.value)

    def stop(self) -> None:
        """End the worker, whatever it does; the next request starts another one."""
        self._worker.stop()

    def current(self) -> Side:
        """The worker that programs are given to now."""
        return self._worker.current_worker()

    def load(self, request: _Request) -> tuple[Side, int]:
        """Compile in the worker that there is: that worker, and a handle which means something to it alone."""
        with self._worker.asking:
            side, handle = self.current(), self.new_handle()
            self.ask(side, request.method, {"handle": handle, **request.parameters}, request.arrays)
            return side, handle

    def new_handle(self) -> int:
        """A handle for a program, or for results."""
        return next(self._handles)

    def ask_of(self, compiled: _Compiled, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """The reply of a worker to a request about a program that it has compiled, or compiles first."""
        with self._worker.asking:
            side, handle = compiled.load()
            return self.ask(side, method, {"handle": handle, **parameters}, arrays)

    def ask(self, side: Side, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """The reply of a worker, which may be the last thing that it says."""
        self.before_each()
        releases = self._released[:]
        # Not another list: objects are collected in any thread, at any time.
        del self._released[: len(releases)]
        try:
            return side.call(method, {**parameters, "released": releases}, arrays)
        except SideError as error:
            if not error.lost:
                raise UnreadableProgram(error.reason) from error
            raise ProgramLost(f"XLA did not {_DONE.get(method, method)} the program: {error.reason}") from error

    def release(self, handle: int) -> None:
        """Let go of a program or results with the next request: objects may be collected while another is under way."""
        self._released.append(handle)


@dataclass(frozen=True, eq=False)
class _Request:
    """A request that compiles a program in any worker."""

    method: str
    parameters: Parameters
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
        call_rows, arrays = xla.pack_calls(calls)
        reply = self._worker.ask_of(self, "run", {"calls": call_rows}, arrays)
        return xla.unpack_calls(reply.value, reply.arrays)

    def hold(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Held:
        results = _ResultsThere(self._worker, self, calls, tolerance)
        results.load()
        return results

    def fingerprints(self, calls: Sequence[Sequence[np.ndarray]], tolerance: float) -> Sequence[Sequence[Fingerprint]]:
        call_rows, arrays = xla.pack_calls(calls)
        reply = self._worker.ask_of(self, "fingerprint", {"calls": call_rows, "tolerance": tolerance}, arrays)
        return xla.unpack_fingerprints(reply.value)


class _ResultsThere(Held):
    def __init__(
        self, worker: ProgramWorker, program: _Compiled, calls: Sequence[Sequence[np.ndarray]], tolerance: float
    ) -> None:
        self._worker, self._program, self._calls, self._tolerance = worker, program, calls, tolerance
        self._loaded: tuple[Side, int] | None = None
        self._fingerprints: Sequence[Sequence[Fingerprint]] = ()

    @property
    def fingerprints(self) -> Sequence[Sequence[Fingerprint]]:
        return self._fingerprints

    def load(self) -> tuple[Side, int]:
        """The worker that has the results, and their handle there."""
        if self._loaded is None or self._loaded[0] is not self._worker.current():
            side, handle, self._fingerprints = self._worker.hold(self._program, self._calls, self._tolerance)
            self._loaded = side, handle
            weakref.finalize(self, self._worker.release, handle)
        return self._loaded


class _CompiledProgram(_Compiled, Executable):
    @property
    def optimized_module(self) -> bytes:
        return self._worker.ask_of(self, "optimized", {}).arrays[xla.PROGRAM].tobytes()
