"""Proves regions: both pieces become the same program by rules that do not change its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from compare.hlo.levels import ALGEBRA, STRUCTURE
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Rule, rewrite
from compare.hlo.rules.algebraic import ALGEBRAIC
from compare.hlo.rules.structural import STRUCTURAL
from compare.regions.cutting import draws
from compare.regions.parts import Region, Regions
from compare.regions.pieces import RegionPrograms, identify, make_programs
from compare.regions.splitting import without_determined

_WITHOUT_ASSUMPTIONS = STRUCTURAL + tuple(rule for rule in ALGEBRAIC if not rule.assumes)

OPEN = "open"
_MOST_NODES = 256
"""Nodes of a piece that rules are tried on. A larger piece has no cut points inside and overlaps with others like it:
to rewrite each takes minutes."""


@dataclass(frozen=True)
class RegionProof:
    """One region.

    Attributes:
      level: at which it is proved, `structural` or `algebraic`; `open` where it is not.
      digest: of both pieces, equal for regions that are identical but for the names of their inputs.
      reason: why no rule can prove it, as of random draws; "" where it may be sampled.
    """

    region: Region
    level: str
    digest: bytes
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Proofs:
    """The proof of each region of a split, in its order."""

    regions: Regions
    judged: tuple[RegionProof, ...]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many regions are proved by level, and how many are open."""
        return Counter(one.level for one in self.judged)

    @cached_property
    def open(self) -> Mapping[bytes, tuple[RegionProof, ...]]:
        """The open regions; identical ones are together."""
        groups: dict[bytes, list[RegionProof]] = {}
        for one in self.judged:
            if one.level == OPEN:
                groups.setdefault(one.digest, []).append(one)
        return {digest: tuple(group) for digest, group in groups.items()}


KnownProofs = dict[bytes, RegionProof]
"""The proof of a region by what its pieces compute."""


def prove(regions: Regions, level: str = STRUCTURE, proofs_before: KnownProofs | None = None) -> Proofs:
    """Judge every region by rules alone; identical regions once.

    A region proved at `structural` gives the same bits on both sides for every input, up to the order in which HLO
    lets a sum add up; at `algebraic`, the same value in exact arithmetic. Rules that assume something of their operands
    prove nothing here. A region that stays open computes by itself what its other inputs determine.

    Args:
      level: of the graphs that were split: what rules of theirs assumed or rounded is no part of the proof.
    """
    memo = {} if proofs_before is None else proofs_before
    proofs = [_judge(region, regions, level, memo) for region in regions.regions]
    final = [
        _judge(without_determined(one.region, regions), regions, level, memo) if one.level == OPEN else one
        for one in proofs
    ]
    return Proofs(replace(regions, regions=tuple(one.region for one in final)), tuple(final))


def _judge(region: Region, regions: Regions, level: str, memo: KnownProofs) -> RegionProof:
    """The proof of one region, shared with identical ones."""
    if max(len(piece.nodes) for piece in region.pieces) > _MOST_NODES:
        return RegionProof(region, OPEN, f"{region.cut_point} {region.results}".encode())
    pieces = make_programs(region, regions)
    reason = _reason(pieces)
    if reason or any(pieces.alone):
        # What one program alone takes is no value of another region, and a side effect is no part of a digest.
        return _prove(region, pieces, level, reason)
    digest = identify(pieces)
    if digest not in memo:
        memo[digest] = _prove(region, pieces, level, reason)
    return replace(memo[digest], region=region)


def _prove(region: Region, pieces: RegionPrograms, level: str, reason: str) -> RegionProof:
    plain = _results(pieces, STRUCTURAL)
    digest = b"|".join(b"".join(sorted(side)) for side in plain)
    return RegionProof(region, OPEN if reason else _level(pieces, plain, level), digest, reason)


def _reason(pieces: RegionPrograms) -> str:
    if any(draws(node) for graph in pieces.graphs for node in graph):
        return "it draws random numbers, or does something beside computing values"
    return ""


def _level(pieces: RegionPrograms, plain: Pair[list[bytes]], level: str) -> str:
    """The first level at which all results of both pieces are one value."""
    if len({*plain.left, *plain.right}) == 1:
        return level
    rewritten = _results(pieces, _WITHOUT_ASSUMPTIONS)
    return ALGEBRA if len({*rewritten.left, *rewritten.right}) == 1 else OPEN


def _results(pieces: RegionPrograms, rules: tuple[Rule, ...]) -> Pair[list[bytes]]:
    """Digests of the results of either piece after some rules."""
    forms = [rewrite(graph, rules, slots) for graph, slots in zip(pieces.graphs, pieces.slots, strict=True)]
    left, right = ([form.digests[key] for key in form.graph.results] for form in forms)
    return Pair(left, right)
