"""The one door to private jaxlib modules: everything below may move with a jaxlib release.

Importing this file starts no backend. The context that a module lives in is its own, so that large
constants are freed with the module.
"""

from __future__ import annotations

import functools
import importlib
import io
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compare.errors import Foreseen
from workloads.protocol.compiling import without_unknown
from workloads.protocol.framework import CompilerOptions

# jaxlib logs its CPU client, and stack frames that TensorFlow left out, unless this stands before its first import.
QUIETED = "TF_CPP_MIN_LOG_LEVEL" not in os.environ
"""Whether the variable is this process's own, and none that the user set for other programs."""

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

if TYPE_CHECKING:
    from jaxlib.mlir import ir

TRIED = ("0.10.", "0.11.", "0.12.")
"""The jaxlib releases that every name below was tried with."""

_TRIED = ", ".join(f"{release}*" for release in TRIED)


_MOST_SAID = 500
"""Characters: XLA quotes the line that it does not take, however long it is."""

BYTECODE = b"ML\xefR"
"""The first bytes of MLIR bytecode, and thus of every StableHLO artifact."""


class BindingsMoved(Foreseen, ImportError):
    """jaxlib no longer has a private name that jaxport reads programs with."""


class BindingsUntried(UserWarning):
    """jaxlib is not of a release that the bindings were tried with."""


class UnreadableProgram(Foreseen):
    """The bytes are not what they were said to be."""


@functools.cache
def _private(module: str, name: str = "") -> Any:
    try:
        loaded_module = importlib.import_module(module)
        return getattr(loaded_module, name) if name else loaded_module
    except (ImportError, AttributeError) as error:
        version = importlib.import_module("jaxlib.version").__version__
        full_name = f"{module}.{name}" if name else module
        raise BindingsMoved(
            f"expected {full_name} as in jaxlib {_TRIED}, found jaxlib {version} without it: install one of them"
        ) from error


if not TYPE_CHECKING:
    # The MLIR core bindings: modules, types, attributes. Public in upstream MLIR, private in jaxlib.
    ir = _private("jaxlib.mlir.ir")


@functools.cache
def _warn_if_untried() -> None:
    version = _private("jaxlib.version", "__version__")
    if not version.startswith(TRIED):
        warnings.warn(
            f"programs are read through private names of jaxlib {_TRIED}, found jaxlib {version}: check what it counts",
            BindingsUntried,
            stacklevel=4,
        )


def stablehlo(name: str) -> Any:
    """A name of the StableHLO dialect: a builder, a reader or writer of artifacts, the interpreter."""
    return _private("jaxlib.mlir.dialects.stablehlo", name)


def func(name: str) -> Any:
    """A name of the func dialect: a builder of functions and returns."""
    return _private("jaxlib.mlir.dialects.func", name)


