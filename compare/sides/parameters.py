"""Types of what requests to a framework are given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from compare.sides.call_arguments import Leaves
from compare.sides.replies import Scalar, Size
from workloads._framework import Platform
from workloads._layer_calls import Given
from workloads._recompiling import Cure

Calls = Annotated[int, msgspec.Meta(ge=1)]
Described = tuple[str, tuple[Size, ...], str]
"""The dtype and shape of an array, and the name that its bytes travel under."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload; `target` is the side's own function, `arrays` the folder of its arrays.

    `main_pass` is what is compiled, profiled and timed; empty: the training step, or else the forward pass.
    `unrolled` steps in one program are a pass of their own; 0: there is none.
    """

    workload: str
    target: str
    builds: bool
    dimensions: dict[str, Any]
    inputs: tuple[str, ...]
    cases: tuple[str, ...]
    arrays: Path
    sha256: str
    main_pass: str = ""
    unrolled: Size = 0


class Outputs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pass in one mode on the inputs of one case."""

    mode: str
    pass_: str
    case: str
    dtype: str


class LayersOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pass on the inputs of one case, and what calls of layers are given besides: names of arrays that are sent."""

    pass_: str
    case: str
    dtype: str
    given: tuple[Given, ...] = ()


class Trajectory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A training run in one mode; weights are kept after each step of `checkpoints`."""

    mode: str
    dtype: str
    checkpoints: tuple[Size, ...]


class Lowering(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pass, the float type that it is lowered in, and the platform that it is lowered for."""

    pass_: str
    dtype: str
    platform: Platform = "cpu"


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A result of a program."""

    name: str
    shape: tuple[Size, ...]
    dtype: str


class Argument(Value, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A parameter of a program, and what fills it."""

    kind: Literal["input", "batches", "weight", "state"]
    owner: str = ""
    part: str = ""


class Compile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program of either side, which travels as arrays, lines of its source, and XLA's debug options."""

    parameters: tuple[Argument, ...]
    results: tuple[Value, ...]
    sources: dict[str, str]
    options: dict[str, Scalar] = {}


class Handle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A compiled program."""

    handle: int


class Saving(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A compiled program, and the folder that it is written to."""

    handle: int
    folder: Path


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


class Pass(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pass of the loaded workload."""

    pass_: str


class Rewriting(Pass, frozen=True, forbid_unknown_fields=True):
    """A pass, and switches of TensorFlow's graph optimizer."""

    options: dict[str, bool | int]


class RewritingCase(Rewriting, frozen=True, forbid_unknown_fields=True):
    """The same on the inputs of one case."""

    case: str


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


class Watching(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function, which of its arguments are static, and how it is staged otherwise than it was given.

    `dynamic` are arguments that are static no longer.
    """

    target: str
    static: tuple[str, ...]
    cure: Cure
    dynamic: tuple[str, ...]
    signature: Leaves


class WatchedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call."""

    arguments: Leaves


class Attempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function, the mode that it is tried in, and its arguments in order."""

    target: str
    mode: str
    arguments: Leaves


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of two calls, and whether the function's own body is run."""

    before: Leaves
    after: Leaves
    body: bool
