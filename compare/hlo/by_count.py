"""Aligns two programs by how often each kind of operation occurs in them. It claims no more than counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from compare.hlo import bindings
from compare.hlo.bindings import UnreadableProgram, ir
from compare.hlo.portable import drop_copies
from compare.hlo.program import SCAFFOLDING

# The frontends write a matrix product of two matrices either way; dot is dot_general with fixed dimensions.
_SYNONYMS = {"dot": "dot_general"}
_CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition"}


@dataclass(frozen=True)
class FrontierEntry:
    """A kind of operation that one side has more of.

    `op` is the name without the dialect. `name` and `source` ("file:line" or "") are those of the
    first of its kind on that side: counts do not tell which one has no partner.
    """

    side: str
    op: str
    name: str
    source: str
    reason: str


@dataclass(frozen=True)
class Alignment:
    """How many operations of the canonical programs pair up by kind, and which kinds do not."""

    matched: int
    tf_only: int
    jax_only: int
    frontier: tuple[FrontierEntry, ...]


@dataclass(frozen=True)
class _Kind:
    op: str
    type: str


@dataclass(frozen=True)
class _Canonical:
    counts: Counter[_Kind]
    first: dict[_Kind, tuple[str, str]]


def align(tf: bytes, jax: bytes) -> Alignment:
    """Align two StableHLO programs by count.

    Both are made canonical first: calls and composites inlined, no-op reshapes and converts folded,
    equal values merged, dead code dropped. A kind is an operation and its result types, in any region.

    Raises:
      UnreadableProgram: the bytes are no StableHLO, or XLA's passes refuse the program.
    """
    left, right = _canonical(tf), _canonical(jax)
    more_tf, more_jax = left.counts - right.counts, right.counts - left.counts
    frontier = [_entry("tf", kind, left, right) for kind in more_tf]
    frontier += [_entry("jax", kind, right, left) for kind in more_jax]
    return Alignment(
        matched=(left.counts & right.counts).total(),
        tf_only=more_tf.total(),
        jax_only=more_jax.total(),
        frontier=tuple(frontier),
    )


def _entry(side: str, kind: _Kind, mine: _Canonical, others: _Canonical) -> FrontierEntry:
    other = {"tf": "jax", "jax": "tf"}[side]
    name, source = mine.first[kind]
    counts = f"{side} has {mine.counts[kind]}, {other} has {others.counts[kind]} of {kind.op} -> {kind.type}"
    return FrontierEntry(side, kind.op, name, source, f"{counts} (aligned by count; the first is named)")


def _kind(operation: ir.Operation) -> _Kind:
    op = operation.name.partition(".")[2]
    return _Kind(_SYNONYMS.get(op, op), ", ".join(str(result.type) for result in operation.results))


def _canonical(artifact: bytes) -> _Canonical:
    module = bindings.parse(artifact)
    drop_copies(module)
    inline_calls(module)
    try:
        bindings.canonicalize(module)
    except ir.MLIRError as error:
        raise UnreadableProgram(
            f"expected a program that XLA's passes accept, found {'; '.join(str(error).splitlines())}"
        ) from error
    counts: Counter[_Kind] = Counter()
    first: dict[_Kind, tuple[str, str]] = {}
    for operation in bindings.operations(module):
        if operation.name in SCAFFOLDING:
            continue
        kind = _kind(operation)
        counts[kind] += 1
        if kind not in first:
            first[kind] = (bindings.name_of(operation), bindings.source_of(operation))
    return _Canonical(counts, first)


def inline_calls(module: ir.Module) -> None:
    """Replace every call and every composite by the body it stands for, in place."""
    while calls := [operation for operation in bindings.operations(module) if operation.name in _CALLS]:
        functions = ir.SymbolTable(module.operation)
        for call in calls:
            callee = ir.FlatSymbolRefAttr(call.attributes[_CALLS[call.name]]).value
            bindings.inline_call(call, functions[callee].operation)
