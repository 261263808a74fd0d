"""Why the attribution is what it is: what the frontends' programs differ in, and what two compilers made of one."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.hlo import compiled, partitions
from compare.hlo.align import Alignment, FrontierEntry
from compare.hlo.levels import Subject
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Change
from workloads.protocol.framework import Scalar

OPERATION, RULE, FUSION, MEMORY, LIBRARY, DTYPE, FIGURE, VERSION, SETTING = (
    "operation", "rule", "fusion", "memory", "library", "dtype", "figure", "version", "setting",
)  # fmt: skip

_COMPILERS = {"tf": "tensorflow", "jax": "jaxlib"}
"""The package that a side's XLA comes with."""
_NO_SETTINGS = frozenset({*_COMPILERS.values(), "jax", "keras", "flax", "optax", "python", "numpy", "recorded"})


@dataclass(frozen=True)
class Reason:
    """One difference: `kind` is one of the names above; `sources` are the lines that it comes from, where known."""

    kind: str
    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explained:
    """The differences along either side of the 2 x 2 table; empty if none were found."""

    frontend: tuple[Reason, ...]
    compiler: tuple[Reason, ...]


@dataclass(frozen=True)
class CompiledProgram:
    """One program compiled by one XLA: its optimized module, and what the compiler says beside it."""

    subject: Subject
    temp_bytes: int | None = None


def explain_attribution(
    programs: Alignment | None,
    cells: Mapping[str, CompiledProgram],
    sides: Mapping[str, Mapping[str, Scalar]],
    cases: Mapping[str, Sequence[Any]] | None = None,
) -> Explained:
    """Explains the frontend's and the compiler's factors.

    Args:
      programs: TensorFlow's program aligned with JAX's before XLA, None where one is missing.
      cells: by "program@compiler", those that there are.
      sides: by side its environment: versions, device, threads.
      cases: by frontend, arguments of its program on either side, as for compare.hlo.align.

    Raises:
      UnreadableProgram: a module cannot be read.
    """
    by_compiler = [
        reason for frontend in _COMPILERS for reason in _two_compilers(frontend, cells, (cases or {}).get(frontend, ()))
    ]
    return Explained(_two_programs(programs) if programs else (), (*_versions(sides), *by_compiler))


def _two_programs(alignment: Alignment) -> tuple[Reason, ...]:
    operations = [_operation(entry) for entry in alignment.frontier]
    return (*operations, *_rules(alignment.left.changes, alignment.right.changes))


def _operation(entry: FrontierEntry) -> Reason:
    suffix = f"; known difference: {entry.explanation_name}" if entry.explanation_name else ""
    return Reason(OPERATION, f"{entry.side}: {entry.op} {entry.name}: {entry.reason}{suffix}", _sources(entry.source))


def _rules(left: Sequence[Change], right: Sequence[Change]) -> list[Reason]:
    """Rules that had to write the two programs differently often: alike by then, and written differently."""
    often, often_right = (Counter(change.rule for change in changes) for changes in (left, right))
    return [
        Reason(
            RULE,
            f"{name!r} applied {often[name]} times to tf, {often_right[name]} times to jax{_numerics(changes)}",
            tuple(dict.fromkeys(change.source for change in changes if change.source)),
        )
        for name in dict.fromkeys(change.rule for change in (*left, *right))
        if often[name] != often_right[name]
        and (changes := [change for change in (*left, *right) if change.rule == name])
    ]


def _numerics(changes: Sequence[Change]) -> str:
    return "; last bits may differ" if any(change.numerics for change in changes) else ""


def _two_compilers(frontend: str, cells: Mapping[str, CompiledProgram], cases: Sequence[Any]) -> list[Reason]:
    labels = Pair(*(f"{frontend}@{compiler}" for compiler in _COMPILERS))
    if labels.left not in cells or labels.right not in cells:
        return []
    left, right = labels.map(lambda label: dataclasses.replace(cells[label].subject, label=label))
    comparison = partitions.compare(left, right, cases)
    summaries = labels.map(lambda label: _summary(cells[label]))
    return [
        *(Reason(FUSION, str(fusion), fusion.sources) for fusion in comparison.regrouped),
        *(Reason(MEMORY, str(array), _sources(array.source)) for array in comparison.written),
        *map(_figure, compiled.compare(summaries.left, summaries.right, labels)),
    ]


def _summary(cell: CompiledProgram) -> compiled.CompiledSummary:
    return compiled.describe(cell.subject.hlo, cell.temp_bytes, cell.subject.sources)


def _figure(difference: compiled.FigureDifference) -> Reason:
    kind = {"custom_calls": LIBRARY, "converts": DTYPE}.get(difference.kind, FIGURE)
    return Reason(kind, difference.text, difference.sources)


def _versions(sides: Mapping[str, Mapping[str, Scalar]]) -> list[Reason]:
    versions = {side: f"{package} {sides[side][package]}" for side, package in _COMPILERS.items()
             if package in sides.get(side, {})}  # fmt: skip
    reasons = []
    if len(versions) == len(_COMPILERS):
        reasons.append(Reason(VERSION, f"tf's XLA is that of {versions['tf']}, jax's that of {versions['jax']}"))
    settings = sides.get("tf", {}).keys() & sides.get("jax", {}).keys() - _NO_SETTINGS
    return reasons + [
        Reason(SETTING, f"{name}: {sides['tf'][name]} in tf, {sides['jax'][name]} in jax")
        for name in sorted(settings)
        if sides["tf"][name] != sides["jax"][name]
    ]


def _sources(source: str) -> tuple[str, ...]:
    return (source,) if source else ()