def _context() -> ir.Context:
    _warn_if_untried()
    registry = ir.DialectRegistry()
    # func and the other upstream dialects are linked into this extension and registered nowhere else.
    _private("jaxlib.mlir._mlir_libs._jax_mlir_ext", "register_dialects")(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    stablehlo("register_dialect")(context)
    _private("jaxlib.mlir.dialects.chlo", "register_dialect")(context)
    # The canonical passes go through MHLO, which has the folders that StableHLO lacks.
    _private("jaxlib.mlir._mlir_libs._mlirHlo", "register_mhlo_dialect")(context)
    # Programs written under JAX's default partitioner carry Shardy attributes.
    _private("jaxlib.mlir.dialects.sdy", "register_dialect")(context)
    # Readers load what else a program names; to load all that is registered takes four times as long as the rest.
    context.dialects["func"]
    context.enable_multithreading(False)
    # Errors come back as exceptions; MLIR would print them to stderr as well.
    context.attach_diagnostic_handler(lambda _: True)
    return context


def parse(artifact: bytes) -> ir.Module:
    """The program in a portable StableHLO artifact, or in plain MLIR bytecode.

    JAX exports the former; TensorFlow's `stablehlo_serialized` is the latter.

    Raises:
      UnreadableProgram: neither, or written by a newer StableHLO than this jaxlib reads.
    """
    if not artifact.startswith(BYTECODE):
        raise UnreadableProgram(
            f"expected StableHLO bytecode, found {len(artifact)} bytes that start {artifact[:8]!r}: pass an artifact"
        )
    try:
        return stablehlo("deserialize_portable_artifact")(_context(), artifact)
    except ValueError as error:
        raise UnreadableProgram(
            f"expected StableHLO up to {stablehlo('get_current_version')()}, found bytecode that it cannot read "
            f"({error}): write it with an older version or install a newer jaxlib"
        ) from error


def serialize(module: ir.Module) -> bytes:
    """The program as a portable artifact that XLA releases of the last four weeks and later can read.

    Raises:
      UnreadableProgram: it holds what no artifact can, as an operation of an unknown dialect.
    """
    # The compatibility that jax.export writes with.
    requirement = stablehlo("StablehloCompatibilityRequirement").WEEK_4
    version = stablehlo("get_version_from_compatibility_requirement")(requirement)
    write = stablehlo("serialize_portable_artifact")
    try:
        try:
            return write(module, version)
        except ValueError:
            # JAX exports calls of LAPACK with the rule by which Shardy would partition them: no StableHLO.
            return write(module, version, True)
    except ValueError as error:
        raise UnreadableProgram(
            f"expected a program of which StableHLO can keep every part, found one that it cannot write ({error}): "
            "what asks for it is not judged"
        ) from error


def artifact(text: str) -> bytes:
    """The portable artifact of a StableHLO program that jaxport itself wrote as text, every constant spelled out."""
    with _context():
        return serialize(ir.Module.parse(text))


def operations(module: ir.Module) -> list[ir.Operation]:
    """Every operation of the program in textual order, the outer before the inner, the module left out."""
    all_operations: list[ir.Operation] = []

    def visit(operation: Any) -> Any:
        all_operations.append(operation.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return all_operations[1:]


def _hlo_module(proto: bytes) -> Any:
    # The HLO classes have no public counterpart; jax.extend only hooks into compilations.
    _warn_if_untried()
    try:
        return _private("jaxlib._hlo", "HloModule").from_serialized_hlo_module_proto(proto)
    except RuntimeError as error:
        raise UnreadableProgram(f"expected a serialized HloModuleProto, found {len(proto)} other bytes") from error


def hlo_text(proto: bytes) -> str:
    """HLO text of a serialized HloModuleProto, for people: large constants are left out.

    Raises:
      UnreadableProgram: the bytes are no HloModuleProto.
    """
    return _hlo_module(proto).to_string()


@functools.cache
def _cpu_client() -> Any:
    # Made beside JAX's own backends: the cost analysis needs a client and must not choose JAX's platform.
    return _private("jaxlib.xla_client", "make_cpu_client")()


def hlo_cost(proto: bytes) -> dict[str, float]:
    """XLA's cost analysis of a serialized HloModuleProto; empty where XLA has none for it."""
    analysis = _private("jaxlib._jax", "hlo_module_cost_analysis")
    try:
        return dict(analysis(_cpu_client(), _hlo_module(proto)))
    except _private("jaxlib._jax", "JaxRuntimeError"):
        return {}


def hlo_of(module: ir.Module) -> bytes:
    """A StableHLO program as XLA takes it in: a serialized HloModuleProto, nothing optimized.

    Raises:
      UnreadableProgram: XLA does not take it.
    """
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    convert = _private("jaxlib._jax", "mlir").mlir_module_to_xla_computation
    try:
        return convert(bytecode.getvalue(), use_tuple_args=False, return_tuple=True).as_serialized_hlo_module_proto()
    except _private("jaxlib._jax", "JaxRuntimeError") as error:
        raise UnreadableProgram(f"expected a program that XLA takes, found {_first_line(error)}") from error


def hlo_from_text(text: str) -> bytes:
    """The serialized HloModuleProto of HLO text. A constant that the text leaves out comes back as garbage.

    Only text of our own: at that of a file XLA's parser can end this process. `compare.hlo.executing` asks a worker.

    Raises:
      UnreadableProgram: the text is no HLO.
    """
    try:
        return _private("jaxlib._hlo", "hlo_module_from_text")(text).as_serialized_hlo_module_proto()
    except RuntimeError as error:  # jaxlib's own error is one, and no other before jaxlib._jax was imported
        message = " ".join(str(error).splitlines()[:2])
        raise UnreadableProgram(f"expected HLO text, found {message[:_MOST_SAID]}") from error


def bytecode_of_hlo(proto: bytes) -> bytes:
    """The StableHLO bytecode of a serialized HloModuleProto without fusions.

    Raises:
      UnreadableProgram: an instruction has no StableHLO, such as a call of a library.
    """
    try:
        return _private("jaxlib._jax", "mlir").hlo_to_stablehlo(proto)
    except (_private("jaxlib._jax", "JaxRuntimeError"), ValueError) as error:
        raise UnreadableProgram(f"expected HLO that StableHLO can express, found {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def dispatch_synchronously() -> None:
    """Hand no call to another thread: of thousands of small ones, most of the time was waking it.

    Before JAX makes its first array.
    """
    importlib.import_module("jax").config.update("jax_cpu_enable_async_dispatch", False)


@functools.cache
def initialize_libraries() -> None:
    """Load what compiled programs call by name.

    jax.jit does so when it lowers such a call; a foreign program does not, and its first call of LAPACK would jump to
    address 0.
    """
    _private("jaxlib.cpu._lapack", "initialize")()


@dataclass(frozen=True)
class LoadedProgram:
    """A program compiled by this process's XLA for its first CPU, and called with arrays."""

    loaded: Any

    @property
    def optimized_module(self) -> bytes:
        """Serialized HloModuleProto of the optimized module."""
        return self.loaded.hlo_modules()[0].as_serialized_hlo_module_proto()

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One call and all of its results."""
        return self.each([arrays])[0]

    def each(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """Several calls; an array that they share is handed to XLA once."""
        # By identity, which holds for as long as `calls` keeps them.
        arrays = {id(array): array for call in calls for array in call}
        by_identity = dict(zip(arrays, place_arrays(list(arrays.values())), strict=True))
        runs = (self.execute([by_identity[id(array)] for array in call]) for call in calls)
        return [list(map(np.asarray, results)) for results in runs]

    def execute(self, arguments: Sequence[Any]) -> list[Any]:
        """One call with arrays that are placed already; its results are.

        Raises:
          UnreadableProgram: XLA refuses the arguments, as with an array of a dynamic shape that an operation has made.
        """
        try:
            results = self.loaded.execute_sharded(list(arguments)).disassemble_into_single_device_arrays()
        except _private("jaxlib._jax", "JaxRuntimeError") as error:
            raise UnreadableProgram(f"expected a program that XLA runs, found {_first_line(error)}") from error
        return [shards[0] for shards in results]


def place_arrays(arrays: Sequence[np.ndarray]) -> list[Any]:
    """Arrays on the CPU that programs are loaded for, as XLA takes them."""
    jax = importlib.import_module("jax")
    # `jax.device_put` takes 60 microseconds an array, this 13: a sweep places a hundred thousand small ones.
    put = _private("jaxlib._jax", "batched_device_put")
    device = jax.local_devices(backend="cpu")[0]
    sharding = jax.sharding.SingleDeviceSharding(device)

    def place(array: np.ndarray) -> Any:
        # Without x64 JAX would narrow what a program declares as 64 bits wide.
        aval = jax.core.ShapedArray(array.shape, array.dtype)
        return put(aval, sharding, [array], [device], enable_x64=True)

    return [place(np.asarray(array)) for array in arrays]


def load_bytecode(bytecode: bytes, options: CompilerOptions) -> LoadedProgram:
    """Compile StableHLO bytecode, portable artifact or not, by this process's XLA for CPU, to be run in this process.

    Only a worker may: what runs here can end this process. `compare.hlo.executing` asks one.

    Args:
      options: XLA's debug options by name, such as {"xla_disable_hlo_passes": "fusion"}.

    Raises:
      UnreadableProgram: the bytes are no StableHLO, or XLA refuses the program or an option.
    """
    # jax.jit only traces, and jax.export reads only what it wrote: no public way takes a foreign program.
    client = importlib.import_module("jax").local_devices(backend="cpu")[0].client
    initialize_libraries()
    module = parse(bytecode)
    with module.context:
        # Buffers that a program may update in place would be gone after its first call.
        if "mhlo.input_output_alias" in module.operation.attributes:
            del module.operation.attributes["mhlo.input_output_alias"]
    devices = _private("jaxlib._jax", "DeviceList")(tuple(client.local_devices()[:1]))
    try:
        return LoadedProgram(client.compile_and_load(module, devices, _settings(options)))
    except _private("jaxlib._jax", "JaxRuntimeError") as error:
        accepted_options = without_unknown(options, str(error))
        if accepted_options is not None:
            return load_bytecode(bytecode, accepted_options)
        raise UnreadableProgram(f"expected a program that XLA compiles, found {_first_line(error)}") from error


def _settings(options: CompilerOptions) -> Any:
    settings = _private("jaxlib.xla_client", "CompileOptions")()
    # As `jax.jit` hands them over: few options are attributes of `debug_options`.
    settings.env_option_overrides = list(options.items())
    return settings


def partition_options(devices: Sequence[int]) -> Any:
    """XLA's options for one program on these devices, by their numbers, which each run a part of it."""
    settings = _private("jaxlib.xla_client", "CompileOptions")()
    settings.device_assignment = _private("jaxlib.xla_client", "DeviceAssignment").create(np.array([list(devices)]))
    if len(devices) > 1:
        settings.num_partitions = len(devices)
        build = settings.executable_build_options
        build.num_partitions = len(devices)
        build.use_spmd_partitioning = True
        # JAX's own partitioner since 0.7.
        build.use_shardy_partitioner = True
    return settings


def load_partitioned(bytecode: bytes, annotate: Callable[[ir.Module], None], devices: Sequence[Any]) -> Any:
    """A program with shardings, compiled to be run on several devices of this process's CPU client.

    Raises:
      UnreadableProgram: the bytes are no StableHLO, or XLA refuses the program.
    """
    initialize_libraries()
    module = parse(bytecode)
    settings = partition_options([device.id for device in devices])
    try:
        annotate(module)
        device_list = _private("jaxlib._jax", "DeviceList")(tuple(devices))
        return devices[0].client.compile_and_load(module, device_list, settings)
    except (_private("jaxlib._jax", "JaxRuntimeError"), ValueError) as error:
        raise UnreadableProgram(f"expected a program that XLA partitions, found {_first_line(error)}") from error


@dataclass(frozen=True)
class CompiledElsewhere:
    """A program compiled for a device that need not be here: nothing of it can be run.

    Attributes:
      optimized: serialized HloModuleProto of the optimized module.
      memory: bytes by use: "argument", "output", "temp", "alias" and "code".
      hosts: by number of a device in the program, the host that the topology has it in.
    """

    optimized: bytes
    memory: Mapping[str, int]
    hosts: tuple[int, ...]


@functools.cache
def _topology_devices(platform: str, topology: tuple[tuple[str, Any], ...]) -> Sequence[Any]:
    # Experimental, and the only way to a compiler for a device that is not here.
    describe = importlib.import_module("jax.experimental.topologies").get_topology_desc
    return describe(platform=platform, **dict(topology)).devices


def compile_elsewhere(
    bytecode: bytes,
    platform: str,
    topology: Mapping[str, Any],
    options: CompilerOptions,
    annotate: Callable[[ir.Module], None] | None = None,
) -> CompiledElsewhere:
    """Compile StableHLO bytecode by the plugin of another platform for devices that need not be here.

    Only a worker may: XLA can end its process.

    Args:
      bytecode: the program, portable artifact or not.
      platform: "cuda" or "tpu", as JAX calls plugins.
      topology: what `jax.experimental.topologies.get_topology_desc` is given beside the platform.
      options: XLA's debug options by name.
      annotate: writes shardings into the program, which is then compiled for all devices of the topology; None compiles
        for the first of them.

    Raises:
      UnreadableProgram: the bytes are no StableHLO, there is no such device, or XLA refuses the program.
    """
    error_type = _private("jaxlib._jax", "JaxRuntimeError")
    module = parse(bytecode)
    try:
        devices = tuple(_topology_devices(platform, tuple(topology.items())))
        devices = devices if annotate else devices[:1]
        if annotate:
            annotate(module)
        settings = partition_options([device.id for device in devices])
        # Not as attributes, of which jaxlib has those of the CPU and some others only.
        settings.env_option_overrides = list(options.items())
        compiled = devices[0].client.compile(module, _private("jaxlib._jax", "DeviceList")(devices), settings)
    except (error_type, NotImplementedError, ValueError) as error:
        reason = _first_line(error)
        raise UnreadableProgram(f"expected a program that XLA compiles for the device, found {reason}") from error
    memory = compiled.get_compiled_memory_stats()
    return CompiledElsewhere(
        optimized=compiled.hlo_modules()[0].as_serialized_hlo_module_proto(),
        memory={
            "argument": memory.argument_size_in_bytes,
            "output": memory.output_size_in_bytes,
            "temp": memory.temp_size_in_bytes,
            "alias": memory.alias_size_in_bytes,
            "code": memory.generated_code_size_in_bytes,
        },
        hosts=tuple(device.process_index for device in devices),
    )
