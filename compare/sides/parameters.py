"""Types of what requests are given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from compare.sides.call_arguments import Leaves
from compare.sides.replies import Scalar, Size
from workloads import _inspection
from workloads._framework import Platform
from workloads._layer_calls import Given
from workloads._raw_operations import Expression
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


class Divided(Load, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A workload, and how its inputs are divided: `axes` are those of the examples by input, None of what is whole."""

    devices: Calls
    batch: str
    axes: dict[str, Size | None]


class Joining(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The processes that compute together, HOST:PORT of each; which this one is; seconds to wait for the others."""

    addresses: tuple[str, ...]
    process: Size
    limit_s: float


class StrategyNamed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way in which a step is distributed."""

    strategy: str


class StrategySteps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same, the float type that it computes in, and how many steps are taken after `first` others.

    What those left is read from the folder of a checkpoint, where what the last one leaves is written. `equal_parts`
    takes each batch's first part over and over.
    """

    strategy: str
    dtype: str
    count: Calls
    first: Size = 0
    checkpoint: str = ""
    equal_parts: bool = False


class ClusterAddress(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a Ray cluster is: HOST:PORT, ray://HOST:PORT or auto; seconds that it and its nodes may take to answer."""

    address: str
    limit_s: float


class TaskNumber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task."""

    task: Size


class ClusterTask(TaskNumber, frozen=True, forbid_unknown_fields=True):
    """The same, the node that it is given to, and the arguments of `jaxport` there."""

    node: str
    arguments: tuple[str, ...]


class StrategyCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same, and how many calls are timed."""

    strategy: str
    calls: Calls


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


class Released(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Handles of programs that are no longer needed, released before the request is answered."""

    released: tuple[int, ...]


class CompileBytecode(Released, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A program as an array of bytes, the handle that it gets, and XLA's debug options."""

    handle: int
    options: dict[str, Scalar]


class CompileSteps(Released, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A graph operation by operation, the handle that it gets, and XLA's debug options.

    `programs` are as many arrays of bytes. A step is a program, the places of what it reads and makes, and whether what
    it made of the same arrays before may stand for it. `constants` stand at the places beside them.
    """

    handle: int
    options: dict[str, Scalar]
    programs: Size
    taken: Size
    places: tuple[Size, ...]
    constants: tuple[Described, ...]
    steps: tuple[tuple[Size, tuple[Size, ...], tuple[Size, ...], bool], ...]
    results: tuple[Size, ...]


class ReleasedHandle(Released, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A compiled program."""

    handle: int


class Run(ReleasedHandle, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A compiled program, and by call the dtype, shape and place of each argument."""

    calls: tuple[tuple[Described, ...], ...]


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


class Sharding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Axes of a mesh, the outermost first; by parameter and result, the mesh's axis of each of its own, "" for none."""

    axes: dict[str, Size]
    parameters: tuple[tuple[str, ...], ...]
    results: tuple[tuple[str, ...], ...]


class CompileFor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program as an array of bytes, the device by what JAX makes its topology of, and a new folder for the dump.

    With `sharding` it is compiled for all devices of the topology, without for the first.
    """

    platform: Literal["gpu", "tpu"]
    topology: dict[str, str | tuple[Size, ...]]
    options: dict[str, Scalar]
    dump: Path | None = None
    sharding: Sharding | None = None


class RunSharded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program as an array of bytes, how it is sharded over CPU devices, and one array a parameter."""

    sharding: Sharding
    arguments: tuple[Described, ...]


class Assemble(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A folder with a dump of modules for a GPU."""

    dump: Path


class InspectFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The folder of a SavedModel, or a .keras or .h5 file."""

    path: Path


class InspectCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """FILE.py:NAME, and the name, shape and dtype of each input; null is a size that is not fixed."""

    reference: str
    folder: Path
    inputs: tuple[tuple[str, tuple[Size | None, ...], str], ...]


class TryExpressions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Expressions in TensorFlow, of which the operations are given to XLA."""

    expressions: tuple[Expression, ...]


class KerasWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A .keras or .h5 file or FILE.py:NAME, and a .weights.h5 file or the prefix of a checkpoint that is loaded.

    With `optimizer`, the variables of its optimizer too. `leave` has paths of what a checkpoint may have besides, each
    with why.
    """

    reference: str
    folder: Path
    weights: Path | None
    checkpoint: str
    optimizer: bool = False
    leave: dict[str, str] = {}


class KerasSteps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Steps of a Keras model's optimizer, from where it is, or `fresh`."""

    model: KerasWeights
    steps: Annotated[int, msgspec.Meta(ge=1)]
    fresh: bool


class ModuleReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """FILE.py:NAME of a Flax module, the inputs of the model that it is a port of, and the like of an optimizer."""

    reference: str
    folder: Path
    inputs: tuple[_inspection.Value, ...] = ()
    optimizer: str = ""


class ModuleCheckpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Flax module, and the folder of a checkpoint that is written of it."""

    module: ModuleReference
    path: Path


class ModuleSteps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Steps of an optimizer of optax on the parameters of a module, from a state that is sent, or `fresh`."""

    module: ModuleReference
    steps: Annotated[int, msgspec.Meta(ge=1)]
    fresh: bool
