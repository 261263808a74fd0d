"""The one file of this side that touches private JAX and jaxlib modules, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import jaxpr_as_fun

from workloads.protocol.compiling import without_unknown
from workloads.protocol.framework import CompilerOptions

TRIED = "0.10.2 to 0.12"


class PrivateModuleMoved(RuntimeError):
    """A private module is not where JAX 0.10.2 to 0.12 have it."""


def _require(module: str, attribute: str) -> Any:
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PrivateModuleMoved(
            f"expected {module}.{attribute} as in JAX {TRIED}, found JAX {jax.__version__} without it: "
            f"install JAX {TRIED}"
        ) from error


@dataclass(frozen=True)
class Executable:
    """A StableHLO program compiled for the first device, called with host arrays or device arrays."""

    loaded: Any

    @property
    def optimized_module(self) -> bytes:
        """Serialized HloModuleProto of the optimized module."""
        return self.loaded.hlo_modules()[0].as_serialized_hlo_module_proto()

    @property
    def temp_bytes(self) -> int:
        """Bytes set aside for intermediates."""
        return self.loaded.get_compiled_memory_stats().temp_size_in_bytes

    @property
    def executable_bytes(self) -> int | None:
        """The size of the executable when serialized for a cache; None if the client does not serialize it.

        Before JAX 0.8 the client serializes it, and the executable has no such method.
        """
        serialize = getattr(self.loaded, "serialize", None)
        if serialize is None:
            return None
        try:
            return len(serialize())
        except jax.errors.JaxRuntimeError:
            return None

    def __call__(self, arguments: Sequence[jax.Array]) -> list[jax.Array]:
        """The results of the program, in order."""
        results = self.loaded.execute_sharded(list(arguments))
        return [shards[0] for shards in results.disassemble_into_single_device_arrays()]


def settings() -> dict[str, str]:
    """JAX's configuration as it is for every thread, by name. JAX names the settings nowhere else."""
    return {f"jax.config.{name}": repr(value) for name, value in _require("jax", "config").values.items()}


def enable_x64(wide: bool) -> AbstractContextManager[object]:
    """Whether arrays of 64 bits stay so inside. Public since JAX 0.8; before, an experiment under the same name.

    Args:
      wide: whether they do.
    """
    place = "jax" if hasattr(jax, "enable_x64") else "jax.experimental"
    return _require(place, "enable_x64")(wide)


def another(array: jax.Array) -> jax.Array:
    """Another array of the same memory. Public functions return the same object, or one that is committed."""
    return _require("jax._src.array", "ArrayImpl")(array.aval, array.sharding, [array], committed=False)


def without_refs(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[..., Any]:
    """The function with the mutable arrays that it closes over as constants, and without what it writes to them.

    JAX does the same when it lowers for a call of its own; jax.export has no such step, and no public name reaches it.

    Raises:
      jax.errors.UnexpectedTracerError: it closes over an array of another trace.
    """
    jaxpr, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
    if any(isinstance(constant, Tracer) for constant in jaxpr.consts):
        raise jax.errors.UnexpectedTracerError("it closes over an array of another trace")
    explicit, refs = _require("jax._src.interpreters.pxla", "_move_mutable_consts")(jaxpr)
    run = jaxpr_as_fun(_require("jax._src.state.discharge", "discharge_state")(explicit))
    # Read here: inside of the call they would be closed over again.
    ref_values = [ref[...] for ref in refs]
    results, structure = jax.tree.flatten(shapes)

    def call(*arguments: Any) -> Any:
        outputs = run(*jax.tree.leaves(arguments), *ref_values)
        return jax.tree.unflatten(structure, outputs[: len(results)])

    return call


def text_without_lines(module: Any) -> str:
    """An optimized HLO module as text, without where in the user's code each instruction comes from."""
    options = _require("jaxlib._hlo", "HloPrintOptions")()
    options.print_metadata = False
    return module.to_string(options)


def compile_stablehlo(artifact: bytes, debug_options: CompilerOptions | None = None) -> Executable:
    """Compile a portable StableHLO artifact, whichever framework made it.

    Args:
      debug_options: XLA's, by name, as `jax.jit` takes them as compiler options.

    jax.export deserializes only what jax.export serialized, and jax.jit only traces: a program of
    another frontend can be handed to JAX's client directly, and in no public way.
    """
    context = _require("jax._src.interpreters.mlir", "make_ir_context")()
    deserialize = _require("jaxlib.mlir.dialects.stablehlo", "deserialize_portable_artifact")
    module = deserialize(context, artifact)
    with context:
        # Buffers that a program may update in place would be gone after its first call.
        if "mhlo.input_output_alias" in module.operation.attributes:
            del module.operation.attributes["mhlo.input_output_alias"]
        # Its name goes into the cache's key, and TensorFlow gives it none.
        if "sym_name" not in module.operation.attributes:
            string = _require("jaxlib.mlir.ir", "StringAttr")
            module.operation.attributes["sym_name"] = string.get("main")
    # jax.jit loads LAPACK when it lowers a call of it; a program that was lowered elsewhere would jump to address 0.
    _require("jaxlib.cpu._lapack", "initialize")()
    device = jax.devices()[0]
    devices = _require("jaxlib._jax", "DeviceList")((device,))
    options = _require("jaxlib.xla_client", "CompileOptions")()
    options.env_option_overrides = list((debug_options or {}).items())
    # As jax.jit compiles: where a worker has a compilation cache, by way of that.
    compiled = _require("jax._src.compiler", "compile_or_get_cached")
    try:
        return Executable(compiled(device.client, module, np.array([device]), options, [], devices))
    except jax.errors.JaxRuntimeError as error:
        accepted_options = without_unknown(debug_options or {}, str(error))
        if accepted_options is None:
            raise
        return compile_stablehlo(artifact, accepted_options)


def is_jitted(function: Any) -> bool:
    """Whether `jax.jit` made a function, and nothing around it, as nnx.jit does."""
    return hasattr(function, "_jit_info")


def jitted_with(function: Any) -> dict[str, Any]:
    """The static and donated arguments of a function from `jax.jit`; no public name has them."""
    if not is_jitted(function):
        return {}
    info = function._jit_info
    names = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames", "keep_unused")
    return {name: setting for name in names if (setting := getattr(info, name))}


def signatures_kept(function: Any) -> int | None:
    """How many signatures a jitted function keeps programs of; None of what wraps jax.jit."""
    size = getattr(function, "_cache_size", None)
    return None if size is None else size()
