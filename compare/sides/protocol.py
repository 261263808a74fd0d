"""What workers can be asked: every method with its parameters and its reply. Nothing else can be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np

from compare import files
from compare.sides import replies
from compare.sides.host_parameters import (
    Assemble,
    ClusterAddress,
    ClusterTask,
    CompareHeld,
    CompileBytecode,
    CompileFor,
    CompileSteps,
    Divided,
    Hold,
    InspectCode,
    InspectFile,
    Joining,
    KerasSteps,
    KerasWeights,
    ModuleCheckpoint,
    ModuleReference,
    ModuleSteps,
    PortRequest,
    Released,
    ReleasedHandle,
    Run,
    RunForFingerprints,
    RunSharded,
    StrategyCalls,
    StrategyNamed,
    StrategySteps,
    TaskNumber,
    TryExpressions,
)
from compare.sides.parameters import (
    Attempt,
    CallCount,
    Compile,
    Described,
    Execute,
    Handle,
    LayersOf,
    Load,
    Lowering,
    Nothing,
    Offer,
    Outputs,
    Pass,
    Probe,
    Rewriting,
    RewritingCase,
    Round,
    Saving,
    Target,
    TargetCalls,
    Trajectory,
    Unroll,
    WatchedCall,
    Watching,
)
from workloads import _architecture, _function_graph, _layer_calls, _transfer
from workloads._raw_operations import Registry, Tried
from workloads._spec import Arrays

HostName = Literal["framework", "xla", "ports", "devices", "models", "modules", "strategies", "cluster"]

HOSTS: Mapping[HostName, str] = {
    "framework": "TensorFlow, JAX or a peer, with one workload loaded",
    "xla": "XLA of jaxlib alone, which compiles and runs programs",
    "ports": "Port files and entry points, each request in a child process",
    "devices": "XLA of jaxlib and its plugins, which compiles for devices that are not here",
    "models": "TensorFlow, which reads what is in a model",
    "modules": "JAX and Flax, which read what is in a module",
    "strategies": "TensorFlow or JAX on several logical devices, with one workload loaded",
    "cluster": "Ray, which has joined a cluster and gives tasks to its nodes",
}
"""By the name of a host, what it hosts."""


class ProtocolError(Exception):
    """A request or a host that does not follow the table of methods, in one line."""


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
      name: what a request names.
      host: which host has it.
      parameters: what a request gives.
      summary: one line for the documentation.
      value: the type of the reply's value; None where it has none.
      sends: whether arrays go with the request.
      returns: whether arrays come with the reply.
      file: the array of the reply that is a file as bytes; empty where none is.
    """

    name: str
    host: HostName
    parameters: type[msgspec.Struct]
    summary: str
    value: Any = None
    sends: bool = False
    returns: bool = False
    file: str = ""


