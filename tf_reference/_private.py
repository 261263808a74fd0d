"""The one file that touches TensorFlow's private modules, each with its reason."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat, starmap
from typing import Any

import tensorflow as tf

from workloads.protocol.event_statistics import HLO, OF_GRAPH, ON_GPU
from workloads.protocol.framework import MemoryAnalysis

TRIED = "2.21"
_FLOATS = ("float64", "float32", "float16", "bfloat16")


class PrivateModuleMoved(RuntimeError):
    """A private module is not where TensorFlow 2.21 had it."""


def _require(module: str, attribute: str) -> Any:
    try:
        return getattr(__import__(module, fromlist=[attribute]), attribute)
    except (ImportError, AttributeError) as error:
        raise PrivateModuleMoved(
            f"expected {module}.{attribute} as in TensorFlow {TRIED}, found TensorFlow {tf.__version__} without it: "
            f"install tensorflow=={TRIED}.*"
        ) from error


@dataclass(frozen=True)
class Layout:
    """Parameters and results of an HLO module as (dtype, shape), and which result updates which parameter."""

    name: str
    parameters: tuple[tuple[str, tuple[int, ...]], ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]
    aliases: dict[int, int]


_DTYPES = {
    "PRED": "bool", "S8": "int8", "S16": "int16", "S32": "int32", "S64": "int64",
    "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "S4": "int4", "U4": "uint4", "F8E4M3FN": "float8_e4m3fn", "F8E5M2": "float8_e5m2",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64", "C128": "complex128",
}  # fmt: skip


def layout(message: bytes) -> Layout:
    """Signature of a serialized HloModuleProto. No public reader of the proto exists."""
    proto = _require("tensorflow.compiler.xla.service.hlo_pb2", "HloModuleProto").FromString(message)
    primitive = _require("tensorflow.compiler.xla.xla_data_pb2", "PrimitiveType")
    shape = proto.host_program_shape

    def describe(array: Any) -> tuple[str, tuple[int, ...]]:
        name = str(primitive.Name(array.element_type))
        return _DTYPES.get(name, name), tuple(array.dimensions)

    is_tuple = primitive.Name(shape.result.element_type) == "TUPLE"
    results = shape.result.tuple_shapes if is_tuple else [shape.result]
    aliases = {
        entry.output_shape_index[0] if entry.output_shape_index else 0: entry.parameter_number
        for entry in proto.input_output_alias.entries
    }
    return Layout(proto.name, tuple(map(describe, shape.parameters)), tuple(map(describe, results)), aliases)


def memory_analysis(message: bytes) -> MemoryAnalysis:
    """The memory in an optimized HloProto's buffer assignment, counted as XLA's own analysis does.

    TensorFlow has no public memory analysis; the proto of stage optimized_hlo_proto_serialized
    carries the assignment itself.
    """
    proto = _require("tensorflow.compiler.xla.service.hlo_pb2", "HloProto").FromString(message)
    argument = output = temp = alias = 0
    for allocation in proto.buffer_assignment.buffer_allocations:
        if allocation.is_entry_computation_parameter:
            argument += allocation.size
        if allocation.maybe_live_out:
            output += allocation.size
        if allocation.is_entry_computation_parameter and allocation.maybe_live_out:
            alias += allocation.size
        is_kept = allocation.is_entry_computation_parameter or allocation.maybe_live_out
        if not is_kept and not allocation.is_constant and not allocation.is_thread_local:
            temp += allocation.size
    return MemoryAnalysis(argument, output, temp, alias)


def call_stablehlo(artifact: bytes, results: Sequence[tuple[str, Sequence[int]]], platform: str) -> Callable[..., Any]:
    """A function that runs a StableHLO artifact through TensorFlow's XLA.

    jax2tf reaches the same operation, but only for a program that JAX traces in this process.

    Args:
      results: dtype and shape of each.
      platform: "CPU" or "CUDA": that of the device which runs it, or TensorFlow refuses.
    """
    call_module = _require("tensorflow.compiler.tf2xla.python.xla", "call_module")
    version = _require("tensorflow.compiler.tf2xla.python.xla", "call_module_maximum_supported_version")()
    types = [tf.as_dtype(dtype) for dtype, _ in results]
    shapes = [list(shape) for _, shape in results]

    def call(*arguments: tf.Tensor) -> Any:
        return call_module(
            list(arguments), version=version, module=artifact, Tout=types, Sout=shapes, platforms=[platform]
        )

    return call


def define(function: Any) -> None:
    """Make a FunctionDef known to this process.

    A graph that is imported brings its functions into that graph alone; XLA looks for them among the process's.
    """
    context = _require("tensorflow.python.eager.context", "context")()
    if not context.has_function(function.signature.name):
        context.add_function_def(function)


NUMBERED = 1 << 18
"""More tensors and functions than most workloads' calls make: to count so many takes a tenth of a second."""


