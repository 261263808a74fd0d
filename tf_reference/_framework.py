"""TensorFlow's side of the protocol: modes, lowering, running a foreign program, profiling."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import keras
import numpy as np
import tensorflow as tf
from typing_extensions import override

from tf_reference import _binding, _clustering, _compiler_stages, _device, _grappler, _keras, _private, _sources
from tf_reference._attempting import attempt
from tf_reference._callers_settings import settings_for_check as settings_for_check
from tf_reference._compiler_stages import STAGES
from tf_reference._donation import donated_step
from tf_reference._forgetting import forget
from tf_reference._host_arrays import on_host
from tf_reference._layer_calls import layer_calls
from tf_reference._lowering import Lowered, lower
from tf_reference._mode_calls import (
    AUTOCLUSTER,
    EAGER,
    GRAPH,
    JIT,
    analyse_lowering,
    compilable,
    finish,
    in_mode,
    switch,
)
from tf_reference._profiling import profile_call
from tf_reference._recompiling import Watched
from tf_reference._saving import save
from tf_reference._session import Session
from tf_reference._stateless import lowered_for
from workloads._device import ON_CPU, Device, device_asked_for
from workloads._framework import (
    DISPATCH_ELEMENTS,
    FORWARD,
    GRADIENTS,
    NO_OPTIONS,
    PROFILED_CALLS,
    STEP,
    UNROLLED,
    Analysis,
    Attempted,
    Clustered,
    Compiled,
    Donation,
    Entry,
    KernelRun,
    Optimized,
    Platform,
    Prepared,
    Program,
    Twin,
    Unsupported,
    default_pass,
)
from workloads._layer_calls import Given, LayerCalls
from workloads._loaded import Loaded, main_pass
from workloads._protocol import Framework
from workloads._recompiling import Staging
from workloads._rewriting import OptimizerOptions, Rewritten
from workloads._spec import Arrays, dtype_in
from workloads._trajectory import Guide, trajectory
from workloads._unroll import unroll

OTHERWISE = ("handwritten", "apart")
"""The main pass computed in another way, which the twin hands over: fields of Model."""

_OUT_OF_SCOPE = "is out of scope and cannot be used here"
"""What TensorFlow says of a tensor of another graph: a TypeError or a ValueError, by where it is met."""


_REFUSALS = {
    "serialized": "the form of jax.export is JAX's to write",
    # XLA's flags hold for a whole process, and are read before the first compilation.
    "offer": "TensorFlow compiles every function of a process with the same XLA_FLAGS",
}
"""By method that TensorFlow does not have, why."""

Asked = ParamSpec("Asked")
Found = TypeVar("Found")


def _once_more(
    request: Callable[Concatenate[TensorFlow, Asked], Found],
) -> Callable[Concatenate[TensorFlow, Asked], Found]:
    """A request that is asked again, of a model built anew, where this one kept a tensor of an earlier graph."""

    @functools.wraps(request)
    def ask(framework: TensorFlow, /, *positional: Asked.args, **keywords: Asked.kwargs) -> Found:
        try:
            return request(framework, *positional, **keywords)
        except (TypeError, ValueError) as error:
            if _OUT_OF_SCOPE not in str(error):
                raise
        framework.rebuild()
        return request(framework, *positional, **keywords)

    return ask


class TensorFlow(Framework):
    """The twin in TensorFlow, in its modes."""

    side = "tf"

    def __init__(self, device: Device = ON_CPU, clear: Callable[[], object] | None = forget) -> None:
        self._device = device
        self._loaded: Loaded[Session, Any] = Loaded(Session, clear)
        self._tensors: dict[tuple[str, str, str], tf.Tensor] = {}
        # TensorFlow compiles again what was compiled before this switch was first set to anything.
        tf.config.optimizer.set_jit(False)

    def environment(self) -> dict[str, Any]:
        """Versions, device and what is pinned on it, and thread settings."""
        return {
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "device": _device.describe_device(),
            "threads": tf.config.threading.get_intra_op_parallelism_threads() or "default",
        } | _device.pinned_settings(self._device)

    def _refusal(self, method: str) -> str:
        """Why TensorFlow has no such method."""
        return _REFUSALS.get(method) or super()._refusal(method)

    def settings(self) -> dict[str, str]:
        """What TensorFlow and Keras hold for the whole process, by name."""
        return {
            "tf.config.functions_run_eagerly": str(tf.config.functions_run_eagerly()),
            "tf.config.optimizer.get_jit": tf.config.optimizer.get_jit(),
            "keras floatx": str(tf.keras.backend.floatx()),
            "keras image_data_format": str(tf.keras.backend.image_data_format()),
            "keras dtype policy": tf.keras.mixed_precision.global_policy().name,
        }

    def load(self, twin: Twin) -> dict[str, Any]:
        """Build the twin and say which passes and modes it has."""
        self._tensors = {}
        # What XLA compiled for the twin before stays with the runtime.
        self._loaded.load(twin)
        model = self._loaded.session("float32").model
        _keras.check(model)
        passes = [FORWARD] + [GRADIENTS] * twin.is_differentiable + [STEP] * (model.step is not None)
        modes = {pass_: [EAGER, GRAPH, AUTOCLUSTER, JIT] for pass_ in passes}
        if STEP in modes:
            modes[STEP] += _keras.modes(model)
        modes[default_pass(passes)] += [mode for mode in OTHERWISE if getattr(model, mode) is not None]
        if model.step is not None and twin.unrolled:
            modes[UNROLLED] = [EAGER, GRAPH, AUTOCLUSTER, JIT]
        return {"modes": modes}

    @override
    @_once_more
    def outputs(
        self, mode: str, pass_: str, case: str, dtype: str, sent: Arrays | None = None
    ) -> dict[str, np.ndarray]:
        session = self._loaded.session(dtype)
        tensors = session.tensors({**session.twin.cases[case], **sent}) if sent else self._inputs(session, case, pass_)
        with switch(mode), compilable():
            function = self._stage(session, pass_, mode, tensors)
            session.reset(case, sent)
            outputs = {leaf: on_host(value) for leaf, value in function(*tensors).items()}
        return outputs | session.updated_weights() if pass_ in (STEP, UNROLLED) else outputs

    @override
    @_once_more
    def trajectory(
        self, mode: str, dtype: str, checkpoints: Sequence[int], guide: Arrays | None = None
    ) -> dict[str, np.ndarray]:
        session = self._loaded.session(dtype)
        first = session.tensors({name: array[0] for name, array in session.twin.batches.items()})
        with switch(mode), compilable():
            function = self._stage(session, STEP, mode, first)
            session.reset(session.twin.first_case)
            return trajectory(
                session.twin,
                checkpoints,
                lambda batch: on_host(function(*session.tensors(batch))["loss"]),
                lambda: {path: value.numpy() for path, value in session.weights.items()},
                Guide(guide, session.assign) if guide else None,
            )

    @override
    @_once_more
    def layers(
        self, pass_: str, case: str, dtype: str, given: Sequence[Given], sent: Arrays
    ) -> tuple[LayerCalls, Arrays]:
        """As of the protocol, op by op; the original takes no further arrays."""
        if given:
            raise Unsupported("layers of the original are called on what the original gives them alone")
        session = self._loaded.session(dtype)
        function = session.scalar if pass_ == GRADIENTS else session.model.forward
        with switch(EAGER):
            session.reset(case)
            return layer_calls(function, self._inputs(session, case, FORWARD), pass_ == GRADIENTS)

    @override
    @_once_more
    def program(self, pass_: str, dtype: str, platform: Platform = "cpu") -> Program:
        """The StableHLO that jit_compile=True passes to XLA, variables as trailing parameters."""
        session = self._loaded.session(dtype)
        case = session.twin.first_case
        session.reset(case)
        tensors = self._inputs(session, case, pass_)
        function = self._stage(session, pass_, JIT, tensors)
        with compilable():
            lowered = self._lower(function, tensors, platform)
        input_kind = "batches" if pass_ == UNROLLED else "input"
        parameters, states = _binding.bound_parameters(session, lowered.concrete, lowered.layout, input_kind)
        leaves = sorted(lowered.concrete.structured_outputs)
        names = _binding.result_names(leaves, parameters, lowered.layout)
        return Program(
            artifact=_compiler_stages.program(lowered.stage),
            parameters=parameters,
            results=_binding.results(names, lowered.layout),
            states=states,
            sources=_sources.sources(function.get_concrete_function(*tensors).graph),
        )

    @_once_more
    def stages(self) -> dict[str, str]:
        """The main pass as text, for people; the optimized module only of a device that is here."""
        session = self._loaded.session("float32")
        session.reset(session.twin.first_case)
        tensors = self._inputs(session, session.twin.first_case, main_pass(session))
        with compilable():
            lowered = self._lower(self._stage(session, main_pass(session), JIT, tensors), tensors, "cpu")
            return _compiler_stages.texts(lowered.stage, self._stages)

    @override
    def compile(self, program: Program, options: Mapping[str, Any] = NO_OPTIONS) -> Compiled:
        if options:
            raise Unsupported("TensorFlow takes XLA's options from the environment variable XLA_FLAGS alone")
        results = [(result.dtype, result.shape) for result in program.results]
        call = _private.call_stablehlo(program.artifact, results, _device.platform())
        function = tf.function(call, jit_compile=True, autograph=False)
        arguments = self._arguments(program, self._loaded.twin.first_case)
        start = time.perf_counter()
        function(*arguments)
        compile_s = time.perf_counter() - start
        return self._loaded.keep(program, function, compile_s)

    def optimized(self, handle: int) -> Optimized:
        """What XLA makes of a compiled program: two compilations more, since each stage is one."""
        program, function = self._loaded.compiled(handle)
        lower = function.experimental_get_compiler_ir(*self._arguments(program, self._loaded.twin.first_case))
        return Optimized(
            module=lower(stage="optimized_hlo_serialized"),
            temp_bytes=_compiler_stages.memory(lower).temp_bytes,
        )

    def save_model(self, handle: int, folder: Path) -> None:
        """Write a compiled program as a SavedModel, its weights as variables."""
        program, function = self._loaded.compiled(handle)
        save(program, function, self._loaded.twin, folder)

    def execute(self, handle: int, case: str) -> dict[str, np.ndarray]:
        """Run a compiled program on the arrays of a case."""
        program, function = self._loaded.compiled(handle)
        return program.name_results(map(on_host, function(*self._arguments(program, case))))

    @override
    def unroll(self, handle: int, checkpoints: Sequence[int], guide: Arrays | None = None) -> dict[str, np.ndarray]:
        program, function = self._loaded.compiled(handle)

        def run(arguments: list[np.ndarray]) -> list[np.ndarray]:
            return [on_host(value) for value in function(*map(tf.constant, arguments))]

        return unroll(run, program, self._loaded.twin, checkpoints, guide)

    @_once_more
    def prepare(self, target: str | int) -> Prepared:
        """One call with a barrier inside, on a device that TensorFlow returns from before the work is done."""
        if isinstance(target, int):
            program, function = self._loaded.compiled(target)
            arguments = self._arguments(program, self._loaded.twin.first_case)
            # The ConcreteFunction: what finding it costs is no part of a cell.
            return Prepared(partial(finish, function.get_concrete_function(*arguments), *arguments))
        session = self._loaded.session("float32")
        case = session.twin.first_case
        session.reset(case)
        tensors = self._inputs(session, case, main_pass(session))
        start = time.perf_counter()
        if target == _keras.STEPS:
            call = partial(finish, _keras.execution(session.model, tuple(tensors)))
            return Prepared(call, steps=_keras.STEPS_PER_EXECUTION)
        with switch(target):
            function = self._in_mode(session, main_pass(session), target, tensors)
        trace_s = None if target in (EAGER, *_keras.modes(session.model)) else time.perf_counter() - start
        analyse = partial(analyse_lowering, function, tensors) if target == JIT else Analysis
        call = partial(finish, function, *tensors)
        return Prepared(call, trace_s, around=lambda: switch(target), analyse=analyse)

    def dispatch(self) -> dict[str, Entry]:
        """`x + 1` as an operation, as a tf.function, and as its ConcreteFunction."""
        argument = tf.zeros(DISPATCH_ELEMENTS)

        def one_more(x: tf.Tensor) -> tf.Tensor:
            return x + 1

        entries = {EAGER: Entry(partial(finish, one_more, argument))}
        for mode in (GRAPH, JIT):
            function = in_mode(one_more, mode, [argument])
            concrete = function.get_concrete_function(argument)
            entries[mode] = Entry(partial(finish, function, argument), partial(finish, concrete, argument))
        return entries

    def digest(self, target: str | int) -> str:
        """Not told."""
        return ""

    @_once_more
    def profile(self, target: str | int) -> list[list[KernelRun]]:
        """The kernels that each of some warm calls ran, in order: TF operations and HLO instructions."""
        call = self.prepare(target).call if isinstance(target, int) else self._prepare_call(target)
        with switch(str(target)):
            call()
            return [profile_call(call, target == EAGER) for _ in range(PROFILED_CALLS)]

    @override
    @_once_more
    def clustered(self, pass_: str) -> Clustered:
        session = self._loaded.session("float32")
        session.reset(session.twin.first_case)
        tensors = self._inputs(session, session.twin.first_case, pass_)
        with switch(AUTOCLUSTER):
            function = self._stage(session, pass_, AUTOCLUSTER, tensors)
            return _clustering.observe_clusters(
                function.get_concrete_function(*tensors), partial(finish, function, *tensors)
            )

    @override
    @_once_more
    def rewritten(self, pass_: str, options: OptimizerOptions) -> Rewritten:
        """As of the protocol: the trace is the same, whatever the options."""
        concrete, call = self._in_graph(pass_, self._loaded.twin.first_case)
        return _grappler.run_grappler(concrete, call, options)

    @override
    @_once_more
    def outputs_with(self, pass_: str, case: str, options: OptimizerOptions) -> dict[str, np.ndarray]:
        """As of the protocol, in mode graph."""
        _, call = self._in_graph(pass_, case)
        outputs = {leaf: on_host(value) for leaf, value in _grappler.outputs(call, options).items()}
        return outputs | self._loaded.session("float32").updated_weights() if pass_ == STEP else outputs

    @_once_more
    def donation(self) -> Donation:
        """The training step as `jit_compile=True` compiles it, and the variables that it updates."""
        session = self._loaded.session("float32")
        tensors = self._inputs(session, session.twin.first_case)
        return donated_step(session, self._stage(session, STEP, JIT, tensors), tensors)

    def watch(self, staging: Staging) -> Watched:
        """A function whose calls are watched."""
        return Watched(staging)

    @override
    def attempt(self, target: str, mode: str, arrays: Arrays) -> Attempted:
        options = None if mode == EAGER else {"jit_compile": True if mode == JIT else None}
        with switch(mode):
            return attempt(target, options, arrays, profile=mode == AUTOCLUSTER)

    def rebuild(self) -> None:
        """Build every model of the twin anew, and call it once: what it makes on its first call belongs to no graph."""
        for session in self._loaded.rebuild():
            session.pass_function(FORWARD)(*self._inputs(session, session.twin.first_case))

    @property
    def _stages(self) -> tuple[str, ...]:
        return STAGES[:-1] if self._device.lowers_for else STAGES

    def _lower(self, function: Any, tensors: Sequence[tf.Tensor], platform: Platform) -> Lowered:
        """A program that was lowered for a platform, which need not be here."""
        lowers_for = self._device.lowers_for or platform
        if lowers_for == "tpu":
            # Some operations have a kernel for it; a program with any other fails somewhere in the bridge.
            raise Unsupported(f"TensorFlow {tf.__version__} has the kernels of a TPU only where it was built for one")
        if lowers_for == "gpu":
            concrete = function.get_concrete_function(*tensors)
            return Lowered(*lowered_for(lowers_for, concrete, tensors), concrete)
        return lower(function, tensors)

    def _stage(self, session: Session, pass_: str, mode: str, tensors: Sequence[tf.Tensor]) -> Any:
        stage = partial(self._in_mode, session, pass_, mode, tensors)
        return self._loaded.function(session.dtype, pass_, mode, stage)

    def _prepare_call(self, mode: str) -> Callable[[], Any]:
        """One call of the main pass in a mode, from the state that a run starts from."""
        session = self._loaded.session("float32")
        case = session.twin.first_case
        session.reset(case)
        tensors = self._inputs(session, case, main_pass(session))
        with switch(mode):
            return partial(finish, self._stage(session, main_pass(session), mode, tensors), *tensors)

    def _in_mode(self, session: Session, pass_: str, mode: str, tensors: Sequence[tf.Tensor]) -> Any:
        if mode in _keras.modes(session.model):
            return _keras.training_step(session.model, mode)
        function = session.otherwise(pass_, mode) if mode in OTHERWISE else session.pass_function(pass_)
        return in_mode(function, mode, tensors)

    def _in_graph(self, pass_: str, case: str) -> tuple[Any, Callable[[], Any]]:
        """A pass in mode graph: the trace, and one call from the state that a run of a case starts from."""
        session = self._loaded.session("float32")
        session.reset(case)
        tensors = self._inputs(session, case, pass_)
        with switch(GRAPH):
            function = self._stage(session, pass_, GRAPH, tensors)
        return function.get_concrete_function(*tensors), partial(finish, function, *tensors)

    def _arguments(self, program: Program, case: str) -> list[tf.Tensor]:
        return [
            self._input(case, parameter.name, parameter.dtype)
            if parameter.kind == "input"
            else tf.constant(self._loaded.twin.argument(parameter, case, program.states))
            for parameter in program.parameters
        ]

    def _inputs(self, session: Session, case: str, pass_: str = FORWARD) -> list[tf.Tensor]:
        if pass_ == UNROLLED:
            return session.tensors(session.twin.first_batches)
        arrays = self._loaded.twin.cases[case]
        return [
            self._input(case, name, dtype_in(arrays[name].dtype, session.dtype)) for name in self._loaded.twin.inputs
        ]

    def _input(self, case: str, name: str, dtype: str) -> tf.Tensor:
        # Every mode and every compiled program reads the same memory: at paper size one is a gigabyte. The tensor is
        # another one each time, since a model may keep what it computed by the identity of a tensor.
        key = (case, name, dtype)
        if key not in self._tensors:
            self._tensors[key] = tf.constant(self._loaded.twin.cases[case][name].astype(dtype, copy=False))
        return tf.identity(self._tensors[key])


def create() -> TensorFlow:
    """This side's Framework.

    Raises:
      DeviceAbsent: the device that this process was told of is not there.
    """
    device = device_asked_for(os.environ)
    _device.pin(device)
    return TensorFlow(device)


def in_callers_process() -> TensorFlow:
    """This side's Framework beside code that is not its own: Keras' session is the caller's, and stays."""
    return TensorFlow(clear=None)