METHODS = (
    Method("environment", "framework", Nothing, "Versions and device of the side", value=dict[str, Any]),
    Method(
        "imported", "framework", Nothing, "Paths of the files that were imported since the framework was there",
        value=list[str],
    ),
    Method(
        "changed", "framework", Nothing, "What all code of the process shares, and user code has changed",
        value=replies.Changed,
    ),
    Method("load", "framework", Load, "Build the workload; the modes of each pass", value=replies.Loaded),
    Method("outputs", "framework", Outputs, "What a pass returns in a mode", sends=True, returns=True),
    Method(
        "trajectory", "framework", Trajectory, "Losses and weights of a training run in a mode",
        sends=True, returns=True,
    ),
    Method(
        "layers", "framework", LayersOf, "What each layer of a model was given and gave in a pass",
        value=_layer_calls.LayerCalls, sends=True, returns=True,
    ),
    Method(
        "program", "framework", Lowering, "The program that the framework hands to XLA",
        value=replies.Program, returns=True, file="artifact",
    ),
    Method("stages", "framework", Nothing, "The main pass as text at every stage", value=dict[str, str]),
    Method(
        "compile", "framework", Compile, "Compile a program of either side by this side's XLA",
        value=replies.Compiled, sends=True,
    ),
    Method(
        "optimized", "framework", Handle, "The optimized HLO module of a compiled program",
        value=replies.Optimized, returns=True, file="module",
    ),
    Method(
        "save_model", "framework", Saving, "Write a compiled program as a SavedModel, its weights as variables",
    ),
    Method(
        "serialized", "framework", Pass, "A pass in the form of jax.export", returns=True, file="exported",
    ),
    Method("execute", "framework", Execute, "Run a compiled program", returns=True),
    Method("unroll", "framework", Unroll, "A training run of a compiled training step", sends=True, returns=True),
    Method("offer", "framework", Offer, "Add a mode that is compiled with other options"),
    Method(
        "digest", "framework", Target, "A digest of the code of the main pass in a mode, or of a compiled program",
        value=str,
    ),
    Method(
        "profile", "framework", Target, "The kernels that each of some warm calls ran, with their times",
        value=replies.Profile,
    ),
    Method(
        "clustered", "framework", Pass, "Run a pass with autoclustering: its graph's name, its nodes, times and lines",
        value=replies.Clustered,
    ),
    Method(
        "rewritten", "framework", Rewriting, "The graph of a pass after the optimizer, with switches of it set",
        value=replies.Rewritten,
    ),
    Method(
        "outputs_with", "framework", RewritingCase, "What a pass returns with switches of the graph optimizer set",
        returns=True,
    ),
    Method(
        "donation", "framework", Nothing, "The compiled training step and its donated parameters",
        value=replies.Donation, returns=True, file="optimized",
    ),
    Method(
        "prepare", "framework", Target, "Make a target ready for timing; seconds of each phase and peak memory",
        value=dict[str, float | None],
    ),
    Method(
        "phases", "framework", Target, "Seconds and memory of every phase, in a process that did nothing else",
        value=dict[str, Any],
    ),
    Method(
        "dispatch", "framework", CallCount, "By mode, seconds of a call that does next to nothing",
        value=dict[str, dict[str, float | None]],
    ),
    Method("round", "framework", Round, "Seconds of each of some calls of a prepared target", value=list[float]),
    Method(
        "counters", "framework", TargetCalls, "What the process counts over calls of a prepared target: page faults",
        value=dict[str, int],
    ),
    Method(
        "threads", "framework", TargetCalls, "Seconds of processor time by thread in some calls of a target",
        value=list[float],
    ),
    Method(
        "processors", "framework", Nothing, "Numbers of the processors that the worker may run on", value=list[int]
    ),
    Method("watch", "framework", Watching, "Stage a function whose calls are watched; how it was staged", value=str),
    Method(
        "watched_call", "framework", WatchedCall, "Call the watched function; what was traced and compiled",
        value=replies.Seen, sends=True, returns=True,
    ),
    Method(
        "probe", "framework", Probe, "What a call traces and compiles in a cache that holds another call alone",
        value=replies.Seen, sends=True,
    ),
    Method(
        "attempt", "framework", Attempt, "What a function gives in a mode, and the nodes that clustered calls ran",
        value=replies.Profile, sends=True, returns=True,
    ),
    Method("read", "xla", Released, "Check that a program can be read", sends=True),
    Method("read_text", "xla", Released, "The HLO module of a text", sends=True, returns=True, file="program"),
    Method("compile", "xla", CompileBytecode, "Compile a program under a handle", sends=True),
    Method(
        "compile_steps", "xla", CompileSteps, "Compile each operation of a graph, and keep all under one handle",
        sends=True,
    ),
    Method("optimized", "xla", ReleasedHandle, "The optimized HLO module of a compiled program", returns=True),
    Method(
        "run", "xla", Run, "Call a compiled program on each of several sets of arguments",
        value=list[list[Described]], sends=True, returns=True,
    ),
    Method(
        "fingerprint", "xla", RunForFingerprints, "The same; by result, the fingerprint of its array in each call",
        value=list[list[replies.Print]], sends=True,
    ),
    Method(
        "hold", "xla", Hold, "The same, and keep the results",
        value=list[list[replies.Print]], sends=True,
    ),
    Method(
        "compare_held", "xla", CompareHeld, "By pair of kept results, how they are equal in every call; null if not",
        value=list[replies.EqualAs | None],
    ),
    Method("release", "xla", Released, "Let go of programs and results that are no longer needed, and of their memory"),
    Method(
        "platforms", "devices", Nothing, "By platform, the packages that compile for it, or the reason that none does",
        value=replies.Platforms,
    ),
    Method(
        "compile_for", "devices", CompileFor, "Compile a program for a device, and dump what XLA makes of it",
        value=replies.CompiledFor, sends=True, returns=True, file="module",
    ),
    Method(
        "run_sharded", "devices", RunSharded, "Run a program on several CPU devices, its arrays split over a mesh",
        value=list[Described], sends=True, returns=True,
    ),
    Method(
        "assemble", "devices", Assemble, "By PTX file of a dump, what the assembler makes of it",
        value=dict[str, replies.Assembled],
    ),
    Method(
        "saved_model", "models", InspectFile, "What is in a SavedModel, of which nothing is loaded or run",
        value=dict[str, Any],
    ),
    Method(
        "keras_archive", "models", InspectFile, "What a .keras or .h5 file says, of which nothing is built",
        value=dict[str, Any],
    ),
    Method(
        "keras_archive_built", "models", InspectFile, "What is in the model of a .keras or .h5 file, built anew",
        value=dict[str, Any],
    ),
    Method(
        "code", "models", InspectCode, "What is in a Keras model or function of a user's file", value=dict[str, Any]
    ),
    Method(
        "function_graph", "models", InspectCode, "The graph of a function of a file, and its constants as arrays",
        value=_function_graph.FunctionGraph, returns=True,
    ),
    Method(
        "operations", "models", Nothing, "The operations that TensorFlow registers, with their kernels",
        value=Registry,
    ),
    Method(
        "try_expressions", "models", TryExpressions, "What XLA makes of the operations in expressions",
        value=Tried,
    ),
    Method(
        "weights", "models", KerasWeights, "The layers of a Keras model, and its weights as arrays by key",
        value=_transfer.Source, returns=True,
    ),
    Method(
        "architecture", "models", KerasWeights, "The calls of a Keras model's layers, and what it was compiled with",
        value=_architecture.Architecture,
    ),
    Method(
        "write_weights", "models", KerasWeights, "A .weights.h5 file with these arrays, and what is read from it",
        sends=True, returns=True, file=".weights.h5",
    ),
    Method(
        "optimizer_steps", "models", KerasSteps, "Weights after steps of a Keras optimizer with gradients",
        sends=True, returns=True,
    ),
    Method("module", "modules", ModuleReference, "The modules and variables in a Flax module", value=_transfer.Target),
    Method(
        "module_steps", "modules", ModuleSteps, "Parameters after steps of an optax optimizer with what is sent",
        sends=True, returns=True,
    ),
    Method("write_checkpoint", "modules", ModuleCheckpoint, "Write arrays as a checkpoint of Orbax", sends=True),
    Method("read_checkpoint", "modules", InspectFile, "The arrays of a checkpoint of Orbax, by path", returns=True),
    Method("environment", "strategies", Nothing, "Versions and devices of the side", value=dict[str, Any]),
    Method(
        "divide", "strategies", Divided, "Build the workload; the strategies by which its step is distributed",
        value=list[str],
    ),
    Method(
        "join", "strategies", Joining, "Compute with other processes from now on; the number of devices in all",
        value=int,
    ),
    Method(
        "steps", "strategies", StrategySteps, "Losses, weights and the optimizer's state of some distributed steps",
        value=replies.SteppedOn, returns=True,
    ),
    Method(
        "transfers", "strategies", StrategyNamed, "What a distributed step exchanges between devices",
        value=list[replies.Transfer],
    ),
    Method(
        "step_times", "strategies", StrategyCalls, "Seconds of each of some calls of a distributed step",
        value=list[float],
    ),
    Method(
        "connect", "cluster", ClusterAddress, "Join a Ray cluster; its nodes, and what each says of itself",
        value=list[replies.ClusterNode],
    ),
    Method("carry", "cluster", Nothing, "Put the files of all tasks, a zip, into the object store", sends=True),
    Method("submit", "cluster", ClusterTask, "Give a task to a node, which it has for itself"),
    Method(
        "finished", "cluster", Nothing, "Wait a moment for a task; those that ended", value=list[replies.FinishedTask],
    ),
    Method(
        "result", "cluster", TaskNumber, "What a task that ended gave, its files as bytes",
        value=replies.TaskResult, returns=True,
    ),
    Method("describe", "ports", PortRequest, "The declared fields of a workload", value=dict[str, Any]),
    Method("prepare_both", "ports", PortRequest, "Draw the arrays for parity and those for timing", value=list[Any]),
    Method("prepare_one", "ports", PortRequest, "Draw the arrays of one case at a size", value=dict[str, Any]),
    Method(
        "prepare_others", "ports", PortRequest, "Draw the arrays at other values of the dimensions", value=list[Any]
    ),
    Method("check_batch", "ports", PortRequest, "Check that the workload has a batch that can be enlarged"),
    Method(
        "prepare_batch", "ports", PortRequest, "Draw the arrays of a training step at a batch size",
        value=dict[str, Any],
    ),
)  # fmt: skip
"""All that workers can be asked."""