def number_afresh() -> None:
    """Let the next function be numbered from a multiple of `NUMBERED` on.

    Its name holds how many tensors and functions came before, and XLA's cache of compiled programs knows it by that
    name: how often something was called before would decide whether the next process finds the program.
    """
    uid = _require("tensorflow.python.framework.ops", "uid")
    deque(starmap(uid, repeat((), NUMBERED - uid() % NUMBERED - 1)), maxlen=0)


@contextmanager
def policies_of(dtype: str) -> Iterator[None]:
    """Inside the block, all layers of Keras have this float type, whatever their arguments: each gets its policy here.

    Args:
      dtype: "float64", in which mixed precision computes as any model does.
    """
    get_policy = _require("keras.src.dtype_policies", "get")
    wide = _require("keras.src.dtype_policies", "DTypePolicy")(dtype)

    def get(identifier: Any) -> Any:
        policy = get_policy(identifier)
        return wide if type(policy) is type(wide) and policy.compute_dtype in _FLOATS else policy

    policies: Any = sys.modules["keras.src.dtype_policies"]
    policies.get = get
    try:
        yield
    finally:
        policies.get = get_policy


@contextmanager
def optimizer_options(options: Mapping[str, bool | int]) -> Iterator[None]:
    """Inside, switches of Grappler's beside those that are set already. What is set in public is never unset again."""
    context = _require("tensorflow.python.eager.context", "context")()
    before = dict(_setting(context, "_optimizer_experimental_options"))
    context.set_optimizer_experimental_options(dict(options))
    try:
        yield
    finally:
        context._optimizer_experimental_options = before
        # What calls are given is made anew once something is set.
        context.set_optimizer_experimental_options({})


def graphs_run(call: Callable[[], object]) -> Sequence[Any]:
    """RunMetadata.FunctionGraphs of what a call makes ready to run: the graph before and after the optimizer.

    No public name leads to them since sessions went.
    """
    context = _require("tensorflow.python.eager.context", "context")()
    context.ensure_initialized()
    context.enable_graph_collection()
    try:
        call()
        return list(context.export_run_metadata().function_graphs)
    finally:
        context.disable_graph_collection()


def operation_definition(name: str) -> Any:
    """TensorFlow's OpDef of a type of operation; None where this TensorFlow has none.

    `tf.raw_ops` has the functions alone: neither dtypes nor whether an operation has side effects.
    """
    return _require("tensorflow.python.framework.op_def_registry", "get")(name)


def protocol(file: str, message: str, folder: str = "protobuf") -> Any:
    """A message of TensorFlow's protocol buffers, by the file that declares it below tensorflow/core."""
    return _require(f"tensorflow.core.{folder}.{file}", message)


def matched_numbers(status: Any) -> frozenset[int]:
    """The numbers of those objects of a checkpoint that an object of this process was restored from.

    TensorFlow tells whether any is left, by `assert_consumed`, and not which.
    """
    objects = getattr(getattr(status, "_checkpoint", None), "object_by_proto_id", None)
    if objects is None:
        raise PrivateModuleMoved(
            f"expected a status of a checkpoint as in TensorFlow {TRIED}, found {type(status).__name__} of TensorFlow "
            f"{tf.__version__}: install tensorflow=={TRIED}.*"
        )
    return frozenset(objects.keys())


def debug_info(message: bytes) -> Any:
    """A GraphDebugInfo: frames of the source, by the nodes of functions."""
    return _require("tensorflow.core.framework.graph_debug_info_pb2", "GraphDebugInfo").FromString(message)


def operation_definitions() -> Sequence[Any]:
    """The OpDef of every type of operation that this process has. `tf.raw_ops` has the public ones alone."""
    buffer = _require("tensorflow.python.client.pywrap_tf_session", "TF_GetAllOpList")()
    data = _require("tensorflow.python.client.pywrap_tf_session", "TF_GetBuffer")(buffer)
    return _require("tensorflow.core.framework.op_def_pb2", "OpList").FromString(data).op


def kernel_definitions() -> Sequence[Any]:
    """The KernelDef of every kernel, those of XLA once something was compiled. There is no public list."""
    return _require("tensorflow.python.framework.kernels", "get_all_registered_kernels")().kernel


def gradient_function(name: str) -> Any:
    """The function that gives the gradient of a type of operation; None of one that is registered to have none.

    Raises:
      LookupError: nothing is registered.
    """
    return _require("tensorflow.python.framework.ops", "gradient_registry").lookup(name)


