"""Profile a program of `jaxport compilation launch --profile` from inside, and note the lines of traced functions.

It is copied out as sitecustomize.py and runs in Python and TensorFlow of anybody's: it imports nothing of jaxport,
prints nothing, and whatever fails in it leaves its reason in a file and the program alone.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

HERE = os.path.dirname(os.path.realpath(__file__))
SECONDS = "JAXPORT_PROFILE_SECONDS"
FRAMES = "_jaxport_frames"
"""The module beside this one that tells a user's file from a framework's."""

_BRANCHES = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"})
_MOST_DEPTH = 20


def enter() -> None:
    """Wait for TensorFlow to be imported; then run the sitecustomize that this one stands before."""
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != HERE]
    sys.meta_path.insert(0, _WhenImported())
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


class _WhenImported:
    """Finds TensorFlow as Python would, and has it observed once it is imported, however often it is looked for."""

    def __init__(self) -> None:
        self.observed = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """The spec of TensorFlow; None of anything else."""
        if name != "tensorflow" or self.observed:
            return None
        specs: list[Any] = []
        _carefully("profile", _own_folder(), lambda: specs.append(self._find(name, path, target)))
        return specs[0] if specs else None

    def _find(self, name: str, path: object, target: object) -> Any:
        others = [finder.find_spec for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        spec = next(filter(None, (find(name, path, target) for find in others)), None)  # type: ignore[arg-type]
        execute = getattr(spec and spec.loader, "exec_module", None)
        # A loader may be handed out again, as that of a zip is.
        if spec is not None and execute is not None and not isinstance(execute, _Executed):
            spec.loader.exec_module = _Executed(execute, self)  # type: ignore[method-assign, union-attr]
        return spec


class _Executed:
    """Executes a module as its loader does, and has TensorFlow observed then."""

    def __init__(self, execute: Callable[[Any], None], finder: _WhenImported) -> None:
        self._execute, self._finder = execute, finder

    def __call__(self, module: Any) -> None:
        self._execute(module)
        if not self._finder.observed and module.__name__ == "tensorflow":
            self._finder.observed = True
            _carefully("profile", _own_folder(), lambda: self._observe(module))

    def _observe(self, module: Any) -> None:
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)  # type: ignore[arg-type]
        _Observer(module).begin()


class _Observer:
    """Profiles one process, and notes the lines of each function that it traces."""

    def __init__(self, tensorflow: Any) -> None:
        self._tensorflow = tensorflow
        self._profiler: Any = None
        self._process = os.getpid()
        self._folder = _own_folder()
        self._lock = threading.Lock()
        self._running = False
        self._begun = 0.0
        self._given: dict[str, Any] = {}
        self._open: dict[int, int] = {}

    def begin(self) -> None:
        """Until the program ends, some seconds have passed, or it profiles itself."""
        self._carefully("lines", self._note_lines)
        self._carefully("profile", self._start)

    def _start(self) -> None:
        self._profiler = self._tensorflow.profiler.experimental
        quiet = self._profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0, device_tracer_level=0)
        self._profiler.start(self._folder, quiet)
        self._running, self._begun = True, time.monotonic()
        # TensorFlow has one profiler: a program that has use for it itself finds it free.
        implementation = sys.modules[self._profiler.start.__module__]
        for name in ("start", "stop"):
            self._given[name] = getattr(self._profiler, name)
            for place in (self._profiler, implementation):
                setattr(place, name, self._yielding(name))
        atexit.register(self._carefully, "profile", self._stop)
        timer = threading.Timer(float(os.environ[SECONDS]), self._carefully, ("profile", self._stop))
        timer.daemon = True
        timer.start()

    def _yielding(self, name: str) -> Callable[..., Any]:
        def own(*positional: Any, **keywords: Any) -> Any:
            self._carefully("profile", self._stop)
            return self._given[name](*positional, **keywords)

        return own

    def _stop(self) -> None:
        with self._lock:
            if not self._running or os.getpid() != self._process:
                return
            self._running = False
            seconds = time.monotonic() - self._begun
            for place in (self._profiler, sys.modules[self._given["start"].__module__]):
                for name, function in self._given.items():
                    setattr(place, name, function)
            self._given["stop"]()
            _write(self._folder, "profiled", {"seconds": seconds})

    def _note_lines(self) -> None:
        frames = importlib.util.spec_from_file_location(FRAMES, os.path.join(HERE, f"{FRAMES}.py"))
        module = importlib.util.module_from_spec(frames)  # type: ignore[arg-type]
        frames.loader.exec_module(module)  # type: ignore[union-attr]
        graphs = self._tensorflow.__internal__.FuncGraph
        as_default = graphs.as_default

        def note(graph: Any) -> Any:
            def tell(change: int) -> None:
                self._carefully("lines", lambda: self._enter(graph, change, graphs, module))

            return _Noted(as_default(graph), tell)

        graphs.as_default = note

    def _enter(self, graph: Any, change: int, graphs: Any, frames: Any) -> None:
        """A graph is entered many times while it is traced; it is complete when it is left for the last time."""
        depth = self._open[id(graph)] = self._open.get(id(graph), 0) + change
        if depth == 0:
            del self._open[id(graph)]
            if not isinstance(graph.outer_graph, graphs):
                self._lines(graph, frames)

    def _lines(self, graph: Any, frames: Any) -> None:
        lines = dict(_name_operations(graph, "", "", frames, _MOST_DEPTH))
        _write(self._folder, "lines", {"function": graph.name, "lines": lines})

    def _carefully(self, what: str, act: Callable[[], None]) -> None:
        _carefully(what, self._folder, act)


def _own_folder() -> str:
    return os.path.join(HERE, str(os.getpid()))


def _write(folder: str, name: str, content: object) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{name}.jsonl"), "a") as file:
        file.write(json.dumps(content) + "\n")


def _carefully(what: str, folder: str, act: Callable[[], None]) -> None:
    """Do something. The program has to go on as if nothing were observed, whatever fails, a full disk too."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 - as above
        # If this cannot be written either, the caller reports that nothing was written.
        with contextlib.suppress(Exception):
            _write(folder, "reasons", {"what": what, "reason": f"{type(error).__name__}: {error}"})


