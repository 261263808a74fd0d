"""Answers requests by calls of one framework."""

from __future__ import annotations

import dataclasses
import importlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from types import ModuleType

import msgspec

from compare.bench import clock, memory, phases, threads
from compare.sides import mapped, wire
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.call_arguments import unpacked
from compare.sides.parameters import (
    Attempt,
    CallCount,
    Compile,
    Execute,
    Handle,
    LayersOf,
    Load,
    Lowering,
    Nothing,
    Offer,
    Outputs,
    Pass,
    Probe,
    Rewriting,
    RewritingCase,
    Round,
    Saving,
    Target,
    TargetCalls,
    Trajectory,
    Unroll,
    WatchedCall,
    Watching,
)
from compare.sides.process_state import ProcessState
from compare.sides.protocol import ProtocolError
from workloads._framework import Framework, Prepared
from workloads._recompiling import Seen, Staging, Watch
from workloads._spec import Arrays


class Worker(Host):
    """Turns requests into calls of one framework."""

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

    def environment(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """Versions and device of this side, and what its process was told of memory."""
        versions = {"python": sys.version.split()[0], "numpy": importlib.import_module("numpy").__version__}
        return Reply(dict(self._framework.environment()) | versions | memory.settings(os.environ))

    def imported(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """Files of the modules that came after the framework; those that frameworks write for themselves left out."""
        written = os.path.join(os.path.realpath(tempfile.gettempdir()), "")
        later = [module for name, module in list(sys.modules.items()) if name not in self._before]
        places = (vars(module).get("__file__") for module in later if isinstance(module, ModuleType))
        paths = {os.path.realpath(place) for place in places if isinstance(place, str)}
        return Reply(sorted(place for place in paths if not place.startswith(written)))

    def changed(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """What all code of this process shares, and is another one since the first workload was loaded."""
        if self._state is None:
            return Reply({"shared": [], "replaced": []})
        return Reply({"shared": self._state.changed(self._framework.settings()), "replaced": self._state.replaced()})

    def load(self, parameters: Load, arrays: Arrays) -> Reply:
        """Build the twin on the arrays of a file."""
        self._prepared = {}
        packed = mapped.load(parameters.arrays)
        self._state = self._state or ProcessState(self._framework.settings())
        self._held = memory.reset_peak_rss()
        start = time.perf_counter()
        modes = self._framework.load(wire.unpack_twin(msgspec.structs.asdict(parameters), packed))
        self._load_s = time.perf_counter() - start
        return Reply(modes)

    def outputs(self, parameters: Outputs, arrays: Arrays) -> Reply:
        """One pass in one mode; arrays that are sent stand in place of those of the case."""
        return Reply(arrays=self._framework.outputs(*msgspec.structs.astuple(parameters), sent=arrays or None))

    def trajectory(self, parameters: Trajectory, arrays: Arrays) -> Reply:
        """A training run in one mode; arrays that are sent are the weights that it goes on from."""
        return Reply(arrays=self._framework.trajectory(*msgspec.structs.astuple(parameters), guide=arrays or None))

    def layers(self, parameters: LayersOf, arrays: Arrays) -> Reply:
        """What each layer was given and gave."""
        calls, values = self._framework.layers(
            parameters.pass_, parameters.case, parameters.dtype, parameters.given, arrays
        )
        travelling = {name: value for name, value in values.items() if value.dtype.name in wire.DTYPES}
        return Reply(msgspec.to_builtins(calls), travelling)

    def program(self, parameters: Lowering, arrays: Arrays) -> Reply:
        """What the frontend hands to XLA."""
        return wire.pack_program(self._framework.program(*msgspec.structs.astuple(parameters)))

    def stages(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """The main pass as text at every stage."""
        return Reply(self._framework.stages())

    def compile(self, parameters: Compile, arrays: Arrays) -> Reply:
        """Compile a program of either side."""
        program = wire.unpack_program(Reply(msgspec.to_builtins(parameters), arrays))
        return Reply(vars(self._framework.compile(program, parameters.options)))

    def optimized(self, parameters: Handle, arrays: Arrays) -> Reply:
        """What XLA made of a compiled program."""
        return wire.pack_optimized(self._framework.optimized(*msgspec.structs.astuple(parameters)))

    def save_model(self, parameters: Saving, arrays: Arrays) -> Reply:
        """A compiled program as a SavedModel."""
        self._framework.save_model(parameters.handle, parameters.folder)
        return Reply()

    def serialized(self, parameters: Pass, arrays: Arrays) -> Reply:
        """A pass in the form of jax.export."""
        return wire.pack_bytes("exported", self._framework.serialized(parameters.pass_))

    def execute(self, parameters: Execute, arrays: Arrays) -> Reply:
        """Run a compiled program."""
        return Reply(arrays=self._framework.execute(*msgspec.structs.astuple(parameters)))

    def unroll(self, parameters: Unroll, arrays: Arrays) -> Reply:
        """A training run of a compiled step program; arrays that are sent are the weights that it goes on from."""
        return Reply(arrays=self._framework.unroll(*msgspec.structs.astuple(parameters), guide=arrays or None))

    def offer(self, parameters: Offer, arrays: Arrays) -> Reply:
        """Make a mode more, of compiler options."""
        self._framework.offer(*msgspec.structs.astuple(parameters))
        return Reply()

    def digest(self, parameters: Target, arrays: Arrays) -> Reply:
        """What the compiler makes of the main pass in a mode, or made of a compiled program."""
        return Reply(self._framework.digest(*msgspec.structs.astuple(parameters)))

    def profile(self, parameters: Target, arrays: Arrays) -> Reply:
        """The kernels that each of some warm calls ran."""
        calls = self._framework.profile(parameters.target)
        return Reply([[dataclasses.astuple(kernel) for kernel in call] for call in calls])

    def clustered(self, parameters: Pass, arrays: Arrays) -> Reply:
        """A pass with autoclustering, and the nodes that it ran."""
        clustered = self._framework.clustered(parameters.pass_)
        calls = [[dataclasses.astuple(node) for node in call] for call in clustered.calls]
        return Reply({"function": clustered.function, "calls": calls, "sources": dict(clustered.sources)})

    def rewritten(self, parameters: Rewriting, arrays: Arrays) -> Reply:
        """A graph after the optimizer."""
        return Reply(dataclasses.asdict(self._framework.rewritten(parameters.pass_, parameters.options)))

    def outputs_with(self, parameters: RewritingCase, arrays: Arrays) -> Reply:
        """One pass with switches of the graph optimizer set."""
        return Reply(arrays=self._framework.outputs_with(parameters.pass_, parameters.case, parameters.options))

    def donation(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """The compiled training step, and what it may overwrite."""
        return wire.pack_donation(self._framework.donation())

    def prepare(self, parameters: Target, arrays: Arrays) -> Reply:
        """Make a target ready to be timed; seconds of trace and compile where they can be told apart, and peak memory.

        The first call is all that a user waits for until the first result: trace, compile and run.
        """
        memory.reset_peak_rss()
        prepared = self._framework.prepare(parameters.target)
        with prepared.around():
            (first_call_s,) = clock.time_calls(prepared.call, 1)
            clock.time_calls(prepared.call, 1)
        first_call_s += (prepared.trace_s or 0.0) + (prepared.lower_s or 0.0) + (prepared.compile_s or 0.0)
        self._prepared[parameters.target] = prepared
        return Reply(
            {
                "first_call_s": first_call_s,
                "trace_s": prepared.trace_s,
                "lower_s": prepared.lower_s,
                "compile_s": prepared.compile_s,
                "peak_rss_bytes": memory.peak_rss_bytes(),
            }
        )

    def phases(self, parameters: Target, arrays: Arrays) -> Reply:
        """What one target costs this process, for compare.bench.phases to put together.

        Means nothing but in a process that has done nothing else. The framework is asked to analyse
        last: that compiles again, and would count as time and memory of the target.
        """
        memory.reset_peak_rss()
        prepared = self._framework.prepare(parameters.target)
        with prepared.around():
            run_s, second_s = clock.time_calls(prepared.call, 2)
            steady = clock.time_calls(prepared.call, phases.steady_calls(second_s))
            steady = [seconds / prepared.steps for seconds in steady]
        peak = memory.peak_rss_bytes()
        return Reply(
            {
                "import_s": self._import_s,
                "load_s": self._load_s,
                "trace_s": prepared.trace_s,
                "lower_s": prepared.lower_s,
                "compile_s": prepared.compile_s,
                "run_s": run_s,
                "steady_s": statistics.median(steady),
                "baseline_rss_bytes": self._held,
                "peak_rss_bytes": peak,
                "analysis": dataclasses.asdict(prepared.analyse()),
            }
        )

    def dispatch(self, parameters: CallCount, arrays: Arrays) -> Reply:
        """By mode, seconds of one call of next to no work: the public entry, and the compiled code itself."""
        calls = parameters.calls

        def median_s(call: Callable[[], object]) -> float:
            clock.time_calls(call, calls // 10)
            return statistics.median(clock.time_calls(call, calls))

        return Reply(
            {
                mode: {
                    "public_s": median_s(entry.public),
                    "concrete_s": median_s(entry.concrete) if entry.concrete else None,
                }
                for mode, entry in self._framework.dispatch().items()
            }
        )

    def round(self, parameters: Round, arrays: Arrays) -> Reply:
        """Seconds of a step in each of a number of calls of a prepared target, slowed by a known part where asked."""
        prepared = self._prepared[parameters.target]
        call = clock.slowed(prepared.call, parameters.slowdown) if parameters.slowdown else prepared.call
        with prepared.around():
            return Reply([seconds / prepared.steps for seconds in clock.time_calls(call, parameters.calls)])

    def counters(self, parameters: TargetCalls, arrays: Arrays) -> Reply:
        """By name, what this process counted over some calls of a prepared target, for each of their steps."""
        prepared = self._prepared[parameters.target]
        with prepared.around():
            before = memory.counters()
            clock.time_calls(prepared.call, parameters.calls)
            after = memory.counters()
        return Reply({name: (after[name] - count) // prepared.steps for name, count in before.items()})

    def threads(self, parameters: TargetCalls, arrays: Arrays) -> Reply:
        """Seconds of processor time of each thread over some calls of a prepared target, most first."""
        prepared = self._prepared[parameters.target]
        before = threads.cpu_seconds()
        with prepared.around():
            clock.time_calls(prepared.call, parameters.calls)
        return Reply(threads.spent(before, threads.cpu_seconds()))

    def processors(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """Numbers of the processors that any thread of this process may run on."""
        return Reply(threads.allowed_processors())

    def watch(self, parameters: Watching, arrays: Arrays) -> Reply:
        """Stage a function whose calls are watched."""
        signature = unpacked(parameters.signature, {})
        staging = Staging(parameters.target, parameters.static, parameters.cure, parameters.dynamic, signature)
        self._watch = self._framework.watch(staging)
        return Reply(self._watch.described())

    def watched_call(self, parameters: WatchedCall, arrays: Arrays) -> Reply:
        """Call the watched function."""
        return _told(self._watched().call(unpacked(parameters.arguments, arrays)))

    def probe(self, parameters: Probe, arrays: Arrays) -> Reply:
        """What a call does in a cache that holds another one alone."""
        before, after = unpacked(parameters.before, arrays), unpacked(parameters.after, arrays)
        return Reply(_told(self._watched().probe(before, after, parameters.body)).value)

    def attempt(self, parameters: Attempt, arrays: Arrays) -> Reply:
        """Call a function in a mode."""
        arguments = unpacked(parameters.arguments, arrays)
        attempted = self._framework.attempt(parameters.target, parameters.mode, arguments)
        return Reply([[dataclasses.astuple(node) for node in call] for call in attempted.calls], attempted.outputs)

    def _watched(self) -> Watch:
        if self._watch is None:
            raise ProtocolError("expected a function that is watched, found none: ask `watch` first")
        return self._watch


def _told(seen: Seen) -> Reply:
    value = {field.name: getattr(seen, field.name) for field in dataclasses.fields(seen) if field.name != "outputs"}
    kept = {name: array for name, array in seen.outputs.items() if array.dtype.name in wire.DTYPES}
    return Reply(value | {"held_bytes": memory.own_bytes()}, kept)
