"""Canonical levels: the forms in which two programs are compared, from as written to as compiled."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from compare.hlo import bindings, executing, inline, proto, read_module
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Graph
from compare.hlo.rewriting import Rewritten, Rule, rewrite
from compare.hlo.rules.algebraic import ALGEBRAIC
from compare.hlo.rules.structural import STRUCTURAL
from compare.hlo.rules.trimming import trim

RAW, STRUCTURE, ALGEBRA, UNFUSED = "raw", "structural", "algebraic", "unfused"
LEVELS = (RAW, STRUCTURE, ALGEBRA, UNFUSED)

_RULES: dict[str, tuple[Rule, ...]] = {
    STRUCTURE: STRUCTURAL,
    ALGEBRA: STRUCTURAL + ALGEBRAIC,
    UNFUSED: STRUCTURAL + ALGEBRAIC,
}

# Of one pair: both programs and four modules are read, each for several comparisons.
_remembered = functools.lru_cache(maxsize=8)

_WITHOUT_FUSION = {
    "xla_disable_hlo_passes": "fusion,dot-library-rewriter",
    # What comes after HLO: no code is run.
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}


@dataclass(frozen=True)
class Subject:
    """One of two compared programs.

    Attributes:
      label: "tf", "jax", or what a file is called.
      hlo: a serialized HloModuleProto, optimized or not.
      parameters: what fills each parameter of the entry, such as "input x" or "weight layer/kernel"; the
        same name on both sides means the same array. Empty: by position.
      results: the same of what it returns.
      sources: "file:line" by the frontend's name of an operation, where the module does not say it.
      unknown: names of constants whose value is not known, as in text that leaves it out. Such a constant is
        equal to no other.
    """

    label: str
    hlo: bytes
    parameters: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    unknown: frozenset[str] = frozenset()


@_remembered
def read(subject: Subject, transparent: bool = True) -> Graph:
    """The program as a graph, calls and fusions made transparent unless asked otherwise.

    Raises:
      UnreadableProgram: its bytes are no HLO.
    """
    data = _without_unknown(subject)
    if not transparent:
        return read_module.read(data, subject.sources)
    module, places = inline.inline(data)
    return read_module.read_message(module, subject.sources, places)


def _without_unknown(subject: Subject) -> bytes:
    """The module without unknown values: a constant that the text leaves out is read back as garbage."""
    if not subject.unknown:
        return subject.hlo
    module = proto.read_module(subject.hlo)
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.name in subject.unknown:
                instruction.ClearField("literal")
                # A name that no other program has, so that no other constant is equal.
                instruction.custom_call_target = f"{subject.label}: {instruction.name}, value not known"
    return module.SerializeToString()


@_remembered
def at_level(subject: Subject, level: str, assuming: bool = True) -> Rewritten:
    """The program in the form of one level; equal values are one, and dead ones are gone, in every level.

    Args:
      assuming: whether rules apply that assume something of the inputs.

    Raises:
      UnreadableProgram: its bytes are no HLO, or, for `unfused`, this process's XLA cannot compile it.
    """
    if level == RAW:
        return rewrite(read(subject, transparent=False), (), subject.parameters)
    graph = _unfuse(subject) if level == UNFUSED else read(subject)
    rules = [rule for rule in _RULES[level] if assuming or not rule.assumes]
    return rewrite(trim(graph), rules, subject.parameters)


def _unfuse(subject: Subject) -> Graph:
    if subject.unknown:
        raise UnreadableProgram(f"expected all constants of {subject.label}, found {len(subject.unknown)} left out")
    module, _ = inline.inline(subject.hlo)
    bytecode = bindings.bytecode_of_hlo(module.SerializeToString())
    compiled_module = executing.compile_bytecode(bytecode, _WITHOUT_FUSION).optimized_module
    module, places = inline.inline(compiled_module)
    return read_module.read_message(module, subject.sources, places)
