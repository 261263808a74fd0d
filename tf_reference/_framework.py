"""TensorFlow's side of the protocol: modes, lowering, running a foreign program, profiling."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference import _private
from tf_reference._session import Session
from workloads._framework import (
    FORWARD,
    GRADIENTS,
    STEP,
    WEIGHTS,
    Compiled,
    Parameter,
    Prepared,
    Program,
    Result,
    Twin,
    Unsupported,
)
from workloads._spec import Arrays
from workloads._unroll import unroll

EAGER, GRAPH, AUTOCLUSTER, JIT = "eager", "graph", "autocluster", "jit"

STAGES = ("stablehlo", "hlo", "optimized_hlo")

# Operations that compute nothing: plumbing, and what only reads or changes a shape.
_STRUCTURAL = frozenset(
    {
        *("_Arg", "_Retval", "NoOp", "Const", "_EagerConst", "Identity", "IdentityN", "Placeholder", "StopGradient"),
        *("ReadVariableOp", "VarHandleOp", "StatefulPartitionedCall", "PartitionedCall"),
        *("_XlaCompile", "_XlaRun", "_XlaMerge", "_SwitchN", "_FusedSwitch", "Switch", "Merge"),
        *("Shape", "ShapeN", "Size", "Rank", "Reshape", "ExpandDims", "Squeeze", "BroadcastGradientArgs"),
    }
)
_GRAPH_NODE = re.compile(r"^[\w./-]+:(\w+)$")


class TensorFlow:
    """The twin in TensorFlow, in its four modes. Implements workloads._framework.Framework."""

    side = "tf"

    def __init__(self) -> None:
        self._twin: Twin | None = None
        self._sessions: dict[str, Session] = {}
        self._functions: dict[tuple[str, str, str], Callable[..., Any]] = {}
        self._tensors: dict[tuple[str, str, str], tf.Tensor] = {}
        self._compiled: list[tuple[Program, Callable[..., Any]]] = []

    def environment(self) -> dict[str, Any]:
        """Versions, device and thread settings."""
        return {
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "device": tf.config.list_logical_devices()[0].device_type.lower(),
            "threads": tf.config.threading.get_intra_op_parallelism_threads() or "default",
        }

    def load(self, twin: Twin) -> dict[str, Any]:
        """Build the twin and say which passes and modes it has."""
        tf.keras.backend.clear_session()
        self._twin, self._sessions, self._functions, self._tensors, self._compiled = twin, {}, {}, {}, []
        model = self._session("float32").model
        passes = [FORWARD] + [GRADIENTS] * self._session("float32").differentiable() + [STEP] * (model.step is not None)
        return {"modes": {pass_: [EAGER, GRAPH, AUTOCLUSTER, JIT] for pass_ in passes}}

    def outputs(self, mode: str, pass_: str, case: str, dtype: str) -> dict[str, np.ndarray]:
        """What one pass returns in one mode; a step also returns the weights that it leaves."""
        session = self._session(dtype)
        tensors = self._inputs(session, case)
        with switched(mode):
            function = self._staged(session, pass_, mode, tensors)
            session.reset(case)
            outputs = {leaf: np.array(value) for leaf, value in function(*tensors).items()}
        return outputs | session.updated_weights() if pass_ == STEP else outputs

    def trajectory(self, mode: str, dtype: str, checkpoints: Sequence[int]) -> dict[str, np.ndarray]:
        """loss: [steps]; "weights@STEP/PATH" after each checkpoint."""
        session = self._session(dtype)
        batches = session.twin.batches
        steps = len(next(iter(batches.values())))
        inputs = [session.tensors({name: array[step] for name, array in batches.items()}) for step in range(steps)]
        losses, kept = [], {}
        with switched(mode):
            function = self._staged(session, STEP, mode, inputs[0])
            session.reset(next(iter(session.twin.cases)))
            for step, tensors in enumerate(inputs, start=1):
                losses.append(function(*tensors)["loss"].numpy())
                if step in checkpoints:
                    kept |= {f"weights@{step}/{path}": value.numpy() for path, value in session.weights.items()}
        return {"loss": np.array(losses)} | kept

    def program(self, pass_: str, dtype: str) -> Program:
        """The StableHLO that jit_compile=True hands to XLA, variables as trailing parameters."""
        session = self._session(dtype)
        case = next(iter(session.twin.cases))
        session.reset(case)
        tensors = self._inputs(session, case)
        function = tf.function(session.pass_function(pass_), jit_compile=True)
        lower = function.experimental_get_compiler_ir(*tensors)
        layout = _private.layout(lower(stage="hlo_serialized"))
        parameters, states = _bound_parameters(session, function.get_concrete_function(*tensors), layout)
        leaves = sorted(function.get_concrete_function(*tensors).structured_outputs)
        names = _result_names(leaves, parameters, layout)
        return Program(
            artifact=lower(stage="stablehlo_serialized"),
            parameters=parameters,
            results=tuple(
                Result(name, shape, dtype) for name, (dtype, shape) in zip(names, layout.results, strict=True)
            ),
            states=states,
            stages={stage: str(lower(stage=stage)) for stage in STAGES} if dtype == "float32" else {},
        )

    def compile(self, program: Program) -> Compiled:
        """Compile any program by TensorFlow's XLA."""
        call = _private.call_stablehlo(program.artifact, [(result.dtype, result.shape) for result in program.results])
        function = tf.function(call, jit_compile=True, autograph=False)
        arguments = self._arguments(program, next(iter(self._loaded.cases)))
        start = time.perf_counter()
        function(*arguments)
        compile_s = time.perf_counter() - start
        lower = function.experimental_get_compiler_ir(*arguments)
        self._compiled.append((program, function.get_concrete_function(*arguments)))
        return Compiled(
            handle=len(self._compiled) - 1,
            optimized=lower(stage="optimized_hlo_serialized"),
            temp_bytes=_private.temp_bytes(lower(stage="optimized_hlo_proto_serialized")),
            compile_s=compile_s,
        )

    def execute(self, handle: int, case: str) -> dict[str, np.ndarray]:
        """Run a compiled program on the arrays of a case."""
        program, function = self._compiled[handle]
        values = function(*self._arguments(program, case))
        return {result.name: np.array(value) for result, value in zip(program.results, values, strict=True)}

    def unroll(self, handle: int, checkpoints: Sequence[int]) -> dict[str, np.ndarray]:
        """A training run of a compiled step program."""
        program, function = self._compiled[handle]

        def run(arguments: list[np.ndarray]) -> list[np.ndarray]:
            return [np.array(value) for value in function(*map(tf.constant, arguments))]

        return unroll(run, program, self._loaded, checkpoints)

    def prepare(self, target: str | int) -> Prepared:
        """One synchronous call. TensorFlow on CPU returns when the work is done: no barrier is needed there."""
        if isinstance(target, int):
            program, compiled = self._compiled[target]
            arguments = self._arguments(program, next(iter(self._loaded.cases)))
            return Prepared(lambda: _wait(compiled(*arguments)))
        session = self._session("float32")
        case = next(iter(session.twin.cases))
        session.reset(case)
        tensors = self._inputs(session, case)
        start = time.perf_counter()
        with switched(target):
            function = in_mode(session.pass_function(STEP if session.model.step else FORWARD), target, tensors)
        trace_s = None if target == EAGER else time.perf_counter() - start
        return Prepared(lambda: _wait(function(*tensors)), trace_s, around=lambda: switched(target))

    def profile(self, target: str | int) -> list[str]:
        """Names of the kernels that one warm call ran, in order: TF operations and HLO instructions."""
        prepared = self.prepare(target)
        with tempfile.TemporaryDirectory() as folder, prepared.around():
            prepared.call()
            with tf.profiler.experimental.Profile(folder):
                prepared.call()
            (trace,) = Path(folder).rglob("*.xplane.pb")
            events = _private.events(trace.read_bytes())
        return [kernel for event in events if (kernel := _kernel(event, target == EAGER))]

    @property
    def _loaded(self) -> Twin:
        if self._twin is None:
            raise RuntimeError("no workload is loaded")
        return self._twin

    def _session(self, dtype: str) -> Session:
        if dtype not in self._sessions:
            self._sessions[dtype] = Session(self._loaded, dtype)
        return self._sessions[dtype]

    def _staged(self, session: Session, pass_: str, mode: str, tensors: Sequence[tf.Tensor]) -> Callable[..., Any]:
        key = (session.dtype, pass_, mode)
        if key not in self._functions:
            self._functions[key] = in_mode(session.pass_function(pass_), mode, tensors)
        return self._functions[key]

    def _arguments(self, program: Program, case: str) -> list[tf.Tensor]:
        return [
            self._input(case, each.name, each.dtype)
            if each.kind == "input"
            else tf.constant(self._loaded.argument(each, case, program.states))
            for each in program.parameters
        ]

    def _inputs(self, session: Session, case: str) -> list[tf.Tensor]:
        arrays = self._loaded.cases[case]
        return [self._input(case, name, session.dtype_of(arrays[name])) for name in self._loaded.inputs]

    def _input(self, case: str, name: str, dtype: str) -> tf.Tensor:
        # Every mode and every compiled program reads the same tensor: at paper size one is a gigabyte.
        key = (case, name, dtype)
        if key not in self._tensors:
            self._tensors[key] = tf.constant(self._loaded.cases[case][name].astype(dtype, copy=False))
        return self._tensors[key]


