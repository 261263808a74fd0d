"""Operations of a model that XLA cannot compile, or that have no row in the map of counterparts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from compare.counterparts.raw_operations import PLUMBING, RawOperation, RawTable
from compare.operations.finding import Finder, Found
from workloads.protocol.inspection import Operation
from workloads.protocol.raw_operations import XLA_DEVICE

Lack = Literal["compile", "counterpart"]

_FROM_OUTSIDE = frozenset({"Placeholder", "VarHandleOp"})
"""In the outermost graph these are what a compiled function is called with."""

MOST_PLACES = 5
"""Source lines that are kept of an operation in a model."""


@dataclass(frozen=True)
class Missing:
    """One type of operation in a model, and what it lacks.

    Attributes:
      type: of operation.
      lacks: "compile" where XLA cannot compile it here, "counterpart" where the map has no row of it.
      why: in a few words.
      count: of nodes.
      places: FILE:LINE of some, those with most nodes first; none where that is not known.
    """

    type: str
    lacks: Lack
    why: str
    count: int
    places: tuple[str, ...] = ()


def missing(nodes: Sequence[Operation], table: RawTable) -> tuple[Missing, ...]:
    """All operations that lack something: first those that do not compile, then by how often they occur.

    Args:
      nodes: of its graph, and of the functions that it calls.
    """
    counts: dict[tuple[str, Lack, str], Counter[str]] = {}
    finder = Finder(table.operations)
    for node in nodes:
        for lacks, why in lacking(node, finder):
            counts.setdefault((node.type, lacks, why), Counter())[node.source] += 1
    all_of_them = [
        Missing(kind, lacks, why, places.total(), _first(places)) for (kind, lacks, why), places in counts.items()
    ]
    return tuple(
        sorted(all_of_them, key=lambda operation: (operation.lacks != "compile", -operation.count, operation.type))
    )


def lacking(node: Operation, finder: Finder) -> Iterator[tuple[Lack, str]]:
    """The things that one node lacks, with reasons."""
    operation = finder.find(node.type)
    if operation.operation is None:
        yield "compile", "this TensorFlow does not have it: whether the library that does compiles it is not known"
    elif not (node.type in _FROM_OUTSIDE and not node.function):
        perhaps = "; it depends on constants alone, so TensorFlow may compute it before" if node.of_constants else ""
        for why in _refusals(node, operation.operation):
            yield "compile", why + perhaps
    why = "" if node.type in PLUMBING else _why_uncovered(operation)
    if why:
        yield "counterpart", why


def _refusals(node: Operation, operation: RawOperation) -> Iterator[str]:
    if operation.xla == "no kernel":
        yield "XLA has no kernel"
    elif operation.xla == "refused":
        yield f"XLA refused each call that was tried: {operation.reason}"
    for attribute, dtypes in operation.kernels.get(XLA_DEVICE, {}).items():
        value_or_values = node.attributes.get(attribute)
        other = [
            value
            for value in (value_or_values if isinstance(value_or_values, list) else [value_or_values])
            if isinstance(value, str)
        ]
        unfit = sorted({dtype for dtype in other if dtype not in dtypes})
        if unfit:
            yield f"XLA's kernels do not take {attribute}={', '.join(unfit)}"


def _why_uncovered(operation: Found) -> str:
    """Why an operation has no counterpart; "" where it has one, or is part of what has one."""
    if operation.about:
        none = not any(row.has_counterpart for row in operation.about)
        return f"instead: {operation.about[0].note}" if none else ""
    occurs = operation.operation and (operation.operation.within or operation.operation.backward)
    return "" if occurs else "the map has no row of it"


def _first(places: Counter[str]) -> tuple[str, ...]:
    return tuple(place for place, _ in places.most_common() if place)[:MOST_PLACES]
