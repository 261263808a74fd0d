"""Which regions are proved: both pieces become the same program by rules that keep what it computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from compare.hlo.graph import Graph
from compare.hlo.levels import ALGEBRA, STRUCTURE
from compare.hlo.rewriting import Rule, rewrite
from compare.hlo.rules.algebraic import ALGEBRAIC
from compare.hlo.rules.structural import STRUCTURAL
from compare.regions.cutting import draws
from compare.regions.parts import Region, Regions
from compare.regions.pieces import RegionPrograms, programs

_WITHOUT_ASSUMPTIONS = STRUCTURAL + tuple(rule for rule in ALGEBRAIC if not rule.assumes)
_LEVELS: Mapping[str, tuple[Rule, ...]] = {STRUCTURE: STRUCTURAL, ALGEBRA: _WITHOUT_ASSUMPTIONS}

OPEN = "open"


@dataclass(frozen=True)
class Judged:
    """One region.

    Attributes:
      level: at which it is proved, `structural` or `algebraic`; `open` where it is not.
      digest: of both pieces, equal for regions that are identical but for the names of their inputs.
      reason: why it can be proved by no level, as of random draws; "" where it may be sampled.
    """

    region: Region
    level: str
    digest: bytes
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Proofs:
    """What is proved of each region of a split, in its order."""

    regions: Regions
    judged: tuple[Judged, ...]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many regions are proved by level, and how many are open."""
        return Counter(each.level for each in self.judged)

    @cached_property
    def distinct(self) -> tuple[Judged, ...]:
        """The open regions, of identical ones the first."""
        return tuple({each.digest: each for each in reversed(self.judged) if each.level == OPEN}.values())[::-1]


def prove(regions: Regions) -> Proofs:
    """Judge every region by rules alone; identical regions once.

    A region proved at `structural` gives the same bits on both sides for every input, up to the order in which HLO
    lets a sum add up; at `algebraic`, the same value in exact arithmetic. Rules that assume something of their operands
    prove nothing here.
    """
    levels: dict[bytes, str] = {}
    judged: list[Judged] = []
    for region in regions.regions:
        pieces = programs(region, regions)
        digest = _digest_of(pieces)
        reason = _without_proof(pieces)
        if digest not in levels:
            levels[digest] = OPEN if reason else _level_of(pieces)
        judged.append(Judged(region, levels[digest], digest, reason))
    return Proofs(regions, tuple(judged))


def _without_proof(pieces: RegionPrograms) -> str:
    if any(draws(node) for graph in pieces.graphs for node in graph):
        return "it draws random numbers, or does something beside computing values"
    return ""


def _digest_of(pieces: RegionPrograms) -> bytes:
    left, right = (_results(graph, STRUCTURAL, slots) for graph, slots in zip(pieces.graphs, pieces.slots, strict=True))
    return b"".join(sorted(left)) + b"|" + b"".join(sorted(right))


def _level_of(pieces: RegionPrograms) -> str:
    """The first level at which all results of both pieces are one value."""
    for level, rules in _LEVELS.items():
        sides = zip(pieces.graphs, pieces.slots, strict=True)
        if len({digest for graph, slots in sides for digest in _results(graph, rules, slots)}) == 1:
            return level
    return OPEN


def _results(graph: Graph, rules: tuple[Rule, ...], slots: list[str]) -> list[bytes]:
    form = rewrite(graph, rules, slots)
    return [form.digests[key] for key in form.graph.results]