@contextmanager
def switched(mode: str) -> Iterator[None]:
    """Autoclustering on or off: a switch of the runtime that acts on every call, not on what was traced."""
    tf.config.optimizer.set_jit(mode == AUTOCLUSTER)
    try:
        yield
    finally:
        tf.config.optimizer.set_jit(False)


def in_mode(function: Callable[..., Any], mode: str, tensors: Sequence[tf.Tensor]) -> Callable[..., Any]:
    """The function as that mode runs it, traced where the mode traces."""
    if mode == EAGER:
        return function
    staged = tf.function(function, jit_compile=True if mode == JIT else None)
    staged.get_concrete_function(*tensors)
    return staged


def _wait(result: Any) -> Any:
    if tf.config.list_physical_devices("GPU"):
        tf.test.experimental.sync_devices()
    return result


def _bound_parameters(session: Session, concrete: Any, layout: _private.Layout) -> tuple[tuple[Parameter, ...], Arrays]:
    by_handle = {id(variable.handle): ("weight", path) for path, variable in session.weights.items()}
    by_handle |= {id(variable.handle): ("state", name) for name, variable in session.state.items()}
    sources: list[tuple[str, str]] = [("input", name) for name in session.twin.inputs]
    states: dict[str, np.ndarray] = {}
    for index, captured in enumerate(concrete.captured_inputs):
        sources.append(by_handle.get(id(captured), ("state", f"captured{index}")))
        kind, name = sources[-1]
        if kind == "state":
            states[name] = session.state[name].numpy() if name in session.state else _captured_value(captured, concrete)
    if len(sources) != len(layout.parameters):
        raise Unsupported(
            f"TensorFlow's program has {len(layout.parameters)} parameters for {len(sources)} inputs and variables: "
            "an input that must be known at compile time cannot be bound"
        )
    pairs = zip(sources, layout.parameters, strict=True)
    return tuple(Parameter(*source, shape, dtype) for source, (dtype, shape) in pairs), states


