"""The requests that a side answers, as typed functions over its one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from compare.sides import wire
from compare.sides._side import Side, SideError
from compare.sides.call_arguments import packed
from compare.sides.replies import Changed, Rewritten, Seen
from compare.sides.workers import WorkerSet
from workloads._framework import Attempted, Clustered, Compiled, Donation, KernelRun, Optimized, Platform, Program
from workloads._layer_calls import Given, LayerCalls
from workloads._recompiling import Named, Staging
from workloads._rewriting import OptimizerOptions
from workloads._spec import Arrays, Dimensions

Modes = Mapping[str, Sequence[str]]

TWINS = ("tf_reference.", "jaxport.")
"""What the names of the built-in workloads' functions begin with."""


@dataclasses.dataclass(frozen=True)
class Loading:
    """A workload as both sides are told of it; `target` is each side's own.

    `main_pass` is what is compiled, profiled and timed; empty: the training step, or else the forward pass.
    `unrolled` steps in one program are a pass of their own; 0: there is none.
    """

    workload: str
    targets: Mapping[str, str]
    builds: bool
    dimensions: Dimensions
    inputs: tuple[str, ...]
    cases: tuple[str, ...]
    arrays: Path
    sha256: str
    main_pass: str = ""
    unrolled: int = 0

    @property
    def is_built_in(self) -> bool:
        """Whether both functions are jaxport's own: no file of a user's runs."""
        return all(target.startswith(TWINS) for target in self.targets.values())


def environment(side: Side) -> dict[str, Any]:
    """Versions and device."""
    return side.call("environment", {}).value


def imported(side: Side) -> list[str]:
    """Paths of the files that the side has imported since its framework was there: the user's, and what these need."""
    return side.call("imported", {}).value


def versions(workers: WorkerSet) -> dict[str, str]:
    """By package, of the sides that come up."""
    by_package: dict[str, str] = {}
    for side, packages in (("tf", ("tensorflow",)), ("jax", ("jax", "jaxlib"))):
        try:
            told = environment(workers.get(side))
        except SideError:
            continue  # what was asked of it says why
        by_package |= {package: str(told[package]) for package in packages if package in told}
    return by_package


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A twin that was built: the modes of each pass, and the compiler options that mode `tuned` runs with."""

    modes: Modes
    compiler_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def changed(side: Side) -> Changed:
    """What user code has changed of what all code of the side's process shares; nothing where it has no process."""
    return msgspec.convert(side.call("changed", {}).value, Changed)


def load(side: Side, loading: Loading) -> Modes:
    """Build the twin; the modes of each pass that it has."""
    return loaded(side, loading).modes


def loaded(side: Side, loading: Loading) -> Loaded:
    """Build the twin; all that it says of itself."""
    parameters = dataclasses.asdict(loading) | {
        "target": loading.targets[side.name],
        "dimensions": dict(loading.dimensions),
        "arrays": str(loading.arrays),
    }
    del parameters["targets"]
    said = side.call("load", parameters).value
    return Loaded(said["modes"], said.get("compiler_options", {}))


def outputs(side: Side, mode: str, pass_: str, case: str, dtype: str, sent: Arrays | None = None) -> Arrays:
    """What a pass returns.

    Args:
      side: whose function it is.
      mode: one of the pass.
      pass_: "forward", "gradients" or "step".
      case: whose inputs and weights are used.
      dtype: "float32" or "float64".
      sent: inputs and weights in place of those of the case, by name.
    """
    return side.call("outputs", {"mode": mode, "pass_": pass_, "case": case, "dtype": dtype}, sent).arrays


def trajectory(side: Side, mode: str, dtype: str, checkpoints: Sequence[int], guide: Arrays | None = None) -> Arrays:
    """A training run: "loss" and "weights@STEP/PATH".

    Args:
      side: whose step it is.
      mode: one of the step.
      dtype: "float32" or "float64".
      checkpoints: after how many steps the weights are kept.
      guide: such weights of another run, which this one goes on from; None lets it go on from its own.
    """
    return side.call("trajectory", {"mode": mode, "dtype": dtype, "checkpoints": list(checkpoints)}, guide).arrays


