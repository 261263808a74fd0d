"""Look-ups for an agent: entries of the catalogue of gotchas, and operations of TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.counterparts import raw_operations
from compare.gotchas import expressions, searching
from compare.operations.finding import Finder, Found
from workloads.gotchas import _catalogue
from workloads.gotchas._catalogue import Entry

_IN_FULL = 4
"""Entries with their code, and operations; of more, names are listed."""
_MOST_NAMES = 80


@dataclass(frozen=True)
class GotchaReply:
    """A difference between TensorFlow and JAX: `naive` is the likely first port, `jax` the right one."""

    id: str
    why: str
    fails: str
    tensorflow: str
    naive: str
    jax: str


@dataclass(frozen=True)
class GotchasReply:
    """Entries in full, and the names of further ones, with which `gotchas` can be called."""

    entries: list[GotchaReply]
    further: list[str]


@dataclass(frozen=True)
class OperationReply:
    """An operation: whether XLA compiles it, its devices, and by expression of TensorFlow what it is in JAX."""

    name: str
    xla: str
    devices: list[str]
    counterparts: dict[str, str]
    gotchas: list[str]


@dataclass(frozen=True)
class OperationsReply:
    """Operations in full, and the names of further ones, with which `ops` can be called."""

    operations: list[OperationReply]
    further: list[str]


def gotchas(words: Sequence[str]) -> GotchasReply:
    """Entries that match all words.

    Raises:
      RequestError: none does.
    """
    entries = searching.matching(_catalogue.entries(), words)
    full = entries if len(entries) <= _IN_FULL else []
    return GotchasReply([_entry(entry) for entry in full], [entry.id for entry in entries[len(full) :]][:_MOST_NAMES])


def _entry(entry: Entry) -> GotchaReply:
    code = expressions.code_of(entry)
    return GotchaReply(entry.id, entry.gotcha.why, entry.gotcha.fails, code.tensorflow, code.naive, code.jax)


def operations(words: Sequence[str]) -> OperationsReply:
    """Operations that match any of the words.

    Raises:
      RequestError: a word matches none.
    """
    finder = Finder(raw_operations.read().operations)
    names = finder.matching(words)
    full = names if len(names) <= _IN_FULL else []
    return OperationsReply([_operation(finder.find(name)) for name in full], names[len(full) :][:_MOST_NAMES])


def _operation(found_operation: Found) -> OperationReply:
    operation = found_operation.operation
    return OperationReply(
        name=found_operation.name,
        xla=operation.xla if operation else "",
        devices=list(operation.kernels) if operation else [],
        counterparts={row.name: row.jax for row in found_operation.about},
        gotchas=list(found_operation.gotchas),
    )
