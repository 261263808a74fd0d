"""Answers requests by calls of one framework."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from compare.bench import clock, memory, phases, threads
from compare.sides import mapped, wire
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.call_arguments import Leaves, unpack
from compare.sides.methods import Method, ProtocolError
from compare.sides.process_state import ProcessState, watch_package_variables
from compare.sides.replies import Calls, Changed, Load, Loaded, Seen
from workloads.core.spec import Arrays
from workloads.protocol.framework import KernelRun, Prepared, Scalar
from workloads.protocol.layer_calls import LayerCalls
from workloads.protocol.methods import Framework, RemoteMethods
from workloads.protocol.recompiling import Cure, Staging, Watch
from workloads.protocol.recompiling import Seen as SeenHere


class Worker(Host):
    """TensorFlow, JAX or a peer, with one workload loaded."""

    host = "framework"

    def __init__(self, framework: Framework, import_s: float) -> None:
        super().__init__()
        self._framework = framework
        self._import_s, self._load_s = import_s, 0.0
        # Before a twin is built: TensorFlow makes weights and optimizer slots then, JAX when a mode is prepared.
        self._held: int | None = None
        self._prepared: dict[str | int, Prepared] = {}
        self._watch: Watch | None = None
        self._before = frozenset(sys.modules)
        self._state: ProcessState | None = None

    @classmethod
    def _declaring(cls) -> list[type[Any]]:
        return [*super()._declaring(), RemoteMethods]

    def _answer(self, method: Method, arguments: inspect.BoundArguments) -> Reply:
        if hasattr(self, method.name):
            return super()._answer(method, arguments)
        answer = getattr(self._framework, method.name)
        return method.pack_result(answer(*arguments.args, **arguments.kwargs))

    def environment(self) -> dict[str, Scalar]:
        """Report the versions and the device of the side."""
        versions = {"python": sys.version.split()[0], "numpy": importlib.import_module("numpy").__version__}
        return dict(self._framework.environment()) | versions | memory.settings(os.environ)

    def imported(self) -> list[str]:
        """List the paths of the files that the process imported after its framework.

        Files that frameworks write for themselves are left out.
        """
        temporary = os.path.join(os.path.realpath(tempfile.gettempdir()), "")
        later = [module for name, module in list(sys.modules.items()) if name not in self._before]
        places = (vars(module).get("__file__") for module in later if isinstance(module, ModuleType))
        paths = {os.path.realpath(place) for place in places if isinstance(place, str)}
        return sorted(place for place in paths if not place.startswith(temporary))

    def changed(self) -> Changed:
        """Report what user code changed of the state that all code of the process shares."""
        if self._state is None:
            return Changed()
        return Changed(
            tuple(self._state.find_changes(self._framework.settings())), tuple(self._state.find_replacements())
        )

    def load(self, loading: Load, /) -> Loaded:
        """Build the workload, and report the modes of each pass."""
        self._prepared = {}
        arrays = mapped.load(loading.arrays)
        if self._state is None:
            self._state = ProcessState(self._framework.settings(), watch_package_variables())
        self._held = memory.reset_peak_rss()
        start = time.perf_counter()
        facts = self._framework.load(wire.unpack_twin(vars(loading), arrays))
        self._load_s = time.perf_counter() - start
        return Loaded(**facts)

    def layers(self, *arguments: Any) -> tuple[LayerCalls, Arrays]:
        """See the framework; leaves out arrays with dtypes that cannot be sent."""
        calls, arrays = self._framework.layers(*arguments)
        return calls, _sendable(arrays)

    def prepare(self, target: str | int) -> dict[str, int | float | None]:
        """Prepare a target for timing, and report the seconds of each phase and the peak memory.

        Seconds of trace and compile are given where they can be measured apart. The first call is all that a user
        waits for until the first result: trace, compile and run.
        """
        memory.reset_peak_rss()
        ready_call = self._framework.prepare(target)
        with ready_call.around():
            (first_call_s,) = clock.time_calls(ready_call.call, 1)
            clock.time_calls(ready_call.call, 1)
        first_call_s += (ready_call.trace_s or 0.0) + (ready_call.lower_s or 0.0) + (ready_call.compile_s or 0.0)
        self._prepared[target] = ready_call
        return {
            "first_call_s": first_call_s,
            "trace_s": ready_call.trace_s,
            "lower_s": ready_call.lower_s,
            "compile_s": ready_call.compile_s,
            "peak_rss_bytes": memory.peak_rss_bytes(),
        }

    def phases(self, target: str | int) -> dict[str, Any]:
        """Measure seconds and memory of every phase, in a process that did nothing else.

        compare.bench.phases puts them together. The framework analyses last: that compiles again, and would count as
        time and memory of the target.
        """
        memory.reset_peak_rss()
        ready_call = self._framework.prepare(target)
        with ready_call.around():
            run_s, second_s = clock.time_calls(ready_call.call, 2)
            steady = clock.time_calls(ready_call.call, phases.steady_calls(second_s))
            steady = [seconds / ready_call.steps for seconds in steady]
        peak = memory.peak_rss_bytes()
        return {
            "import_s": self._import_s,
            "load_s": self._load_s,
            "trace_s": ready_call.trace_s,
            "lower_s": ready_call.lower_s,
            "compile_s": ready_call.compile_s,
            "run_s": run_s,
            "steady_s": statistics.median(steady),
            "baseline_rss_bytes": self._held,
            "peak_rss_bytes": peak,
            "analysis": dataclasses.asdict(ready_call.analyse()),
        }

    def dispatch(self, calls: Calls) -> dict[str, dict[str, float | None]]:
        """Measure by mode the seconds of an almost empty call: by the public entry, and of compiled code alone."""

        def median_s(call: Callable[[], object]) -> float:
            clock.time_calls(call, calls // 10)
            return statistics.median(clock.time_calls(call, calls))

        return {
            mode: {
                "public_s": median_s(entry.public),
                "concrete_s": median_s(entry.concrete) if entry.concrete else None,
            }
            for mode, entry in self._framework.dispatch().items()
        }

    def round(self, target: str | int, calls: Calls, slowdown: float) -> list[float]:
        """Measure the seconds of each of some calls of a prepared target.

        Args:
          slowdown: the part of its time by which each call is slowed.
        """
        ready_call = self._prepared[target]
        call = clock.slow_down(ready_call.call, slowdown) if slowdown else ready_call.call
        with ready_call.around():
            return [seconds / ready_call.steps for seconds in clock.time_calls(call, calls)]

    def counters(self, target: str | int, calls: Calls) -> dict[str, int]:
        """Count page faults over calls of a prepared target, for each of their steps."""
        ready_call = self._prepared[target]
        with ready_call.around():
            before = memory.counters()
            clock.time_calls(ready_call.call, calls)
            after = memory.counters()
        return {name: (after[name] - count) // ready_call.steps for name, count in before.items()}

    def threads(self, target: str | int, calls: Calls) -> list[float]:
        """Measure the seconds of processor time of each thread in some calls of a target, most first."""
        ready_call = self._prepared[target]
        before = threads.cpu_seconds()
        with ready_call.around():
            clock.time_calls(ready_call.call, calls)
        return threads.seconds_spent(before, threads.cpu_seconds())

    def processors(self) -> list[int]:
        """List the numbers of the processors that any thread of the worker may run on."""
        return threads.allowed_processors()

    def watch(
        self, target: str, static: tuple[str, ...], cure: Cure, dynamic: tuple[str, ...], signature: Leaves
    ) -> str:
        """Stage a function to watch its calls, and report how it was staged.

        Args:
          dynamic: arguments that are no longer static.
        """
        staging = Staging(target, static, cure, dynamic, unpack(signature, {}))
        self._watch = self._framework.watch(staging)
        return self._watch.describe()

    def watched_call(self, arguments: Leaves, sent: Arrays) -> tuple[Seen, Arrays]:
        """Call the watched function, and report what the framework traced and compiled."""
        return _pack_seen(self._current_watch().call(unpack(arguments, sent)))

    def probe(self, before: Leaves, after: Leaves, body: bool, sent: Arrays) -> Seen:
        """Report what a call traces and compiles when the cache holds only another call.

        Args:
          before: the arguments of the call that fills the cache.
          after: those of the call that is watched.
          body: whether the function's own body is run.
        """
        observation = self._current_watch().probe(unpack(before, sent), unpack(after, sent), body)
        return _pack_seen(observation)[0]

    def attempt(
        self, target: str, mode: str, arguments: Leaves, sent: Arrays
    ) -> tuple[Sequence[Sequence[KernelRun]], Arrays]:
        """Return the results of a function in a mode, and the nodes that clustered calls ran.

        Args:
          mode: "eager", "autocluster" or "jit".
          arguments: of the function, in order.
        """
        trial = self._framework.attempt(target, mode, unpack(arguments, sent))
        return trial.calls, trial.outputs

    def _current_watch(self) -> Watch:
        if self._watch is None:
            raise ProtocolError("expected a function that is watched, found none: ask `watch` first")
        return self._watch


def _pack_seen(observation: SeenHere) -> tuple[Seen, Arrays]:
    counts = {
        field.name: getattr(observation, field.name)
        for field in dataclasses.fields(observation)
        if field.name != "outputs"
    }
    return Seen(**counts, held_bytes=memory.own_bytes()), _sendable(observation.outputs)


def _sendable(arrays: Arrays) -> Arrays:
    return {name: array for name, array in arrays.items() if array.dtype.name in wire.DTYPES}
