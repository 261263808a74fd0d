"""Types of what requests and replies are made of: a recorded side is checked against them, for anyone may write one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from workloads.protocol.distributing import Unlike
from workloads.protocol.framework import PASSES, UNROLLED, Size
from workloads.protocol.framework import Scalar as Scalar
from workloads.protocol.inspection import Value

Calls = Annotated[int, msgspec.Meta(ge=1)]
Described = tuple[str, tuple[Size, ...], str]
"""The dtype and shape of an array, and the name that its bytes travel under."""


@dataclass(frozen=True)
class Load:
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


class Changed(msgspec.Struct, frozen=True):
    """Changes in a process, and the full names of replaced functions and classes."""

    shared: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


class Loaded(msgspec.Struct, frozen=True):
    """The modes of each pass, and the compiler options of mode `tuned`."""

    modes: dict[str, list[str]]
    compiler_options: dict[str, Any] = {}

    def __post_init__(self) -> None:
        """Refuse passes that there are not.

        Raises:
          ValueError: another name.
        """
        unknown = sorted(self.modes.keys() - {*PASSES, UNROLLED})
        if unknown:
            raise ValueError(f"invalid enum value {unknown[0][:80]!r}")


class NodeFacts(msgspec.Struct, frozen=True):
    """The report of a node: the machine, versions, jaxport's record of the environment, and the load."""

    host: str
    machine: str
    versions: dict[str, str | None]
    environment: dict[str, Any]
    load: float


class ClusterNode(msgspec.Struct, frozen=True):
    """A node of a cluster: as the cluster knows it, and what it says of itself, or why it says nothing."""

    id: str
    host: str
    facts: NodeFacts | None = None
    reason: str = ""


class FinishedTask(msgspec.Struct, frozen=True):
    """A task that is no longer worked on; why it gave no result, and whether its node is gone too."""

    task: Size
    lost: str = ""
    gone: bool = False


class TaskResult(msgspec.Struct, frozen=True):
    """The exit code of a task, the end of its standard error, the load of its machine before it, and its niceness."""

    code: int
    said: str
    load: float
    niceness: int = 0


Print = tuple[Size, str, int, tuple[Size, Size, Size], float, tuple[float, float, float], float, str]
"""A fingerprint: the fields of compare.hlo.arrays.fingerprints.Fingerprint in order, the digest as hexadecimal."""

EqualAs = tuple[tuple[Size, ...], tuple[Size, ...], bool, float]
"""How two results are equal: by which axes each is transposed, whether reshaped, units in the last place between."""


class Seen(msgspec.Struct, frozen=True):
    """The effect of a call: its seconds, the signatures that its function keeps, and the bytes of the process."""

    traces: Size
    compilations: Size
    seconds: float
    trace_s: float
    lower_s: float | None
    compile_s: float
    entries: Size | None = None
    held_bytes: Size | None = None


class Packages(msgspec.Struct, frozen=True):
    """The packages that compile for a platform, with versions; or why none does, and what to install."""

    versions: dict[str, str] = {}
    reason: str = ""


Platforms = dict[Literal["gpu", "tpu"], Packages]


class Assembled(msgspec.Struct, frozen=True):
    """The assembler's report on a PTX file, and the machine code if the toolkit has a disassembler."""

    report: str
    machine_code: str = ""


class CompiledFor(msgspec.Struct, frozen=True):
    """Bytes of memory that a program takes on a device, seconds of compiling it, and the host of each device."""

    argument_bytes: Size
    output_bytes: Size
    temp_bytes: Size
    alias_bytes: Size
    code_bytes: Size
    compile_s: float
    hosts: tuple[Size, ...] = ()


class SteppedOn(msgspec.Struct, frozen=True):
    """Some training steps on several devices: what the first compiled, and arrays whose copies differ."""

    compilations: Size | None
    unlike: Sequence[Unlike]


class Sharding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Axes of a mesh, the outermost first; by parameter and result, the mesh's axis of each of its own, "" for none."""

    axes: dict[str, Size]
    parameters: tuple[tuple[str, ...], ...]
    results: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class KerasModel:
    """Where a Keras model is.

    Attributes:
      reference: a .keras or .h5 file, or FILE.py:NAME.
      weights: a .weights.h5 file that is loaded into it.
      checkpoint: the prefix of a tf.train.Checkpoint that is restored into it.
      optimizer: whether the variables of its optimizer are wanted too.
      leave: paths of what a checkpoint may have besides, or of what holds it, each with why.
      custom: FILE.py:NAME of every class and function that a .keras or .h5 file names and Keras does not have.
      folder: the working directory that paths start from.
    """

    reference: str
    weights: Path | None = None
    checkpoint: str = ""
    optimizer: bool = False
    leave: Mapping[str, str] = field(default_factory=dict)
    custom: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path.cwd)


@dataclass(frozen=True)
class FlaxModule:
    """Where a Flax module is.

    Attributes:
      reference: FILE.py:NAME.
      optimizer: FILE.py:NAME of what makes its optimizer of optax; "" where none is wanted.
      inputs: of the model that it is a port of.
      folder: the working directory that paths start from.
    """

    reference: str
    optimizer: str = ""
    inputs: tuple[Value, ...] = ()
    folder: Path = field(default_factory=Path.cwd)


@dataclass(frozen=True)
class PortRequest:
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
    dimensions: dict[str, int] = field(default_factory=dict)
    others: tuple[dict[str, int], ...] = ()
