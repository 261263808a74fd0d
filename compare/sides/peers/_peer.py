"""The base of peers: passes of a TensorFlow twin under jax.jit, behind JAX's half of the protocol."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from workloads.core.spec import Arrays
from workloads.protocol.framework import (
    FORWARD,
    STEP,
    Attempted,
    Entry,
    Prepared,
    Scalar,
    Twin,
    Unsupported,
)
from workloads.protocol.methods import Framework
from workloads.protocol.recompiling import Staging, Watch
from workloads.protocol.trajectory import trajectory

JIT = "jit"

_REFUSAL = "a peer is judged by its float32 results and its time, and gives nothing else: no"


class NotInstalled(Unsupported, ImportError):
    """A package of a peer is missing; the message says what to install.

    An ImportError, since it is raised while the worker imports the peer; Unsupported, so that it is reported in
    one line.
    """


@dataclass(frozen=True)
class Staged:
    """One pass of a twin under jax.jit, and what it starts from.

    Attributes:
      function: (variables, *inputs) -> {leaf: array}; of a step -> (variables, loss).
      variables: a pytree of arrays on the device.
      weights: variables -> {canonical path: array}; of a step only.
    """

    function: Any
    variables: Any
    weights: Callable[[Any], Mapping[str, Any]] = dict


class Peer(Framework, ABC):
    """A TensorFlow twin run by JAX, in float32.

    What a peer has no part in (programs, float64, profiles) is refused: it is judged by its results and its time.
    """

    side: str
    _twin: Twin

    @abstractmethod
    def version(self) -> str:
        """The package that makes the peer, and its version."""

    @abstractmethod
    def build(self, twin: Twin) -> None:
        """Build the twin.

        Raises:
          Unsupported: the peer does not apply to it.
        """

    @abstractmethod
    def trains(self) -> bool:
        """Whether the twin has a training step, which is then what the twins are timed on."""

    @abstractmethod
    def stage(self, pass_: str, case: str) -> Staged:
        """A pass as it starts in a case; called before anything else is staged.

        Raises:
          Unsupported: the peer cannot do this pass.
        """

    def environment(self) -> dict[str, Scalar]:
        """Version and device."""
        device = jax.devices()[0].platform
        return {"version": self.version(), "jax": jax.__version__, "device": device, "threads": "default"}

    def _refusal(self, method: str) -> str:
        """Why a peer has no such method."""
        return f"{_REFUSAL} `{method}`"

    def settings(self) -> dict[str, str]:
        """No settings: a peer judges nothing."""
        return {}

    def load(self, twin: Twin) -> dict[str, Any]:
        """Build the twin and say which passes this peer has of it."""
        self._twin = twin
        jax.clear_caches()
        self.build(twin)
        modes = {FORWARD: [JIT]}
        with contextlib.suppress(Unsupported):
            self.stage(STEP, next(iter(twin.cases)))
            modes[STEP] = [JIT]
        return {"modes": modes}

    def outputs(
        self, mode: str, pass_: str, case: str, dtype: str, sent: Arrays | None = None
    ) -> dict[str, np.ndarray]:
        """The outputs of the forward pass in float32."""
        if (pass_, dtype) != (FORWARD, "float32"):
            _refuse(f"{pass_} in {dtype}")
        program = self.stage(pass_, case)
        results = program.function(program.variables, *self._inputs({**self._twin.cases[case], **(sent or {})}))
        return {leaf: np.array(value) for leaf, value in results.items()}

    def trajectory(
        self, mode: str, dtype: str, checkpoints: Sequence[int], guide: Arrays | None = None
    ) -> dict[str, np.ndarray]:
        """loss: [steps]; "weights@STEP/PATH" after each checkpoint; in float32."""
        if dtype != "float32":
            _refuse(f"training in {dtype}")
        if guide:
            _refuse("training that goes on from another run's weights")
        program = self.stage(STEP, next(iter(self._twin.cases)))
        variables = program.variables

        def step(batch: Arrays) -> Any:
            nonlocal variables
            variables, loss = program.function(variables, *self._inputs(batch))
            return loss

        return trajectory(self._twin, checkpoints, step, lambda: program.weights(variables))

    def prepare(self, target: str | int) -> Prepared:
        """One call of what the twins are timed on, that waits for all its results.

        Raises:
          Unsupported: the twin trains, and this peer cannot.
        """
        case = next(iter(self._twin.cases))
        inputs = self._inputs(self._twin.cases[case])
        start = time.perf_counter()
        pass_ = self._twin.main_pass or (STEP if self.trains() else FORWARD)
        program = self.stage(pass_, case)
        seconds = _staged_apart(start, program.function, [program.variables, *inputs])
        call = _carrying_variables(program, inputs) if pass_ == STEP else _waiting(program, inputs)
        return Prepared(call, **seconds)

    def dispatch(self) -> Mapping[str, Entry]:
        """Refused."""
        _refuse("a call of next to no work")

    def watch(self, staging: Staging) -> Watch:
        """Refused."""
        _refuse("a stream of calls")

    def attempt(self, target: str, mode: str, arrays: Arrays) -> Attempted:
        """Refused."""
        _refuse("a function that is tried")

    def _inputs(self, arrays: Arrays) -> list[jax.Array]:
        return [jnp.asarray(arrays[name]) for name in self._twin.inputs]


def on_device(arrays: Mapping[str, Any]) -> dict[str, jax.Array]:
    """Variables as JAX keeps them between calls: a step must not copy them from the host each time."""
    return {name: jnp.asarray(np.asarray(array)) for name, array in arrays.items()}


def _staged_apart(start: float, function: Any, arguments: Sequence[Any]) -> dict[str, Any]:
    """Seconds of each public stage, as Prepared names them; a conversion since `start` counts as tracing."""
    times = [start]
    traced = function.trace(*arguments)
    times.append(time.perf_counter())
    lowered = traced.lower()
    times.append(time.perf_counter())
    lowered.compile()
    times.append(time.perf_counter())
    seconds = (end - start for start, end in pairwise(times))
    return dict(zip(("trace_s", "lower_s", "compile_s"), seconds, strict=True))


def _waiting(program: Staged, inputs: Sequence[jax.Array]) -> Callable[[], object]:
    return lambda: jax.block_until_ready(program.function(program.variables, *inputs))


def _carrying_variables(program: Staged, inputs: Sequence[jax.Array]) -> Callable[[], None]:
    """A training step as a loop runs it: each call starts from the variables that the one before left."""
    variables = program.variables

    def call() -> None:
        nonlocal variables
        variables, loss = program.function(variables, *inputs)
        jax.block_until_ready((variables, loss))

    return call


def _refuse(what: str) -> NoReturn:
    raise Unsupported(f"{_REFUSAL} {what}")