class _Noted:
    """A context that reports its beginning and end, and leaves nothing on the call stack of its block."""

    def __init__(self, inner: Any, tell: Callable[[int], None]) -> None:
        self._inner, self._tell = inner, tell

    def __enter__(self) -> Any:
        self._tell(1)
        return self._inner.__enter__()

    def __exit__(self, *error: object) -> Any:
        result = self._inner.__exit__(*error)
        self._tell(-1)
        return result


def _name_operations(graph: Any, calls: str, caller: str, frames: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Every operation under the name that it has once what calls it is inlined, and the user's line behind it."""
    for operation in graph.get_operations():
        line = _users_line(operation, frames) or caller
        if line:
            yield calls + operation.name, line
        inner = calls if operation.type in _BRANCHES else f"{calls}{operation.name}/"
        for callee in _callees(graph, operation) if depth else ():
            yield from _name_operations(callee, inner, line, frames, depth - 1)


def _users_line(operation: Any, frames: Any) -> str:
    for frame in reversed(list(operation.traceback or ())):
        if not frames.is_framework(frame.filename) and not frame.filename.startswith(HERE):
            return f"{os.path.realpath(frame.filename)}:{frame.lineno}"
    return ""


def _callees(graph: Any, operation: Any) -> Iterator[Any]:
    for value in operation.node_def.attr.values():
        for function in [value.func, *value.list.func]:
            function_called = graph._get_function(function.name) if function.name else None
            callee = getattr(function_called, "graph", None)
            if callee is not None:
                yield callee


if __name__ == "sitecustomize":
    enter()