def defined_graph(graph: Any, name: str, shapes: Sequence[Any]) -> Any:
    """The graph of a function that was defined without one, as those in tf.nn.ctc_loss are; None of another.

    No public name leads from a definition to a graph.

    Args:
      shapes: of what an operation is given that calls it, its arguments last.
    """
    definition = getattr(graph._get_function(name), "definition", None)
    if definition is None:
        return None
    convert = _require("tensorflow.python.framework.function_def_to_graph", "function_def_to_graph")
    definition_shaped = type(definition)()
    definition_shaped.CopyFrom(definition)
    for argument in definition_shaped.arg_attr.values():
        # Those that it was defined with, which may be unknown, would win over those that it is given.
        argument.attr.pop("_output_shapes", None)
    first = len(shapes) - len(definition.signature.input_arg)
    with graph.as_default():
        return convert(
            definition_shaped, input_shapes=list(shapes[first:]) if first >= 0 else None, include_library_functions=True
        )


def opcodes(message: bytes) -> frozenset[str]:
    """Opcodes of the instructions of a serialized HloModuleProto. No public reader of the proto exists."""
    proto = _require("tensorflow.compiler.xla.service.hlo_pb2", "HloModuleProto").FromString(message)
    return frozenset(
        instruction.opcode for computation in proto.computations for instruction in computation.instructions
    )


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


@dataclass(frozen=True)
class TracedEvent:
    """One event of a profile: what it is called, on which thread or stream, when and how long.

    `instruction` is the HLO instruction that it computes, None where XLA did not emit it or names the CUDA graph alone
    that it ran in; `on_gpu` says whether it is a kernel that a GPU ran.
    """

    name: str
    instruction: str | None
    on_gpu: bool
    thread: int
    start_s: float
    seconds: float


def events(xplane: bytes) -> list[TracedEvent]:
    """Events on all lines of a serialized XSpace, in order. TensorBoard's plugin is the only public reader."""
    space = _require("tensorflow.tsl.profiler.protobuf.xplane_pb2", "XSpace").FromString(xplane)
    lines = [(plane, line) for plane in space.planes for line in plane.lines if line.events]
    # Nanoseconds since 1970 have no room for fractions in a float.
    first = min((line.timestamp_ns for _, line in lines), default=0)
    traced = []
    for thread, (plane, line) in enumerate(lines):
        for event in line.events:
            settings = {plane.stat_metadata[stat.metadata_id].name: stat for stat in event.stats}
            traced.append(
                TracedEvent(
                    name=plane.event_metadata[event.metadata_id].name,
                    instruction=_text(plane, settings[HLO]) if HLO in settings and OF_GRAPH not in settings else None,
                    on_gpu=ON_GPU in settings,
                    thread=thread,
                    start_s=(line.timestamp_ns - first) * 1e-9 + event.offset_ps * 1e-12,
                    seconds=event.duration_ps * 1e-12,
                )
            )
    return sorted(traced, key=lambda event: event.start_s)


def _text(plane: Any, stat: Any) -> str:
    """The text of a statistic, which may stand once for all events of a plane."""
    return stat.str_value or plane.stat_metadata[stat.ref_value].name


def graph_node(event: TracedEvent) -> bool:
    """Whether an event is that of a node of a graph, by the name that TensorFlow's executor gives it: NAME:OP."""
    return event.instruction is None and not event.on_gpu and _GRAPH_NODE.match(event.name) is not None


def kernel(event: TracedEvent, eager: bool) -> str | None:
    """The kernel that an event of the host stands for, by the names that TensorFlow's runtime gives; None for none."""
    if event.instruction is not None:
        return None if event.name.startswith("end: ") else event.name
    if eager:
        _, names_operation, operation = event.name.partition("EagerLocalExecute: ")
    else:
        match = _GRAPH_NODE.match(event.name)
        names_operation, operation = bool(match), match.group(1) if match else ""
    if not names_operation or operation in _STRUCTURAL or operation.startswith("__"):
        return None
    return operation if eager else event.name


def staged_with(function: Any) -> dict[str, Any]:
    """The arguments of `tf.function` for a function; only the signature has a public name."""
    settings = {
        "input_signature": function.input_signature,
        "autograph": _setting(function, "_autograph"),
        "jit_compile": _setting(function, "_jit_compile"),
        "reduce_retracing": _setting(function, "_reduce_retracing"),
        "experimental_autograph_options": _setting(function, "_experimental_autograph_options"),
        # Those of experimental_implements are among them.
        "experimental_attributes": _setting(function, "_attributes"),
    }
    return {name: value for name, value in settings.items() if value is not None}


def signatures_kept(function: Any) -> int:
    """How many traces a tf.function keeps; the public count is of those that were made."""
    return len(_setting(function, "_list_all_concrete_functions")())


def _setting(holder: Any, attribute: str) -> Any:
    try:
        return getattr(holder, attribute)
    except AttributeError as error:
        raise PrivateModuleMoved(
            f"expected {type(holder).__name__} to have {attribute} as in TensorFlow {TRIED}, found TensorFlow "
            f"{tf.__version__} without it: install tensorflow=={TRIED}.*"
        ) from error
