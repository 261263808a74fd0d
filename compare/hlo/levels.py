"""Canonical levels: the forms in which two programs are held against each other, from as written to as compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compare.hlo import bindings, inline, reading
from compare.hlo.graph import Graph
from compare.hlo.rewriting import Rewritten, Rule, rewrite
from compare.hlo.rules.algebraic import ALGEBRAIC
from compare.hlo.rules.structural import STRUCTURAL

RAW, STRUCTURE, ALGEBRA, UNFUSED = "raw", "structural", "algebraic", "unfused"
LEVELS = (RAW, STRUCTURE, ALGEBRA, UNFUSED)

_RULES: dict[str, tuple[Rule, ...]] = {
    RAW: (),
    STRUCTURE: STRUCTURAL,
    ALGEBRA: STRUCTURAL + ALGEBRAIC,
    UNFUSED: STRUCTURAL + ALGEBRAIC,
}

_WITHOUT_FUSION = {"xla_disable_hlo_passes": "fusion,fusion-wrapper,dot-library-rewriter"}


@dataclass(frozen=True)
class Subject:
    """One of two programs that are held against each other.

    Attributes:
      label: "tf", "jax", or what a file is called.
      hlo: a serialized HloModuleProto, optimized or not.
      parameters: what fills each parameter of the entry, such as "input x" or "weight layer/kernel"; the
        same name on both sides means the same array. Empty: by position.
      results: the same of what it returns.
      sources: "file:line" by the frontend's name of an operation, where the module does not say it.
    """

    label: str
    hlo: bytes
    parameters: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


def read(subject: Subject, transparent: bool = True) -> Graph:
    """The program as a graph, calls and fusions made transparent unless asked otherwise.

    Raises:
      UnreadableProgram: its bytes are no HLO.
    """
    if not transparent:
        return reading.read(subject.hlo, subject.sources)
    module, places = inline.inlined(subject.hlo)
    return reading.read_message(module, subject.sources, places)


def at_level(subject: Subject, level: str) -> Rewritten:
    """The program in the form of one level; equal values are one, and dead ones are gone, in every level.

    Raises:
      UnreadableProgram: its bytes are no HLO, or, for `unfused`, this process's XLA cannot compile it.
    """
    graph = _unfused(subject) if level == UNFUSED else read(subject, transparent=level != RAW)
    return rewrite(graph, _RULES[level], subject.parameters)


def _unfused(subject: Subject) -> Graph:
    module, _ = inline.inlined(subject.hlo)
    bytecode = bindings.bytecode_of_hlo(module.SerializeToString())
    optimized = bindings.compile_bytecode(bytecode, _WITHOUT_FUSION).optimized
    module, places = inline.inlined(optimized)
    return reading.read_message(module, subject.sources, places)
