"""The requests that a side answers, as typed functions of a side: each is derived from the method that answers it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from compare.sides._side import Side, SideError
from compare.sides.call_arguments import pack
from compare.sides.framework_host import Worker
from compare.sides.methods import request
from compare.sides.replies import Load, Loaded, Seen
from compare.sides.workers import WorkerSet
from workloads.core.spec import Arrays, Dimensions
from workloads.protocol.framework import Attempted, Compiled, CompilerOptions, Program
from workloads.protocol.methods import RemoteMethods
from workloads.protocol.recompiling import Named, Staging

Modes = Mapping[str, Sequence[str]]

TWINS = ("tf_reference.", "jaxport.")
"""The prefixes of the names of the built-in workloads' functions."""


@dataclasses.dataclass(frozen=True)
class Loading:
    """A workload as both sides are facts of it; `target` is each side's own.

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

    def of(self, twin: str) -> Load:
        """The request for one side.

        Args:
          twin: whose function it is, "tf" or "jax".
        """
        fields = vars(self) | {"target": self.targets[twin], "dimensions": dict(self.dimensions)}
        del fields["targets"]
        return Load(**fields)

    @property
    def is_built_in(self) -> bool:
        """Whether both functions are jaxport's own: no file of a user's runs."""
        return all(target.startswith(TWINS) for target in self.targets.values())


environment = request(Worker.environment)
imported = request(Worker.imported)
changed = request(Worker.changed)
outputs = request(RemoteMethods.outputs)
trajectory = request(RemoteMethods.trajectory)
layers = request(RemoteMethods.layers)
program = request(RemoteMethods.program)
optimized = request(RemoteMethods.optimized)
save_model = request(RemoteMethods.save_model)
serialized = request(RemoteMethods.serialized)
execute = request(RemoteMethods.execute)
unroll = request(RemoteMethods.unroll)
offer = request(RemoteMethods.offer)
digest = request(RemoteMethods.digest)
profile = request(RemoteMethods.profile)
clustered = request(RemoteMethods.clustered)
rewritten = request(RemoteMethods.rewritten)
outputs_with = request(RemoteMethods.outputs_with)
stages = request(RemoteMethods.stages)
donation = request(RemoteMethods.donation)
prepare = request(Worker.prepare)
phases = request(Worker.phases)
thread_seconds = request(Worker.threads)
processors = request(Worker.processors)


def versions(workers: WorkerSet) -> dict[str, str]:
    """By package, of the sides that come up."""
    by_package: dict[str, str] = {}
    for side, packages in (("tf", ("tensorflow",)), ("jax", ("jax", "jaxlib"))):
        try:
            facts = environment(workers.get(side))
        except SideError:
            continue  # what was asked of it says why
        by_package |= {package: str(facts[package]) for package in packages if package in facts}
    return by_package


def load(side: Side, loading: Loading) -> Modes:
    """Build the twin; the modes of each pass that it has."""
    return load_twin(side, loading).modes


def load_twin(side: Side, loading: Loading) -> Loaded:
    """Build the twin, and return its modes and settings."""
    return request(Worker.load)(side, loading.of(side.name))


def compile_program(side: Side, program: Program, options: CompilerOptions | None = None) -> Compiled:
    """Compile any program by this side's XLA.

    Args:
      options: XLA's debug options by name; JAX alone takes any.

    Raises:
      SideError: XLA does not take the program or an option, or the compiler took its process with it.
    """
    return request(RemoteMethods.compile)(side, dataclasses.replace(program, sources={}), options or {})


DISPATCH_CALLS = 2000


def dispatch(side: Side, calls: int = DISPATCH_CALLS) -> dict[str, dict[str, float | None]]:
    """By mode, public_s and concrete_s of a call that does next to nothing; no workload need be loaded."""
    return request(Worker.dispatch)(side, calls)


def time_round(side: Side, target: str | int, calls: int, slowdown: float = 0.0) -> list[float]:
    """Seconds of each of `calls` calls of a prepared target; `slowdown` plants that part more in each."""
    return request(Worker.round)(side, target, calls, slowdown)


COUNTED_CALLS = 3


def counters(side: Side, target: str | int, calls: int = COUNTED_CALLS) -> dict[str, float]:
    """By name, what one call of a prepared target adds to a counter of its process, as the mean of some calls.

    A counter that the platform has not is left out.
    """
    return {name: count / calls for name, count in request(Worker.counters)(side, target, calls).items()}


def watch(side: Side, staging: Staging) -> str:
    """Stage a function whose calls are watched; how it was staged."""
    signature, _ = pack(staging.signature)
    return request(Worker.watch)(side, staging.target, staging.static, staging.cure, staging.dynamic, signature)


def watched_call(side: Side, arguments: Named) -> tuple[Seen, Arrays]:
    """Call the watched function; what was traced and compiled, and its results."""
    return request(Worker.watched_call)(side, *pack(arguments))


def attempt(side: Side, target: str, mode: str, arrays: Arrays) -> Attempted:
    """The results of a function in a mode.

    Args:
      mode: "eager", "autocluster" or "jit"; in JAX "jit" alone.

    Raises:
      SideError: what the framework raised, in one line with the line of the function's code.
    """
    calls, results = request(Worker.attempt)(side, target, mode, *pack(arrays))
    return Attempted(results, calls)


def probe(side: Side, before: Named, after: Named, body: bool) -> Seen:
    """The traces and compilations of a call in a cache that holds only another call."""
    packed_before, arrays = pack(before, "before")
    packed_after, more = pack(after, "after")
    return request(Worker.probe)(side, packed_before, packed_after, body, {**arrays, **more})