def layers(
    side: Side, pass_: str, case: str, dtype: str, given: Sequence[Given] = (), sent: Arrays | None = None
) -> tuple[LayerCalls, Arrays]:
    """What each layer of a model was given and gave in a pass, run op by op.

    Args:
      side: whose layers.
      pass_: "forward", or "gradients" with those of all that layers were given and gave.
      case: whose inputs and weights are used.
      dtype: "float32" or "float64".
      given: what calls of the port are given besides.
      sent: the arrays of these.
    """
    parameters = {"pass_": pass_, "case": case, "dtype": dtype, "given": msgspec.to_builtins(tuple(given))}
    reply = side.call("layers", parameters, sent)
    return msgspec.convert(reply.value, LayerCalls), reply.arrays


def program(side: Side, pass_: str, dtype: str, platform: Platform = "cpu") -> Program:
    """What the frontend hands to XLA, for a device of this platform, which need not be here."""
    parameters = {"pass_": pass_, "dtype": dtype} | ({} if platform == "cpu" else {"platform": platform})
    return wire.unpack_program(side.call("program", parameters))


def compile_program(side: Side, program: Program, options: Mapping[str, Any] | None = None) -> Compiled:
    """Compile any program by this side's XLA.

    Args:
      side: whose XLA.
      program: of either side.
      options: XLA's debug options by name; JAX alone takes any.

    Raises:
      SideError: XLA does not take the program or an option, or the compiler took its process with it.
    """
    packed = wire.pack_program(dataclasses.replace(program, sources={}))
    # Left out where there are none: a recorded side is asked what it was asked when it was recorded.
    asked = packed.value | ({"options": dict(options)} if options else {})
    return Compiled(**side.call("compile", asked, packed.arrays).value)


def optimized(side: Side, handle: int) -> Optimized:
    """What XLA made of a compiled program."""
    return wire.unpack_optimized(side.call("optimized", {"handle": handle}))


def save_model(side: Side, handle: int, folder: Path) -> None:
    """Write a compiled program as a SavedModel, its weights as variables."""
    side.call("save_model", {"handle": handle, "folder": str(folder)})


def serialized(side: Side, pass_: str) -> bytes:
    """A pass in the form of jax.export, in float32."""
    return side.call("serialized", {"pass_": pass_}).arrays["exported"].tobytes()


def execute(side: Side, handle: int, case: str) -> Arrays:
    """Run a compiled program on the arrays of a case."""
    return side.call("execute", {"handle": handle, "case": case}).arrays


def unroll(side: Side, handle: int, checkpoints: Sequence[int], guide: Arrays | None = None) -> Arrays:
    """A training run of a compiled step program: "loss" and "weights@STEP/PATH"; see `trajectory`."""
    return side.call("unroll", {"handle": handle, "checkpoints": list(checkpoints)}, guide).arrays


def offer(side: Side, mode: str, options: Mapping[str, Any]) -> None:
    """Make a mode more, compiled with these options, until something else is loaded.

    Raises:
      Unavailable: the compiler does not take one of them.
    """
    side.call("offer", {"mode": mode, "options": dict(options)})


def digest(side: Side, target: str | int) -> str:
    """What the compiler makes of the main pass in a mode, or made of a compiled program.

    Equal where the code is, "" where that cannot be told.
    """
    return side.call("digest", {"target": target}).value


def profile(side: Side, target: str | int) -> list[list[KernelRun]]:
    """Kernels that each of some warm calls ran, in order."""
    calls = side.call("profile", {"target": target}).value
    return [[KernelRun(*kernel) for kernel in call] for call in calls]


def clustered(side: Side, pass_: str) -> Clustered:
    """A pass with autoclustering; what the worker logs and dumps meanwhile is its settings' matter."""
    said = side.call("clustered", {"pass_": pass_}).value
    calls = [[KernelRun(*node) for node in call] for call in said["calls"]]
    return Clustered(said["function"], calls, said["sources"])


def rewritten(side: Side, pass_: str, options: OptimizerOptions) -> Rewritten:
    """The graph of a pass after the optimizer, with switches that it did not run with before."""
    return msgspec.convert(side.call("rewritten", {"pass_": pass_, "options": dict(options)}).value, Rewritten)


