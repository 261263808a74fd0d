"""Looks up types of operations: whether they compile, their counterparts, and entries about them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from compare.counterparts import raw_operations, rows
from compare.counterparts.raw_operations import RawOperation
from workloads.gotchas._catalogue import entries
from workloads.protocol.raw_operations import XLA_DEVICE


@dataclass(frozen=True)
class Known:
    """The facts about a type of operation.

    Attributes:
      compiles: by TensorFlow's XLA on a CPU: whether there is a kernel; None is not known.
      reason: why XLA refused every call that was tried, though it has a kernel.
      dtypes: that the kernel takes, by attribute; one that takes any is left out.
      folded: whether it compiles without a kernel where it depends on constants alone.
      counterparts: examples of the map: TensorFlow's expression and that in JAX.
      notes: of the rows that have no counterpart.
      gotchas: identifiers of entries that concern one of these names.
      version: of the TensorFlow that was asked.
    """

    compiles: bool | None = None
    reason: str = ""
    dtypes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folded: bool = False
    counterparts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    version: str = ""


@functools.cache
def lookup(kind: str) -> Known:
    """The facts about a type of operation."""
    table = raw_operations.read()
    version = table.versions.get("tensorflow", "")
    raw = table.operations.get(kind)
    if raw is None:
        return Known(version=version)
    operations = [row for row in raw.counterparts if isinstance(row, rows.Operation)]
    return Known(
        compiles=raw.compilable if raw.xla != "refused" else None,
        reason=raw.reason if raw.xla == "refused" else "",
        dtypes=raw.kernels.get(XLA_DEVICE, {}),
        folded=raw.folded,
        counterparts=tuple(f"{row.tf} → {_expression(row)}" for row in operations if row.has_counterpart),
        notes=tuple(row.note for row in operations if row.note and not row.has_counterpart),
        gotchas=tuple(dict.fromkeys(_gotchas(raw))),
        version=version,
    )


def _expression(row: rows.Operation) -> str:
    """The counterpart of a row in a line."""
    code = row.jax.strip()
    return code if "\n" not in code else f"`jaxport lookup ops {row.name}` shows it"


def _gotchas(raw: RawOperation) -> Iterator[str]:
    for name in raw.rows:
        yield from _concerning().get(name, ())
    yield from (row.gotcha for row in raw.counterparts if row.gotcha)


@functools.cache
def _concerning() -> dict[str, list[str]]:
    """Entries that differ, by the public names that they concern."""
    identifiers: dict[str, list[str]] = {}
    for entry in entries():
        for name in () if entry.gotcha.is_control else entry.gotcha.concerns:
            identifiers.setdefault(name, []).append(entry.id)
    return identifiers
