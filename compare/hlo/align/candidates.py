"""Pairs of values that their fingerprints allow to be equal: few for each value, and never all with all."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import ml_dtypes
import numpy as np

from compare.hlo.align.fingerprints import Fingerprint, could_be_equal, tolerance_of
from compare.hlo.graph import Graph

_NEAREST = 2
_STEP = 40
"""Width of a bucket in tolerances: wide enough that a value is seldom at an edge."""

Key = tuple[object, ...]
Place = tuple[int, int, int]
"""Depth, position and id: what orders values of one fingerprint."""


@dataclass(frozen=True, eq=False)
class Values:
    """Values of one graph that can be told from others.

    Attributes:
      prints: by node, the fingerprint in each case.
      places: by node, its depth and position in the graph.
    """

    graph: Graph
    prints: Mapping[int, Sequence[Fingerprint]]
    places: Mapping[int, Place]


def places_of(graph: Graph) -> dict[int, Place]:
    """By node, the longest way to it from a parameter or constant, its position, and its id."""
    found: dict[int, Place] = {}
    for position, node in enumerate(graph):
        depth = 1 + max((found[key][0] for key in node.operands), default=-1)
        found[node.id] = depth, position, node.id
    return found


def candidates(
    left: Values, right: Values, open_: tuple[Iterable[int], Iterable[int]], tolerance: float
) -> set[tuple[int, int]]:
    """Pairs, left first, one of which at least is open: those of one opcode and those nearest in their graphs."""
    pairs = {(key, other) for key, other in _found(left, right, open_[0], tolerance)}
    return pairs | {(other, key) for key, other in _found(right, left, open_[1], tolerance)}


def _found(asking: Values, asked: Values, open_: Iterable[int], tolerance: float) -> Iterator[tuple[int, int]]:
    buckets = _buckets(asked, tolerance)
    for key in open_:
        if key not in asking.prints:
            continue
        prints, opcode = asking.prints[key], asking.graph.nodes[key].opcode
        within = _within(prints[0], tolerance)
        near = _keys(prints[0], within, 4 * within)
        lists = [buckets.get((kind, *bucket), []) for kind in (opcode, "") for bucket in near]
        others = {each for places in lists for each in _nearest(places, asking.places[key])}
        for other in sorted(others):
            pairs = zip(prints, asked.prints[other], strict=True)
            if all(could_be_equal(one, another, within) for one, another in pairs):
                yield key, other


def _buckets(values: Values, tolerance: float) -> dict[Key, list[Place]]:
    """Places by opcode and fingerprint, and again under the opcode "" for any opcode; in order."""
    found: dict[Key, list[Place]] = defaultdict(list)
    for key, prints in values.prints.items():
        (bucket,) = _keys(prints[0], _within(prints[0], tolerance), 0.0)
        for opcode in (values.graph.nodes[key].opcode, ""):
            found[opcode, *bucket].append(values.places[key])
    for places in found.values():
        places.sort()
    return found


def _within(print_: Fingerprint, tolerance: float) -> float:
    if print_.kind in ("pred", "integer"):
        return 0.0
    return tolerance_of(np.dtype(getattr(ml_dtypes, print_.kind, print_.kind)), tolerance)


def _keys(print_: Fingerprint, within: float, margin: float) -> set[Key]:
    """The bucket of a fingerprint, and those of its neighbours that are within the margin."""
    plain = print_.elements, print_.kind, print_.exact, print_.special
    if not within or not print_.scale:
        return {plain}
    measures = math.log(print_.scale), print_.spread[2]
    steps = [{math.floor((each + move) / (_STEP * within)) for move in (-margin, margin)} for each in measures]
    return {(*plain, *each) for each in product(*steps)}


def _nearest(places: Sequence[Place], place: Place) -> Iterator[int]:
    at = bisect_left(places, place)
    return (each[2] for each in places[max(0, at - _NEAREST) : at + _NEAREST])
