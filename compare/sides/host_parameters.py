"""Types of what requests to hosts other than one framework on one device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from compare.sides.parameters import Calls, Described, Load
from compare.sides.replies import Scalar, Size
from workloads import _inspection
from workloads._raw_operations import Expression


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


class Released(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Handles of programs and results that are no longer needed, released before the request is answered."""

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


class RunForFingerprints(Run, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The same, and the tolerance of the results' fingerprints for float32."""

    tolerance: float


class Hold(RunForFingerprints, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The same, and the handle `results` that its results get."""

    results: int


class CompareHeld(Released, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The handles of two programs' results, which of them are compared by position, and the tolerance for float32."""

    left: int
    right: int
    pairs: tuple[tuple[Size, Size], ...]
    tolerance: float


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
    """The folder of a SavedModel, or a .keras or .h5 file and FILE.py:NAME of what that names and Keras has not."""

    path: Path
    folder: Path = Path()
    custom: tuple[str, ...] = ()


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
    with why. `custom` is FILE.py:NAME of every class that the file names and Keras does not have.
    """

    reference: str
    folder: Path
    weights: Path | None
    checkpoint: str
    optimizer: bool = False
    leave: dict[str, str] = {}
    custom: tuple[str, ...] = ()


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
