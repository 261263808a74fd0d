"""The result of an alignment: equal values, the matchers that found them, and where two programs first differ."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from compare.hlo.graph import Graph
from compare.hlo.rewriting import Rewritten

SLOT, NUMBER, VALUE, NEIGHBOURHOOD, REGION = "slot", "value number", "value", "neighbourhood", "region"
"""Matchers: parameters by what fills them; the same operation of matched operands; the same arrays on the same
inputs; alike in operands and users; loops, branches and reducers whose bodies are the same, and what is in bodies."""


class Match(msgspec.Struct, frozen=True, gc=False):
    """Two values held to be the same.

    Attributes:
      left, right: ids in the canonical graphs.
      matcher: who found it.
      ulp: largest distance between the two in units in the last place, where both were run. Of each element
        the unit is that of the element or, where that is larger, of the value's scale.
      note: what beside equality was needed ("transposed by (1, 0)"); within a region, first of all the matcher.
    """

    left: int
    right: int
    matcher: str
    ulp: float | None = None
    note: str = ""


class ReasonKind(enum.StrEnum):
    """How it was established why two programs part in a place."""

    FRONTEND = "frontend"
    """The value is part of a known difference between the frontends."""
    RULE = "rule"
    """A rule of the algebraic level, one that may change last bits, would rewrite the value."""
    PARAMETER = "parameter"
    """Both programs take different parameters, or carry different state in a loop."""
    BODY = "body"
    """The operation is the same but for its bodies, and they part in places of their own."""
    FORMULA = "formula"
    """The value is used for matched values alone, which the other program computes another way."""


@dataclass(frozen=True)
class Reason:
    """Why two programs part, for every place of either side that it explains; equal for all of them."""

    kind: ReasonKind
    name: str
    meaning: str


@dataclass(frozen=True)
class FrontierEntry:
    """A value without a partner whose operands all have one: a first place where two programs differ.

    `op` is HLO's opcode, `name` the instruction's and `source` the "file:line" or "".
    `reason` says what is missing on the other side; `explanation` is why, None where no reason is known.
    `node` is its id in the canonical graph of its side.
    """

    side: str
    op: str
    name: str
    source: str
    reason: str
    explanation: Reason | None = None
    node: int = -1

    @property
    def explanation_name(self) -> str:
        """The name of the known difference between frontends that this is, or of the rule; "" of neither."""
        has_name = self.explanation and self.explanation.kind in (ReasonKind.FRONTEND, ReasonKind.RULE)
        return self.explanation.name if self.explanation and has_name else ""


@dataclass(frozen=True)
class ReasonGroup:
    """The places that one reason explains, all of an alignment and of its bodies; those without a reason for None."""

    reason: Reason | None
    places: tuple[FrontierEntry, ...]


@dataclass(frozen=True)
class ResultMatch:
    """One result of two programs, by its name or, where there are no names, its position.

    `left` and `right` are ids in the canonical graphs, None where that side has no such result. A result
    that is the other's transposed is not equal. `matcher` and `ulp` are those of the match, "" and None without one.
    """

    name: str
    left: int | None
    right: int | None
    equal: bool
    matcher: str = ""
    ulp: float | None = None


@dataclass(frozen=True, eq=False)
class RegionAlignment:
    """The bodies at one index of two values that are matched or alike; ids within are those of the bodies."""

    left: int
    right: int
    index: int
    alignment: Alignment


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two programs, or two bodies, at one canonical level. A value of either side may be in several matches.

    `alike` pairs what has no match on either side and stands in the same place: not the same value,
    but one that was changed; their notes say what differs. `notes` say what could not be tried.
    `assumes` is what must hold of the inputs for programs that are equal by a rule that assumes it.
    """

    level: str
    left: Rewritten
    right: Rewritten
    matches: tuple[Match, ...]
    frontier: tuple[FrontierEntry, ...]
    alike: tuple[Match, ...] = ()
    regions: tuple[RegionAlignment, ...] = ()
    results: tuple[ResultMatch, ...] = ()
    notes: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()

    @property
    def left_only(self) -> tuple[int, ...]:
        """Values of the left program without a partner."""
        matched_keys = {match.left for match in self.matches}
        return tuple(key for key in self.left.graph.nodes if key not in matched_keys)

    @property
    def right_only(self) -> tuple[int, ...]:
        """Values of the right program without a partner."""
        matched_keys = {match.right for match in self.matches}
        return tuple(key for key in self.right.graph.nodes if key not in matched_keys)

    @property
    def match_count(self) -> int:
        """How many values of the left program have a partner."""
        return len(self.left.graph) - len(self.left_only)

    @property
    def matchers(self) -> dict[str, int]:
        """How many matches each matcher found."""
        return dict(Counter(match.matcher for match in self.matches))

    @property
    def is_equal(self) -> bool:
        """Whether nothing computed is left over, in bodies neither, every result is equal, and nothing is assumed."""
        return (
            not self.assumes
            and all(result.equal for result in self.results)
            and all(region.alignment.is_equal for region in self.regions)
            and not _drop_unread_parameters(self.left.graph, self.left_only)
            and not _drop_unread_parameters(self.right.graph, self.right_only)
        )

    @property
    def reasons(self) -> tuple[ReasonGroup, ...]:
        """Every place grouped by its reason, the reason with most places first; places without one come last."""
        groups: dict[Reason | None, list[FrontierEntry]] = {}
        for alignment in (self, *(region.alignment for region in self.walk_regions())):
            for entry in alignment.frontier:
                groups.setdefault(entry.explanation, []).append(entry)
        sorted_groups = sorted(groups.items(), key=lambda group: (group[0] is None, -len(group[1])))
        return tuple(ReasonGroup(reason, tuple(places)) for reason, places in sorted_groups)

    def walk_regions(self) -> Iterator[RegionAlignment]:
        """The alignments of all bodies, those of a body after its own."""
        for region in self.regions:
            yield region
            yield from region.alignment.walk_regions()


def _drop_unread_parameters(graph: Graph, keys: tuple[int, ...]) -> list[int]:
    unread_keys = set(unread_parameters(graph))
    return [key for key in keys if key not in unread_keys]


def unread_parameters(graph: Graph) -> list[int]:
    """Parameters on which nothing depends: TensorFlow keeps them, JAX leaves them out."""
    read = {operand for node in graph for operand in node.operands} | set(graph.results)
    return [key for key in graph.parameters if key not in read]
