"""What an alignment says: which values are the same, by whom that was found, and where two programs part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from compare.hlo.rewriting import Rewritten

SLOT, NUMBER, VALUE, NEIGHBOURHOOD, REGION = "slot", "value number", "value", "neighbourhood", "region"
"""Matchers: parameters by what fills them; the same operation of matched operands; the same arrays on the same
inputs; alike in operands and users; within loops and reducers that are matched themselves."""


@dataclass(frozen=True)
class Match:
    """Two values held to be the same.

    Attributes:
      left, right: ids in the canonical graphs.
      matcher: who found it.
      ulp: largest distance between the two in units in the last place, where both were run.
      note: what beside equality was needed ("transposed by (1, 0)").
    """

    left: int
    right: int
    matcher: str
    ulp: float | None = None
    note: str = ""


@dataclass(frozen=True)
class FrontierEntry:
    """A value without a partner whose operands all have one: a first place where two programs part.

    `op` is HLO's opcode, `name` the instruction's and `source` the "file:line" or "".
    `explained` names the known difference between frontends that this is, "" where none is known.
    """

    side: str
    op: str
    name: str
    source: str
    reason: str
    explained: str = ""


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two programs at one canonical level. A value of either side may be in several matches.

    `alike` pairs what has no match on either side and stands in the same place: not the same value,
    but one that was changed; their notes say what differs.
    """

    level: str
    left: Rewritten
    right: Rewritten
    matches: tuple[Match, ...]
    frontier: tuple[FrontierEntry, ...]
    alike: tuple[Match, ...] = ()

    @property
    def left_only(self) -> tuple[int, ...]:
        """Values of the left program without a partner."""
        taken = {match.left for match in self.matches}
        return tuple(key for key in self.left.graph.nodes if key not in taken)

    @property
    def right_only(self) -> tuple[int, ...]:
        """Values of the right program without a partner."""
        taken = {match.right for match in self.matches}
        return tuple(key for key in self.right.graph.nodes if key not in taken)

    @property
    def matched(self) -> int:
        """How many values of the left program have a partner."""
        return len(self.left.graph) - len(self.left_only)

    @property
    def matchers(self) -> dict[str, int]:
        """How many matches each matcher found."""
        return dict(Counter(match.matcher for match in self.matches))

    @property
    def is_equal(self) -> bool:
        """Whether nothing is left over on either side and every result is the same value."""
        return not self.left_only and not self.right_only