def _captured_value(captured: tf.Tensor, concrete: Any) -> np.ndarray:
    if captured.dtype != tf.resource:
        return captured.numpy()
    (variable,) = [variable for variable in concrete.variables if variable.handle is captured]
    return variable.numpy()


def _result_names(leaves: Sequence[str], parameters: Sequence[Parameter], layout: _private.Layout) -> list[str]:
    # Results are the function's own, then one for each variable that it updates, aliased to its parameter.
    names = list(leaves)
    for index in range(len(leaves), len(layout.results)):
        if index not in layout.aliases:
            raise Unsupported(f"result {index} of TensorFlow's program updates no variable that can be named")
        source = parameters[layout.aliases[index]]
        names.append((WEIGHTS if source.kind == "weight" else "state/") + source.name)
    return names


def _kernel(event: _private.TracedEvent, eager: bool) -> str | None:
    if event.is_hlo:
        return None if event.name.startswith("end: ") else event.name
    if eager:
        _, found, operation = event.name.partition("EagerLocalExecute: ")
    else:
        match = _GRAPH_NODE.match(event.name)
        found, operation = bool(match), match.group(1) if match else ""
    if not found or operation in _STRUCTURAL or operation.startswith("__"):
        return None
    return operation if eager else event.name


def create() -> TensorFlow:
    """This side's Framework."""
    return TensorFlow()
