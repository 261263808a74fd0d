"""TensorFlow's side of the protocol: modes, lowering, running a foreign program, profiling."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf
from typing_extensions import override

from tf_reference import _binding, _clustering, _compiler_stages, _device, _grappler, _keras, _private, _sources
from tf_reference._attempting import attempt
from tf_reference._callers_settings import settings_for_check as settings_for_check
from tf_reference._case_tensors import CaseTensors
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
from tf_reference._rebuilding import rebuilt_once
from tf_reference._recompiling import Watched
from tf_reference._saving import save
from tf_reference._session import Session
from tf_reference._stateless import lowered_for
from workloads.core.device import ON_CPU, Device, device_asked_for
from workloads.core.spec import Arrays
from workloads.protocol.framework import (
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
    CompilerOptions,
    Donation,
    Entry,
    KernelRun,
    Optimized,
    Platform,
    Prepared,
    Program,
    Scalar,
    Twin,
    Unsupported,
    default_pass,
)
from workloads.protocol.layer_calls import Given, LayerCalls
from workloads.protocol.loaded import Loaded, main_pass
from workloads.protocol.methods import Framework
from workloads.protocol.recompiling import Staging
from workloads.protocol.rewriting import OptimizerOptions, Rewritten
from workloads.protocol.trajectory import Guide, trajectory
from workloads.protocol.unroll import unroll

OTHERWISE = ("handwritten", "apart")
"""The main pass computed in another way, which the twin hands over: fields of Model."""


class TensorFlow(Framework):
    """The twin in TensorFlow, in its modes."""

    side = "tf"
    refusals: ClassVar[Mapping[str, str]] = {
        "serialized": "the form of jax.export is JAX's to write",
        # XLA's flags hold for a whole process, and are read before the first compilation.
        "offer": "TensorFlow compiles every function of a process with the same XLA_FLAGS",
    }

    def __init__(self, device: Device = ON_CPU, clear: Callable[[], object] | None = forget) -> None:
        self._device = device
        self._loaded: Loaded[Session, Any] = Loaded(Session, clear)
        self._tensors = CaseTensors(self._loaded)
        # TensorFlow compiles again what was compiled before this switch was first set to anything.
        tf.config.optimizer.set_jit(False)

    def environment(self) -> dict[str, Scalar]:
        """Versions, device and what is pinned on it, and thread settings."""
        return {
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "device": _device.describe_device(),
            "threads": tf.config.threading.get_intra_op_parallelism_threads() or "default",
        } | _device.pinned_settings(self._device)

    def settings(self) -> dict[str, str]:
        """The settings of TensorFlow and Keras for the whole process, by name."""
        return {
            "tf.config.functions_run_eagerly": str(tf.config.functions_run_eagerly()),
            "tf.config.optimizer.get_jit": tf.config.optimizer.get_jit(),
            "keras floatx": str(tf.keras.backend.floatx()),
            "keras image_data_format": str(tf.keras.backend.image_data_format()),
            "keras dtype policy": tf.keras.mixed_precision.global_policy().name,
        }

    def load(self, twin: Twin) -> dict[str, Any]:
        """Build the twin and say which passes and modes it has."""
        self._tensors = CaseTensors(self._loaded)
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
    @rebuilt_once
    def outputs(
        self, mode: str, pass_: str, case: str, dtype: str, sent: Arrays | None = None
    ) -> dict[str, np.ndarray]:
        session = self._loaded.session(dtype)
        tensors = (
            session.tensors({**session.twin.cases[case], **sent})
            if sent
            else self._tensors.inputs(session, case, pass_)
        )
        with switch(mode), compilable():
            function = self._stage(session, pass_, mode, tensors)
            session.reset(case, sent)
            outputs = {leaf: on_host(value) for leaf, value in function(*tensors).items()}
        return outputs | session.updated_weights() if pass_ in (STEP, UNROLLED) else outputs

    @override
    @rebuilt_once
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
    @rebuilt_once
    def layers(
        self, pass_: str, case: str, dtype: str, given: Sequence[Given], sent: Arrays
    ) -> tuple[LayerCalls, Arrays]:
        """See the protocol; runs op by op, and the original takes no further arrays."""
        if given:
            raise Unsupported("layers of the original are called on what the original gives them alone")
        session = self._loaded.session(dtype)
        function = session.scalar if pass_ == GRADIENTS else session.model.forward
        with switch(EAGER):
            session.reset(case)
            return layer_calls(function, self._tensors.inputs(session, case, FORWARD), pass_ == GRADIENTS)

    @override
    @rebuilt_once
    def program(self, pass_: str, dtype: str, platform: Platform = "cpu") -> Program:
        """The StableHLO that jit_compile=True passes to XLA, variables as trailing parameters."""
        session, tensors = self._start(pass_, dtype=dtype)
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

    @rebuilt_once
    def stages(self) -> dict[str, str]:
        """The main pass as text, for people; the optimized module only of a device that is here."""
        session, tensors = self._start(self._main_pass)
        with compilable():
            lowered = self._lower(self._stage(session, self._main_pass, JIT, tensors), tensors, "cpu")
            return _compiler_stages.texts(lowered.stage, STAGES[:-1] if self._device.lowers_for else STAGES)

    @override
    def compile(self, program: Program, options: CompilerOptions = NO_OPTIONS) -> Compiled:
        if options:
            raise Unsupported("TensorFlow takes XLA's options from the environment variable XLA_FLAGS alone")
        results = [(result.dtype, result.shape) for result in program.results]
        call = _private.call_stablehlo(program.artifact, results, _device.platform())
        function = tf.function(call, jit_compile=True, autograph=False)
        arguments = self._tensors.arguments(program, self._loaded.twin.first_case)
        start = time.perf_counter()
        function(*arguments)
        compile_s = time.perf_counter() - start
        return self._loaded.keep(program, function, compile_s)

    def optimized(self, handle: int) -> Optimized:
        """The optimized module of a compiled program; takes two more compilations, one per stage."""
        program, function = self._loaded.compiled(handle)
        lower = function.experimental_get_compiler_ir(*self._tensors.arguments(program, self._loaded.twin.first_case))
        return Optimized(lower(stage="optimized_hlo_serialized"), _compiler_stages.memory(lower).temp_bytes)

    def save_model(self, handle: int, folder: Path) -> None:
        """Write a compiled program as a SavedModel, its weights as variables."""
        program, function = self._loaded.compiled(handle)
        save(program, function, self._loaded.twin, folder)

    def execute(self, handle: int, case: str) -> dict[str, np.ndarray]:
        """Run a compiled program on the arrays of a case."""
        program, function = self._loaded.compiled(handle)
        return program.name_results(map(on_host, function(*self._tensors.arguments(program, case))))

    @override
    def unroll(self, handle: int, checkpoints: Sequence[int], guide: Arrays | None = None) -> dict[str, np.ndarray]:
        program, function = self._loaded.compiled(handle)

        def run(arguments: list[np.ndarray]) -> list[np.ndarray]:
            return [on_host(value) for value in function(*map(tf.constant, arguments))]

        return unroll(run, program, self._loaded.twin, checkpoints, guide)

    @rebuilt_once
    def prepare(self, target: str | int) -> Prepared:
        """One call with a barrier inside, on a device that TensorFlow returns from before the work is done."""
        if isinstance(target, int):
            program, function = self._loaded.compiled(target)
            arguments = self._tensors.arguments(program, self._loaded.twin.first_case)
            # The ConcreteFunction: what finding it costs is no part of a cell.
            return Prepared(partial(finish, function.get_concrete_function(*arguments), *arguments))
        session, tensors = self._start(self._main_pass)
        start = time.perf_counter()
        if target == _keras.STEPS:
            call = partial(finish, _keras.execution(session.model, tuple(tensors)))
            return Prepared(call, steps=_keras.STEPS_PER_EXECUTION)
        with switch(target):
            function = self._in_mode(session, self._main_pass, target, tensors)
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
        """Unknown."""
        return ""

    @rebuilt_once
    def profile(self, target: str | int) -> list[list[KernelRun]]:
        """The kernels that each of some warm calls ran, in order: TF operations and HLO instructions."""
        if isinstance(target, int):
            call = self.prepare(target).call
        else:
            function, tensors = self._prepare_pass(self._main_pass, target)
            call = partial(finish, function, *tensors)
        with switch(str(target)):
            call()
            return [profile_call(call, target == EAGER) for _ in range(PROFILED_CALLS)]

    @override
    @rebuilt_once
    def clustered(self, pass_: str) -> Clustered:
        function, tensors = self._prepare_pass(pass_, AUTOCLUSTER)
        with switch(AUTOCLUSTER):
            concrete = function.get_concrete_function(*tensors)
            return _clustering.observe_clusters(concrete, partial(finish, function, *tensors))

    @override
    @rebuilt_once
    def rewritten(self, pass_: str, options: OptimizerOptions) -> Rewritten:
        """See the protocol; the trace is the same for all options."""
        function, tensors = self._prepare_pass(pass_, GRAPH)
        concrete = function.get_concrete_function(*tensors)
        return _grappler.run_grappler(concrete, partial(finish, function, *tensors), options)

    @override
    @rebuilt_once
    def outputs_with(self, pass_: str, case: str, options: OptimizerOptions) -> dict[str, np.ndarray]:
        """See the protocol; runs in mode graph."""
        function, tensors = self._prepare_pass(pass_, GRAPH, case)
        results = _grappler.outputs(partial(finish, function, *tensors), options)
        outputs = {leaf: on_host(value) for leaf, value in results.items()}
        return outputs | self._loaded.session("float32").updated_weights() if pass_ == STEP else outputs

    @rebuilt_once
    def donation(self) -> Donation:
        """The training step as `jit_compile=True` compiles it, and the variables that it updates."""
        session = self._loaded.session("float32")
        tensors = self._tensors.inputs(session, session.twin.first_case)
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
            session.pass_function(FORWARD)(*self._tensors.inputs(session, session.twin.first_case))

    @property
    def _main_pass(self) -> str:
        return main_pass(self._loaded.session("float32"))

    def _start(self, pass_: str, case: str = "", dtype: str = "float32") -> tuple[Session, list[tf.Tensor]]:
        """A session in the state that a run of a case starts from, the first without one, and the tensors of a pass."""
        session = self._loaded.session(dtype)
        case = case or session.twin.first_case
        session.reset(case)
        return session, self._tensors.inputs(session, case, pass_)

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

    def _prepare_pass(self, pass_: str, mode: str, case: str = "") -> tuple[Any, list[tf.Tensor]]:
        """A pass as a mode runs it and its tensors, from the state that a run of a case starts from."""
        session, tensors = self._start(pass_, case)
        with switch(mode):
            return self._stage(session, pass_, mode, tensors), tensors

    def _in_mode(self, session: Session, pass_: str, mode: str, tensors: Sequence[tf.Tensor]) -> Any:
        if mode in _keras.modes(session.model):
            return _keras.training_step(session.model, mode)
        function = session.otherwise(pass_, mode) if mode in OTHERWISE else session.pass_function(pass_)
        return in_mode(function, mode, tensors)


def create() -> TensorFlow:
    """This side's Framework.

    Raises:
      DeviceAbsent: this process lacks the device that its environment names.
    """
    device = device_asked_for(os.environ)
    _device.pin(device)
    return TensorFlow(device)


def in_callers_process() -> TensorFlow:
    """This side's Framework beside code that is not its own: Keras' session is the caller's, and stays."""
    return TensorFlow(clear=None)
