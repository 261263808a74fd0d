"""The operations that TensorFlow registers: kernels, what XLA makes of them, and the rows of the map with them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from compare.counterparts import rows
from compare.writing import write_atomically
from workloads.protocol.raw_operations import NOT_TRIED, XLA_DEVICE, Gradient, Outcome

FILE = Path(__file__).parent / "raw_operations.json"

PLUMBING = frozenset(
    {"Placeholder", "Const", "Identity", "IdentityN", "NoOp", "PartitionedCall", "StatefulPartitionedCall",
     "ReadVariableOp", "VarHandleOp"}
)  # fmt: skip
"""Values, variables and calls of functions: what in JAX are arguments, literals and Python's own calls."""

Xla = Literal["compiled", "refused", "not tried", "no kernel"]
"""Whether XLA compiles it. "no kernel": it has none, so it cannot. With one: a call of it compiled; each call that was
tried was refused; no call was tried."""

Dtypes = dict[str, tuple[str, ...]]
"""By attribute, dtypes; an attribute that takes any is left out."""


class RawOperation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One type of operation in TensorFlow's graphs.

    Attributes:
      public: whether `tf.raw_ops` has it.
      stateful: whether TensorFlow says that it has state or side effects.
      gradient: "none": registered as one that has none; "missing": nothing is registered.
      kernels: by device, the dtypes of any of its kernels. One kernel may take fewer combinations.
      outcome: of the calls that were given to XLA.
      alone: whether a call was compiled by itself, not with an expression around it.
      reason: why XLA refused a call.
      folded: whether an expression with it compiled though XLA has no kernel: TensorFlow computes what depends on
        constants alone while it compiles.
      constants: inputs that XLA takes only as compile-time constants, as far as calls were tried.
      opcodes: of HLO, that calls of it alone became.
      rows: names of the rows of the map whose program it is, but for plumbing, or that say they are about it.
      within: names of further rows whose program has it.
      backward: names of rows whose gradients have it, and whose program has not.
    """

    public: bool = False
    stateful: bool = False
    gradient: Gradient = "missing"
    kernels: dict[str, Dtypes] = {}
    outcome: Outcome = NOT_TRIED
    alone: bool = False
    reason: str = ""
    folded: bool = False
    constants: tuple[str, ...] = ()
    opcodes: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()

    @property
    def xla(self) -> Xla:
        """Whether XLA compiles it."""
        return self.outcome if XLA_DEVICE in self.kernels else "no kernel"

    @property
    def compilable(self) -> bool:
        """Whether XLA has a kernel of it, which some call may be refused by."""
        return XLA_DEVICE in self.kernels

    @property
    def counterparts(self) -> tuple[rows.Row, ...]:
        """The rows of the map that are about it, with what each is in JAX."""
        return tuple(_rows()[name] for name in self.rows if name in _rows())


class RawTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them by name, and the versions of what they were read of."""

    versions: dict[str, str]
    operations: dict[str, RawOperation]

    @property
    def opcodes(self) -> tuple[str, ...]:
        """Opcodes of HLO that any of them became."""
        return tuple(sorted({opcode for operation in self.operations.values() for opcode in operation.opcodes}))

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind."""
        public = [operation for operation in self.operations.values() if operation.public]
        every = list(self.operations.values())
        return {
            "operations": len(every),
            "public": len(public),
            "cpu_kernel": sum("CPU" in operation.kernels or "DEFAULT" in operation.kernels for operation in every),
            "public_cpu_kernel": sum(
                "CPU" in operation.kernels or "DEFAULT" in operation.kernels for operation in public
            ),
            "xla_kernel": sum(operation.compilable for operation in every),
            "public_xla_kernel": sum(operation.compilable for operation in public),
            "compiled": sum(operation.xla == "compiled" for operation in every),
            "refused": sum(operation.xla == "refused" for operation in every),
            "hlo_opcodes": len(self.opcodes),
        }


@functools.cache
def read() -> RawTable:
    """The table that is part of this package."""
    return msgspec.json.decode(FILE.read_bytes(), type=RawTable)


def text(table: RawTable) -> str:
    """A table as the file has it: an operation a line."""
    return "\n".join(_lines(table)) + "\n"


def write(table: RawTable, path: Path = FILE) -> None:
    """Make a table the one of this package."""
    write_atomically(path, text(table))


def _lines(table: RawTable) -> Iterator[str]:
    yield '{"versions":' + msgspec.json.encode(table.versions).decode() + ',"operations":{'
    last = len(table.operations) - 1
    for index, (name, operation) in enumerate(table.operations.items()):
        yield f'"{name}":{msgspec.json.encode(operation).decode()}{"" if index == last else ","}'
    yield "}}"


@functools.cache
def _rows() -> Mapping[str, rows.Row]:
    groups = (*rows.operations().values(), *rows.layers().values())
    return {row.name: row for group in groups for row in group}