def methods_of(host: HostName) -> dict[str, Method]:
    """The methods of a host by name."""
    return {method.name: method for method in METHODS if method.host == host}


def validated(method: Method, parameters: Mapping[str, Any]) -> msgspec.Struct:
    """The parameters of a request as the method declares them.

    Args:
      method: what is asked.
      parameters: plain data, as it came.

    Raises:
      ProtocolError: a parameter is missing, is not of its type, or has no such name.
    """
    try:
        return files.converted(parameters, method.parameters)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"expected the parameters of {method.name} as declared, found: {error}") from error


def unfit(method: Method, value: Any, arrays: Arrays) -> str:
    """Why a value of the declared type, and arrays, are no reply of a method; empty where they are.

    Args:
      method: what was asked.
      value: the reply's value, of the type that the method declares.
      arrays: those that came with the reply.
    """
    if method.value is replies.Profile and len({type(call) for call in value}) > 1:
        return "names of kernels among calls"
    if method.returns and not arrays:
        return "no arrays"
    if not method.file:
        return ""
    if method.file not in arrays:
        return f"no array {method.file!r}"
    array = arrays[method.file]
    fits = array.dtype == np.uint8 and array.ndim == 1
    return "" if fits else f"{array.dtype} of {array.ndim} axes for {method.file!r}"
