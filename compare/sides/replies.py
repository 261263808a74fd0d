"""Types of what requests are answered with: a recorded side is checked against them, for anyone may have written it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from compare.sides.wire import DTYPES

Size = Annotated[int, msgspec.Meta(ge=0)]
Scalar = str | int | float | bool | None


class Leaf(msgspec.Struct, frozen=True):
    """A parameter or result of a program."""

    name: str
    shape: tuple[Size, ...]
    dtype: str

    def __post_init__(self) -> None:
        """Refuse what NumPy has not.

        Raises:
          ValueError: another dtype.
        """
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype {self.dtype[:80]!r}")


class Parameter(Leaf, frozen=True, kw_only=True):
    """One that something fills."""

    kind: Literal["input", "batches", "weight", "state"]
    owner: str = ""
    part: str = ""


class Signature(msgspec.Struct, frozen=True):
    """Parameters and results of a program."""

    parameters: tuple[Parameter, ...]
    results: tuple[Leaf, ...]


class Program(Signature, frozen=True):
    """A program, and lines of its source by op_name."""

    sources: dict[str, str]


class Donation(Signature, frozen=True, kw_only=True):
    """A compiled training step, and the positions of its donated parameters."""

    donated: tuple[Size, ...]

    def __post_init__(self) -> None:
        """Refuse positions of parameters that there are not.

        Raises:
          ValueError: one is too large.
        """
        if max(self.donated, default=-1) >= len(self.parameters):
            raise ValueError(f"donated parameter {max(self.donated)} of {len(self.parameters)}")


class Changed(msgspec.Struct, frozen=True):
    """What is another one in a process, and the functions and classes that were replaced, by their full names."""

    shared: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


class Loaded(msgspec.Struct, frozen=True):
    """The modes of each pass, and the compiler options of mode `tuned`."""

    modes: dict[Literal["forward", "gradients", "step"], list[str]]
    compiler_options: dict[str, Scalar] = {}


class Compiled(msgspec.Struct, frozen=True):
    """The handle of a compiled program, and seconds of compiling it."""

    handle: int
    compile_s: float


class NodeFacts(msgspec.Struct, frozen=True):
    """What a node says of itself: the machine, versions, jaxport's record of the environment, and the load."""

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


class Optimized(msgspec.Struct, frozen=True):
    """Bytes of temporary memory and of the serialized executable; None where they are not told."""

    temp_bytes: int | None
    executable_bytes: Size | None = None


Print = tuple[Size, str, int, tuple[Size, Size, Size], float, tuple[float, float, float], float, str]
"""A fingerprint: the fields of compare.hlo.arrays.fingerprints.Fingerprint in order, the digest as hexadecimal."""

EqualAs = tuple[tuple[Size, ...], tuple[Size, ...], bool, float]
"""How two results are equal: by which axes each is transposed, whether reshaped, units in the last place between."""


class Seen(msgspec.Struct, frozen=True):
    """What a call did, in seconds; the signatures that its function keeps; and the bytes that the process holds."""

    traces: Size
    compilations: Size
    seconds: float
    trace_s: float
    lower_s: float | None
    compile_s: float
    entries: Size | None = None
    held_bytes: Size | None = None


KernelRun = tuple[str, int, float, float | None]
Profile = list[list[KernelRun]]
"""By call, the kernels that ran."""


class Clustered(msgspec.Struct, frozen=True):
    """The name of the graph that ran with autoclustering, by call the nodes that it ran, and by node its line."""

    function: str
    calls: list[list[KernelRun]]
    sources: dict[str, str]


class ConstantValue(msgspec.Struct, frozen=True):
    """What a constant of a graph holds."""

    dtype: str
    shape: tuple[Size, ...]
    bytes: Size
    sha256: str
    text: str


class RewrittenNode(msgspec.Struct, frozen=True):
    """A node of a graph: operation, inputs, attributes as text, and a constant's value."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: dict[str, str]
    constant: ConstantValue | None


class Rewritten(msgspec.Struct, frozen=True):
    """A graph after the optimizer; how many operations were traced; later replacements; by node its line."""

    nodes: list[RewrittenNode]
    traced: dict[str, Size]
    kernels: dict[str, str]
    sources: dict[str, str]


class Packages(msgspec.Struct, frozen=True):
    """What compiles for a platform: versions by package; or why nothing does, and what to install."""

    versions: dict[str, str] = {}
    reason: str = ""


Platforms = dict[Literal["gpu", "tpu"], Packages]


class Assembled(msgspec.Struct, frozen=True):
    """What the assembler reports of a PTX file, and the machine code where the toolkit has a disassembler."""

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


class UnlikeCopies(msgspec.Struct, frozen=True):
    """An array whose copies on two devices differ, at the first element that does."""

    leaf: str
    index: tuple[Size, ...]
    devices: tuple[str, str]
    values: tuple[float, float]
    step: Size | None = None


class SteppedOn(msgspec.Struct, frozen=True):
    """Some training steps on several devices: what the first compiled, and arrays whose copies differ."""

    compilations: Size | None
    unlike: list[UnlikeCopies]


class Transfer(msgspec.Struct, frozen=True):
    """A collective of a step: arrays that it takes together, bytes of one device, groups of devices, line."""

    kind: str
    arrays: Size
    bytes: Size
    groups: tuple[tuple[Size, ...], ...]
    source: str
