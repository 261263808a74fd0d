"""The protocol that both sides implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Protocol

from workloads.core.spec import Arrays
from workloads.protocol.framework import (
    NO_OPTIONS,
    Attempted,
    Clustered,
    Compiled,
    CompilerOptions,
    Donation,
    Entry,
    KernelRun,
    Optimized,
    Platform,
    Prepared,
    Program,
    Scalar,
    Size,
    Twin,
    Unsupported,
)
from workloads.protocol.layer_calls import Given, LayerCalls
from workloads.protocol.recompiling import Staging, Watch
from workloads.protocol.rewriting import OptimizerOptions, Rewritten


class RemoteMethods(Protocol):
    """The methods of a framework that the coordinator calls in another process as they stand.

    Each is written here alone: its signature is the request (`compare.sides.methods`), its first line is that of
    docs/protocol.md. A side that does not override one refuses it.
    `dtype` is the float type of the run: "float32", or "float64" for the oracle.
    A target is a mode ("jit") or the handle of a compiled program.
    """

    side: str
    refusals: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Why this side does not have a method, by the method's name."""

    def _refusal(self, method: str) -> str:
        return self.refusals.get(method) or f"{self.side} has no `{method}`"

    def outputs(self, mode: str, pass_: str, case: str, dtype: str, sent: Arrays | None = None) -> Arrays:
        """Return the results of a pass in a mode; of a step also the weights that it leaves.

        Args:
          pass_: "forward", "gradients" or "step".
          dtype: "float32" or "float64".
          sent: inputs and weights in place of those of the case, by name.
        """
        raise Unsupported(self._refusal("outputs"))

    def trajectory(self, mode: str, dtype: str, checkpoints: Sequence[Size], guide: Arrays | None = None) -> Arrays:
        """Return losses and weights of a training run in a mode.

        Args:
          dtype: "float32" or "float64".
          checkpoints: after how many steps the weights are kept, as "weights@STEP/PATH".
          guide: such weights of another run, which this one goes on from; None lets it go on from its own.
        """
        raise Unsupported(self._refusal("trajectory"))

    def layers(
        self, pass_: str, case: str, dtype: str, given: Sequence[Given], sent: Arrays
    ) -> tuple[LayerCalls, Arrays]:
        """Report the inputs and outputs of each layer of a model in a pass.

        Args:
          pass_: "forward", or "gradients": then the gradients with respect to all of these are taken too.
          dtype: "float32" or "float64".
          given: what calls of the port are given besides.
        """
        raise Unsupported(self._refusal("layers"))

    def program(self, pass_: str, dtype: str, platform: Platform = "cpu") -> Program:
        """Return the program that the framework passes to XLA.

        Args:
          pass_: "forward", "gradients" or "step".
          dtype: the float type that it is lowered in.
          platform: of the device that it is lowered for, which need not be here.

        Raises:
          Unsupported: this side lowers for no such platform.
        """
        raise Unsupported(self._refusal("program"))

    def stages(self) -> Mapping[str, str]:
        """Return the main pass as text at every stage."""
        raise Unsupported(self._refusal("stages"))

    def compile(self, program: Program, /, options: CompilerOptions = NO_OPTIONS) -> Compiled:
        """Compile a program of either side by this side's XLA.

        Raises:
          Unsupported: this side takes no options.
        """
        raise Unsupported(self._refusal("compile"))

    def optimized(self, handle: int) -> Optimized:
        """Return the optimized HLO module of a compiled program, compiled again where none is kept."""
        raise Unsupported(self._refusal("optimized"))

    def save_model(self, handle: int, folder: Path) -> None:
        """Write a compiled program as a SavedModel, its weights as variables."""
        raise Unsupported(self._refusal("save_model"))

    def serialized(self, pass_: str) -> Annotated[bytes, "exported"]:
        """Return a pass in the form of jax.export."""
        raise Unsupported(self._refusal("serialized"))

    def execute(self, handle: int, case: str) -> Arrays:
        """Run a compiled program."""
        raise Unsupported(self._refusal("execute"))

    def unroll(self, handle: int, checkpoints: Sequence[Size], guide: Arrays | None = None) -> Arrays:
        """Run a training run by a compiled training step."""
        raise Unsupported(self._refusal("unroll"))

    def offer(self, mode: str, options: Mapping[str, Scalar]) -> None:
        """Add a mode that is compiled with other options, for as long as the twin is loaded.

        Raises:
          Unsupported: the compiler does not take one of the options.
        """
        raise Unsupported(self._refusal("offer"))

    def digest(self, target: str | int) -> str:
        """Return a digest of the code of the main pass in a mode, or of a compiled program; "" without code."""
        raise Unsupported(self._refusal("digest"))

    def profile(self, target: str | int) -> Sequence[Sequence[KernelRun]]:
        """Return the kernels that each of some warm calls ran, with their times."""
        raise Unsupported(self._refusal("profile"))

    def clustered(self, pass_: str) -> Clustered:
        """Run a pass with autoclustering, and return the name of its graph, its nodes, times and lines."""
        raise Unsupported(self._refusal("clustered"))

    def rewritten(self, pass_: str, options: OptimizerOptions) -> Rewritten:
        """Return the graph of a pass after the graph optimizer, with some of its switches set."""
        raise Unsupported(self._refusal("rewritten"))

    def outputs_with(self, pass_: str, case: str, options: OptimizerOptions) -> Arrays:
        """Return the results of a pass with some switches of the graph optimizer set.

        Args:
          pass_: "forward", "gradients" or "step".
        """
        raise Unsupported(self._refusal("outputs_with"))

    def donation(self) -> Donation:
        """Return the compiled training step and its donated parameters."""
        raise Unsupported(self._refusal("donation"))


class Framework(RemoteMethods, Protocol):
    """One side: everything that compare asks of a framework, and nothing else."""

    def environment(self) -> Mapping[str, Scalar]:
        """Return versions, devices and variables that results depend on."""
        ...

    def settings(self) -> Mapping[str, str]:
        """Return the framework's own settings, by name; they hold for the whole process."""
        ...

    def load(self, twin: Twin) -> Mapping[str, Any]:
        """Load a twin, and return its modes by pass, with other facts."""
        ...

    def prepare(self, target: str | int) -> Prepared:
        """Return one call of the main pass in a mode, or of a compiled program, that waits for its results."""
        ...

    def dispatch(self) -> Mapping[str, Entry]:
        """Return x + 1 on `DISPATCH_ELEMENTS` float32, by mode; nothing need be loaded."""
        ...

    def watch(self, staging: Staging) -> Watch:
        """Watch the traces and compilations of a function; nothing need be loaded."""
        ...

    def attempt(self, target: str, mode: str, arrays: Arrays) -> Attempted:
        """Try a function in a mode, and return its outputs.

        Args:
          mode: "eager", "autocluster" or "jit".

        Raises:
          Unsupported: this side has no such mode.
        """
        ...