def outputs_with(side: Side, pass_: str, case: str, options: OptimizerOptions) -> Arrays:
    """What a pass returns with switches of the graph optimizer set.

    Args:
      side: TensorFlow.
      pass_: of the loaded workload.
      case: whose inputs and weights are used.
      options: the switches.
    """
    return side.call("outputs_with", {"pass_": pass_, "case": case, "options": dict(options)}).arrays


def stages(side: Side) -> dict[str, str]:
    """The main pass as the framework writes it at every stage: texts for people, never parsed."""
    return side.call("stages", {}).value


def donation(side: Side) -> Donation:
    """The training step compiled as users run it, and what it may overwrite."""
    return wire.unpack_donation(side.call("donation", {}))


def prepare(side: Side, target: str | int) -> dict[str, Any]:
    """first_call_s, trace_s, lower_s, compile_s, peak_rss_bytes of a target that is then ready to be timed."""
    return side.call("prepare", {"target": target}).value


def phases(side: Side, target: str | int) -> dict[str, Any]:
    """What a target costs a process that has done nothing since it was loaded: for compare.bench.phases."""
    return side.call("phases", {"target": target}).value


DISPATCH_CALLS = 2000


def dispatch(side: Side, calls: int = DISPATCH_CALLS) -> dict[str, dict[str, Any]]:
    """By mode, public_s and concrete_s of a call that does next to nothing; no workload need be loaded."""
    return side.call("dispatch", {"calls": calls}).value


def time_round(side: Side, target: str | int, calls: int, slowdown: float = 0.0) -> list[float]:
    """Seconds of each of `calls` calls of a prepared target; `slowdown` plants that part more in each."""
    return side.call("round", {"target": target, "calls": calls, "slowdown": slowdown}).value


COUNTED_CALLS = 3


def counters(side: Side, target: str | int, calls: int = COUNTED_CALLS) -> dict[str, float]:
    """By name, what one call of a prepared target adds to a counter of its process, as the mean of some calls.

    A counter that the platform has not is left out.
    """
    counted = side.call("counters", {"target": target, "calls": calls}).value
    return {name: count / calls for name, count in counted.items()}


def thread_seconds(side: Side, target: str | int, calls: int) -> list[float]:
    """Seconds of processor time of each thread that took part in `calls` calls of a prepared target, most first."""
    return side.call("threads", {"target": target, "calls": calls}).value


def processors(side: Side) -> list[int]:
    """Numbers of the processors that any thread of the worker may run on."""
    return side.call("processors", {}).value


def watch(side: Side, staging: Staging) -> str:
    """Stage a function whose calls are watched; how it was staged."""
    parameters = {
        "target": staging.target,
        "static": list(staging.static),
        "cure": staging.cure,
        "dynamic": list(staging.dynamic),
        "signature": packed(staging.signature)[0],
    }
    return side.call("watch", parameters).value


def watched_call(side: Side, named: Named) -> tuple[Seen, Arrays]:
    """Call the watched function; what was traced and compiled, and its results."""
    arguments, arrays = packed(named)
    reply = side.call("watched_call", {"arguments": arguments}, arrays)
    return msgspec.convert(reply.value, Seen), reply.arrays


def attempt(side: Side, target: str, mode: str, arrays: Arrays) -> Attempted:
    """What a function gives in a mode.

    Args:
      side: whose function it is.
      target: where it is found.
      mode: "eager", "autocluster" or "jit"; in JAX "jit" alone.
      arrays: its arguments in order.

    Raises:
      SideError: what the framework raised, in one line with the line of the function's code.
    """
    arguments, sent = packed(arrays)
    reply = side.call("attempt", {"target": target, "mode": mode, "arguments": arguments}, sent)
    return Attempted(reply.arrays, [[KernelRun(*node) for node in call] for call in reply.value])


def probe(side: Side, before: Named, after: Named, body: bool) -> Seen:
    """What a call traces and compiles in a cache that holds another call alone."""
    packed_before, arrays = packed(before, "before")
    packed_after, more = packed(after, "after")
    parameters = {"before": packed_before, "after": packed_after, "body": body}
    return msgspec.convert(side.call("probe", parameters, {**arrays, **more}).value, Seen)
