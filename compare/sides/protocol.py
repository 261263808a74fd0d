"""What workers can be asked: every method with its parameters. Nothing else can be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from compare import files

HostName = Literal["framework", "xla", "ports"]

HOSTS: Mapping[HostName, str] = {
    "framework": "TensorFlow, JAX or a peer, with one workload loaded",
    "xla": "XLA of jaxlib alone, which compiles and runs programs",
    "ports": "Port files and entry points, each request in a child process",
}
"""By the name of a host, what it hosts."""

Size = Annotated[int, msgspec.Meta(ge=0)]
Calls = Annotated[int, msgspec.Meta(ge=1)]
Scalar = str | int | float | bool | None


class ProtocolError(Exception):
    """A request or a host that does not follow the table of methods, in one line."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload; `target` is the side's own function, `arrays` the folder of its arrays."""

    workload: str
    target: str
    builds: bool
    dimensions: dict[str, Any]
    inputs: tuple[str, ...]
    cases: tuple[str, ...]
    arrays: Path
    sha256: str


class Outputs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pass in one mode on the inputs of one case."""

    mode: str
    pass_: str
    case: str
    dtype: str


class Trajectory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A training run in one mode; weights are kept after each step of `checkpoints`."""

    mode: str
    dtype: str
    checkpoints: tuple[Size, ...]


class Lowering(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pass, and the float type that it is lowered in."""

    pass_: str
    dtype: str


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A result of a program."""

    name: str
    shape: tuple[Size, ...]
    dtype: str


class Argument(Value, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A parameter of a program, and what fills it."""

    kind: Literal["input", "weight", "state"]


class Compile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program of either side, which travels as arrays; texts of its stages and lines of its source."""

    parameters: tuple[Argument, ...]
    results: tuple[Value, ...]
    stages: dict[str, str]
    sources: dict[str, str] = {}


class Handle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A compiled program."""

    handle: int


class Execute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A compiled program, and the case whose arrays it runs on."""

    handle: int
    case: str


class Unroll(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A compiled training step; weights are kept after each step of `checkpoints`."""

    handle: int
    checkpoints: tuple[Size, ...]


class Offer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a new mode, and XLA's debug options that it is compiled with."""

    mode: str
    options: dict[str, Scalar]


class Mode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mode of the loaded workload."""

    mode: str


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mode, or the handle of a compiled program."""

    target: str | int


class TargetCalls(Target, frozen=True, forbid_unknown_fields=True):
    """A prepared target, and how often it is called."""

    calls: Calls


class Round(TargetCalls, frozen=True, forbid_unknown_fields=True):
    """A prepared target, how often it is called, and the part of its time by which each call is slowed."""

    slowdown: float


class CallCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number of calls."""

    calls: Calls


class Released(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Handles of programs that are no longer needed, released before the request is answered."""

    released: tuple[int, ...]


class CompileBytecode(Released, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A program as an array of bytes, the handle that it gets, and XLA's debug options."""

    handle: int
    options: dict[str, Scalar]


class ReleasedHandle(Released, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A compiled program."""

    handle: int


class Run(ReleasedHandle, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A compiled program, and by call the dtype, shape and place of each argument."""

    calls: tuple[tuple[tuple[str, tuple[Size, ...], str], ...], ...]


class PortRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload; a request leaves out what its method does not read.

    `reference` is a port file or the name of an entry point, `folder` the working directory that paths start from,
    `scratch` the folder that arrays are drawn into.
    """

    reference: str
    folder: Path
    size: str = ""
    data: Path | None = None
    scratch: Path = Path()
    judge_at: str | None = None
    batch: int = 0
    dimensions: dict[str, int] = {}
    others: tuple[dict[str, int], ...] = ()


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
      name: what a request names.
      host: which host has it.
      parameters: what a request gives.
      summary: one line for the documentation.
      sends: whether arrays go with the request.
      returns: whether arrays come with the reply.
    """

    name: str
    host: HostName
    parameters: type[msgspec.Struct]
    summary: str
    sends: bool = False
    returns: bool = False


METHODS = (
    Method("environment", "framework", Nothing, "Versions and device of the side"),
    Method("load", "framework", Load, "Build the workload; the modes of each pass"),
    Method("outputs", "framework", Outputs, "What a pass returns in a mode", returns=True),
    Method("trajectory", "framework", Trajectory, "Losses and weights of a training run in a mode", returns=True),
    Method("program", "framework", Lowering, "The program that the framework hands to XLA", returns=True),
    Method("compile", "framework", Compile, "Compile a program of either side by this side's XLA", sends=True),
    Method("optimized", "framework", Handle, "The optimized HLO module of a compiled program", returns=True),
    Method("execute", "framework", Execute, "Run a compiled program", returns=True),
    Method("unroll", "framework", Unroll, "A training run of a compiled training step", returns=True),
    Method("offer", "framework", Offer, "Add a mode that is compiled with other options"),
    Method("digest", "framework", Mode, "A digest of the compiled code of the main pass in a mode"),
    Method("profile", "framework", Target, "The kernels that each of some warm calls ran, with their times"),
    Method("donation", "framework", Nothing, "The compiled training step and its donated parameters", returns=True),
    Method("prepare", "framework", Target, "Make a target ready for timing; seconds of each phase and peak memory"),
    Method("phases", "framework", Target, "Seconds and memory of every phase, in a process that did nothing else"),
    Method("dispatch", "framework", CallCount, "By mode, seconds of a call that does next to nothing"),
    Method("round", "framework", Round, "Seconds of each of some calls of a prepared target"),
    Method("page_faults", "framework", TargetCalls, "Page faults of some calls of a prepared target"),
    Method("threads", "framework", TargetCalls, "Seconds of processor time by thread in some calls of a target"),
    Method("processors", "framework", Nothing, "Numbers of the processors that the worker may run on"),
    Method("read", "xla", Released, "Check that a program can be read", sends=True),
    Method("compile", "xla", CompileBytecode, "Compile a program under a handle", sends=True),
    Method("optimized", "xla", ReleasedHandle, "The optimized HLO module of a compiled program", returns=True),
    Method("run", "xla", Run, "Call a compiled program on each of several sets of arguments", sends=True, returns=True),
    Method("describe", "ports", PortRequest, "The declared fields of a workload"),
    Method("prepare_both", "ports", PortRequest, "Draw the arrays for parity and those for timing"),
    Method("prepare_one", "ports", PortRequest, "Draw the arrays of one case at a size"),
    Method("prepare_others", "ports", PortRequest, "Draw the arrays at other values of the dimensions"),
    Method("check_batch", "ports", PortRequest, "Check that the workload has a batch that can be enlarged"),
    Method("prepare_batch", "ports", PortRequest, "Draw the arrays of a training step at a batch size"),
)
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
