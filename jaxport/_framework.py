"""JAX's side of the protocol: modes, lowering, running a foreign program, profiling."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import flax
import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
import optax
from typing_extensions import override

from jaxport import _binding, _device, _private
from jaxport._attempting import attempt
from jaxport._callers_settings import settings_for_check as settings_for_check
from jaxport._closures import Found, exportable, use_staged
from jaxport._digest import digest
from jaxport._donation import donated_step
from jaxport._foreign_calls import export_function
from jaxport._layer_calls import layer_calls
from jaxport._modes import APART, DONATED, EAGER, JIT, TUNED, declared_options, find_refusal, in_mode
from jaxport._profiling import profile_call
from jaxport._recompiling import Watched
from jaxport._session import Session, named_results
from jaxport._timed_calls import finish, pass_call, ready_call, training_call, warm_up
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
    Attempted,
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
from workloads.protocol.unroll import unroll

_PLATFORMS: dict[Platform, str] = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}
"""The names of platforms in jax.export."""

_NO_OPTIMIZER = "JAX has no graph optimizer with switches: XLA alone rewrites a program"


class Jax(Framework):
    """The twin in JAX, in its modes."""

    side = "jax"
    refusals: ClassVar[Mapping[str, str]] = {
        "save_model": "a SavedModel is TensorFlow's to write",
        "clustered": "JAX compiles every function whole: there are no clusters",
        "rewritten": _NO_OPTIMIZER,
        "outputs_with": _NO_OPTIMIZER,
    }

    def __init__(self, device: Device = ON_CPU, clear: Callable[[], object] | None = jax.clear_caches) -> None:
        self._device = device
        # JAX keeps thousands of executables.
        self._loaded: Loaded[Session, _private.Executable] = Loaded(Session, clear)
        self._options: dict[str, CompilerOptions] = {}

    def environment(self) -> Mapping[str, Scalar]:
        """Versions, device and what is pinned on it."""
        return {
            "jax": jax.__version__,
            "jaxlib": jaxlib.version.__version__,
            "flax": flax.__version__,
            "optax": optax.__version__,
            "device": _device.describe_device(jax.devices()[0]),
            "threads": "default",
        } | _device.pinned_settings(self._device)

    def settings(self) -> dict[str, str]:
        """JAX's configuration, by name."""
        return _private.settings()

    def load(self, twin: Twin) -> dict[str, Any]:
        """Build the twin and say which modes each of its passes has."""
        self._loaded.load(twin)
        session = self._loaded.session("float32")
        options = declared_options(session.model)
        self._options = {TUNED: options} if options else {}
        modes = {FORWARD: [EAGER, JIT, *self._options]}
        if twin.is_differentiable:
            modes[GRADIENTS] = [EAGER, JIT, *self._options]
        if session.model.step is not None:
            modes[STEP] = [EAGER, JIT, DONATED, *self._options]
            if twin.unrolled:
                modes[UNROLLED] = [JIT, DONATED, *self._options]
        if session.model.apart is not None:
            modes[default_pass(modes)].append(APART)
        return {"modes": modes, "compiler_options": options}

    @override
    def outputs(
        self, mode: str, pass_: str, case: str, dtype: str, sent: Arrays | None = None
    ) -> dict[str, np.ndarray]:
        session = self._loaded.session(dtype)
        with session.precision():
            arguments = session.arguments(pass_, case, sent)
            results = self._use(session, pass_, mode, lambda function: function(*arguments))
            leaves = named_results(session, pass_, results)
            # A pass but a step has no state of its own: what it calls so is a result.
            hidden = "state/" if pass_ in (STEP, UNROLLED) else ()
            return {leaf: session.fetch(leaf, value) for leaf, value in leaves.items() if not leaf.startswith(hidden)}

    @override
    def trajectory(
        self, mode: str, dtype: str, checkpoints: Sequence[int], guide: Arrays | None = None
    ) -> dict[str, np.ndarray]:
        session = self._loaded.session(dtype)
        with session.precision():
            return self._use(session, STEP, mode, lambda function: training_call(session, function, checkpoints, guide))

    @override
    def program(self, pass_: str, dtype: str, platform: Platform = "cpu") -> Program:
        """The StableHLO that jax.jit passes to XLA, without arguments that the function ignores."""
        session = self._loaded.session(dtype)
        with session.precision():
            artifact, function, arguments = self._export(session, pass_, platform)
            sources, states = _binding.parameter_sources(session, pass_, arguments)
            names = _binding.leaf_names(session, pass_, jax.eval_shape(function, *arguments))
        kept_indices = artifact.module_kept_var_idx
        return Program(
            artifact=artifact.mlir_module_serialized,
            parameters=tuple(sources[index].parameter(artifact.in_avals[index]) for index in kept_indices),
            results=tuple(_binding.result(name, aval) for name, aval in zip(names, artifact.out_avals, strict=True)),
            states=states,
        )

    @override
    def layers(
        self, pass_: str, case: str, dtype: str, given: Sequence[Given], sent: Arrays
    ) -> tuple[LayerCalls, Arrays]:
        session = self._loaded.session(dtype)
        function = session.scalar if pass_ == GRADIENTS else session.model.forward
        with session.precision():
            arguments = session.arguments(FORWARD, case)
            calls, arrays = layer_calls(function, arguments, pass_ == GRADIENTS, given, sent)
            return replace(calls, changed=session.changed_weights(case)), arrays

    def _export(self, session: Session, pass_: str, platform: Platform) -> tuple[jax.export.Exported, Any, Any]:
        """A pass as it is exported, the function, and its arguments."""
        # What is compiled for another device is never run here, and its memory is that of the step as users run it.
        mode = DONATED if platform != "cpu" and pass_ == STEP else JIT
        arguments = session.arguments(pass_, session.twin.first_case)
        jit_function = self._use(session, pass_, mode, lambda function: exportable(function, mode, arguments))
        return export_function(jit_function, arguments, _PLATFORMS[platform]), jit_function, arguments

    def serialized(self, pass_: str) -> bytes:
        """A pass as `jax.export.deserialize` takes it, whose `call` takes what the function took."""
        session = self._loaded.session("float32")
        with session.precision():
            return bytes(self._export(session, pass_, "cpu")[0].serialize())

    def stages(self) -> dict[str, str]:
        """The main pass as text, for people, from the jaxpr to the optimized module."""
        session = self._loaded.session("float32")
        pass_ = main_pass(session)
        with session.precision():
            arguments = session.arguments(pass_, session.twin.first_case)
            jit_function = self._use(session, pass_, JIT, lambda function: exportable(function, JIT, arguments))
            lowered = jit_function.lower(*arguments)
            return {
                "jaxpr": str(jit_function.trace(*arguments).jaxpr),
                "stablehlo": lowered.as_text(),
                "hlo": lowered.as_text(dialect="hlo"),
                "optimized_hlo": lowered.compile().as_text() or "",
            }

    def compile(self, program: Program, options: CompilerOptions = NO_OPTIONS) -> Compiled:
        """Compile any program by JAX's XLA, with these of its debug options; one that differs in states alone, once."""
        executables, key = self._loaded.executables, (program.artifact, tuple(sorted(options.items())))
        if key not in executables:
            start = time.perf_counter()
            executable = _private.compile_stablehlo(program.artifact, options)
            executables[key] = executable, time.perf_counter() - start
        return self._loaded.keep(program, *executables[key])

    def optimized(self, handle: int) -> Optimized:
        """The optimized module of a compiled program."""
        _, executable = self._loaded.compiled(handle)
        return Optimized(executable.optimized_module, executable.temp_bytes, executable.executable_bytes)

    def execute(self, handle: int, case: str) -> dict[str, np.ndarray]:
        """Run a compiled program on the arrays of a case."""
        program, executable = self._loaded.compiled(handle)
        return program.name_results(executable(self._device_arguments(program, case)))

    @override
    def unroll(self, handle: int, checkpoints: Sequence[int], guide: Arrays | None = None) -> dict[str, np.ndarray]:
        program, executable = self._loaded.compiled(handle)

        def run(arguments: list[np.ndarray]) -> list[np.ndarray]:
            with _private.enable_x64(True):
                return [np.array(value) for value in executable([jax.device_put(argument) for argument in arguments])]

        return unroll(run, program, self._loaded.twin, checkpoints, guide)

    def prepare(self, target: str | int) -> Prepared:
        """One call that waits for all its results: JAX returns before the work is done."""
        if isinstance(target, int):
            program, executable = self._loaded.compiled(target)
            arguments = self._device_arguments(program, self._loaded.twin.first_case)
            return Prepared(partial(finish, executable, arguments))
        session = self._loaded.session("float32")
        pass_ = main_pass(session)

        # A function of its own: what another request compiled would make its stages look free.
        def own(session_built: Session) -> Any:
            return self._in_mode(session_built, pass_, target)

        ready = partial(ready_call, session, pass_, target)
        return use_staged(ready, partial(own, session), lambda: own(self._loaded.anew(session.dtype)))

    def dispatch(self) -> dict[str, Entry]:
        """`x + 1` as an operation, as a jitted function, and as its executable."""
        one_more, argument = jax.jit(lambda x: x + 1), jnp.zeros(DISPATCH_ELEMENTS)
        executable = one_more.lower(argument).compile()
        return {
            EAGER: Entry(partial(finish, lambda x: x + 1, argument)),
            JIT: Entry(partial(finish, one_more, argument), partial(finish, executable, argument)),
        }

    @override
    def offer(self, mode: str, options: CompilerOptions) -> None:
        if refusal := find_refusal(options):
            raise Unsupported(refusal)
        self._options[mode] = options
        self._loaded.drop(mode)

    def digest(self, target: str | int) -> str:
        """A digest of the code of the main pass in a mode, or of a compiled program."""
        if isinstance(target, int):
            return digest(self._loaded.compiled(target)[1].loaded)
        session = self._loaded.session("float32")
        pass_ = main_pass(session)
        with session.precision():
            arguments = session.arguments(pass_, session.twin.first_case)
            lowered = self._use(session, pass_, target, lambda function: function.lower(*arguments))
            compiled = lowered.compile()
        return digest(compiled.runtime_executable())

    def profile(self, target: str | int) -> list[list[KernelRun]]:
        """The HLO instructions that each of some warm calls ran, in order."""
        session = self._loaded.session("float32")
        with session.precision():
            if isinstance(target, int):
                call = warm_up(self.prepare(target).call)
            else:
                pass_ = main_pass(session)
                call = self._use(
                    session, pass_, target, lambda function: warm_up(pass_call(session, pass_, function)[0])
                )
            return [profile_call(call) for _ in range(PROFILED_CALLS)]

    def donation(self) -> Donation:
        """The training step as mode `donated` compiles it."""
        session = self._loaded.session("float32")
        return self._use(session, STEP, DONATED, partial(donated_step, session))

    def watch(self, staging: Staging) -> Watched:
        """A function whose calls are watched."""
        return Watched(staging)

    @override
    def attempt(self, target: str, mode: str, arrays: Arrays) -> Attempted:
        if mode != JIT:
            raise Unsupported(f"a function is tried under jax.jit alone, and not in mode {mode!r}")
        return attempt(target, arrays)

    def _stage(self, session: Session, pass_: str, mode: str) -> Any:
        return self._loaded.function(session.dtype, pass_, mode, partial(self._in_mode, session, pass_, mode))

    def _rebuild(self, session: Session, pass_: str, mode: str) -> Any:
        function = self._in_mode(self._loaded.anew(session.dtype), pass_, mode)
        return self._loaded.replace(session.dtype, pass_, mode, function)

    def _in_mode(self, session: Session, pass_: str, mode: str) -> Any:
        function = session.apart(pass_) if mode == APART else session.pass_function(pass_)
        return in_mode(function, mode, self._options.get(mode))

    def _use(self, session: Session, pass_: str, mode: str, use: Callable[[Any], Found]) -> Found:
        return use_staged(use, partial(self._stage, session, pass_, mode), partial(self._rebuild, session, pass_, mode))

    def _device_arguments(self, program: Program, case: str) -> list[jax.Array]:
        values = dict(zip(self._loaded.twin.inputs, self._loaded.session("float32").case_inputs(case), strict=True))
        # Without x64 JAX would narrow what another frontend's program declares as 64 bits wide.
        with _private.enable_x64(True):
            return [
                values[parameter.name]
                if parameter.kind == "input" and str(values[parameter.name].dtype) == parameter.dtype
                else jax.device_put(self._loaded.twin.argument(parameter, case, program.states))
                for parameter in program.parameters
            ]


def create() -> Jax:
    """This side's Framework.

    Raises:
      DeviceAbsent: this process lacks the device that its environment names.
    """
    device = device_asked_for(os.environ)
    _device.require(device)
    _device.set_dispatch(os.environ)
    return Jax(device)


def in_callers_process() -> Jax:
    """This side's Framework beside code that is not its own: JAX's caches are the caller's, and stay."""
    return Jax(clear=None)
