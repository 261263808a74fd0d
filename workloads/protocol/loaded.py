"""The loaded twin of a side: sessions, functions staged for a mode, compiled programs."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

from workloads.protocol.framework import FORWARD, STEP, Compiled, Program, Twin


class Model(Protocol):
    """The model of a twin, as far as it is the same on both sides."""

    @property
    def step(self) -> Callable[..., Any] | None:
        """One training step; None of a twin that does not train."""
        ...


class Session(Protocol):
    """A twin built in one float type."""

    dtype: str

    @property
    def twin(self) -> Twin:
        """The twin that was built."""
        ...

    @property
    def model(self) -> Model:
        """The model of the twin."""
        ...


OneSession = TypeVar("OneSession", bound=Session)
Executable = TypeVar("Executable")


class Loaded(Generic[OneSession, Executable]):
    """The twin that is loaded, with what was made of it so far."""

    def __init__(self, build: Callable[[Twin, str, bool], OneSession], clear: Callable[[], object] | None) -> None:
        """Nothing is loaded yet.

        Args:
          build: makes a session of a twin and a float type ("float32", "float64"). Where the third argument holds,
            it also runs the module again that the twin is imported from.
          clear: empties what the framework itself keeps of functions that were traced; None where these are not the
            twin's alone.
        """
        self._build, self._clear = build, clear
        self._twin: Twin | None = None
        self._sessions: dict[str, OneSession] = {}
        self._functions: dict[tuple[str, str, str], Any] = {}
        self._programs: list[tuple[Program, Executable]] = []
        self.executables: dict[Hashable, tuple[Executable, float]] = {}
        """Executables with their compile seconds, by the program's bytes and the options."""

    @property
    def twin(self) -> Twin:
        """The twin that is loaded."""
        if self._twin is None:
            raise RuntimeError("no workload is loaded")
        return self._twin

    def load(self, twin: Twin) -> None:
        """Let go of the twin before and of all that was made of it, and hold this one."""
        self._sessions, self._functions, self._programs, self.executables = {}, {}, [], {}
        # A process that has loaded nothing has nothing to forget, and is timed while it loads.
        if self._twin is not None and self._clear is not None:
            self._clear()
            release()
        self._twin = twin

    def session(self, dtype: str) -> OneSession:
        """The twin in one float type, built when it is first asked for."""
        if dtype not in self._sessions:
            self._sessions[dtype] = self._build(self.twin, dtype, False)
        return self._sessions[dtype]

    def anew(self, dtype: str) -> OneSession:
        """The twin built once more, beside the session that is kept; its module is run again."""
        return self._build(self.twin, dtype, True)

    def rebuild(self) -> list[OneSession]:
        """Build every session anew, and forget the functions of those before."""
        self._functions = {}
        self._sessions = {dtype: self.anew(dtype) for dtype in self._sessions}
        return list(self._sessions.values())

    def function(self, dtype: str, pass_: str, mode: str, stage: Callable[[], Any]) -> Any:
        """The function of a pass as a mode runs it, staged when it is first asked for.

        Args:
          dtype: of the session, "float32" or "float64".
          pass_: "forward", "gradients" or "step".
        """
        key = (dtype, pass_, mode)
        if key not in self._functions:
            self._functions[key] = stage()
        return self._functions[key]

    def replace(self, dtype: str, pass_: str, mode: str, function: Any) -> Any:
        """Hold this function from now on, and return it.

        Args:
          dtype: of the session, "float32" or "float64".
          pass_: "forward", "gradients" or "step".
        """
        self._functions[dtype, pass_, mode] = function
        return function

    def drop(self, mode: str) -> None:
        """Forget the functions of a mode."""
        self._functions = {key: function for key, function in self._functions.items() if key[-1] != mode}

    def keep(self, program: Program, executable: Executable, compile_s: float) -> Compiled:
        """Hold a compiled program under a handle of its own; `compile_s` is in seconds.

        Args:
          compile_s: seconds that compiling took.
        """
        self._programs.append((program, executable))
        return Compiled(len(self._programs) - 1, compile_s)

    def compiled(self, handle: int) -> tuple[Program, Executable]:
        """The program of a handle, and what runs it."""
        return self._programs[handle]


def main_pass(session: Session) -> str:
    """The pass that is compiled, profiled and timed."""
    return session.twin.main_pass or (FORWARD if session.model.step is None else STEP)


def release() -> None:
    """Collect cycles, which graphs and traced functions are, and hand free pages back to the system where it can be."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # glibc alone has it
        trim(0)
