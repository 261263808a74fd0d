"""Pairs of values that their fingerprints allow to be equal: few for each value, and never all with all."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import ml_dtypes
import numpy as np

from compare.hlo.arrays.fingerprints import Fingerprint, could_be_equal, tolerance_of
from compare.hlo.graph import Graph
from compare.hlo.pair import Pair

_NEAREST = 2
_STEP = 40
"""Width of a bucket in tolerances: wide enough that a value is seldom at an edge."""

Key = tuple[object, ...]


class GraphPosition(NamedTuple):
    """Where a value stands in its graph: what orders values of one fingerprint."""

    depth: int
    position: int
    id: int


@dataclass(frozen=True, eq=False)
class TellingValues:
    """Values of one graph that differ from all others.

    Attributes:
      prints: by node, the fingerprint in each case.
      places: by node, its depth and position in the graph.
    """

    graph: Graph
    prints: Mapping[int, Sequence[Fingerprint]]
    places: Mapping[int, GraphPosition]


def places_of(graph: Graph) -> dict[int, GraphPosition]:
    """By node, the longest way to it from a parameter or constant, its position, and its id."""
    places: dict[int, GraphPosition] = {}
    for position, node in enumerate(graph):
        depth = 1 + max((places[key].depth for key in node.operands), default=-1)
        places[node.id] = GraphPosition(depth, position, node.id)
    return places


def candidates(values: Pair[TellingValues], open_: Pair[list[int]], tolerance: float) -> set[Pair[int]]:
    """Pairs one of which at least is open: those of one opcode and those nearest in their graphs.

    Args:
      open_: of either graph, the values that have no partner yet.
      tolerance: float32's, relative to each value's scale.
    """
    pairs = set(_alike(values, open_.left, tolerance))
    return pairs | {pair.mirror for pair in _alike(values.mirror, open_.right, tolerance)}


def _alike(values: Pair[TellingValues], open_: Iterable[int], tolerance: float) -> Iterator[Pair[int]]:
    """Open values of the left graph with values of the right one."""
    left_values, right_values = values
    buckets = _buckets(right_values, tolerance)
    for key in open_:
        if key not in left_values.prints:
            continue
        prints, opcode = left_values.prints[key], left_values.graph.nodes[key].opcode
        first, *_ = prints
        within = _within(first, tolerance)
        near = _keys(first, within, 4 * within)
        lists = [buckets.get((kind, *bucket), []) for kind in (opcode, "") for bucket in near]
        others = {near_by for places in lists for near_by in _nearest(places, left_values.places[key])}
        for other in sorted(others):
            pairs = zip(prints, right_values.prints[other], strict=True)
            if all(could_be_equal(one, another, within) for one, another in pairs):
                yield Pair(key, other)


def _buckets(values: TellingValues, tolerance: float) -> dict[Key, list[GraphPosition]]:
    """Places by opcode and fingerprint, and again under the opcode "" for any opcode; in order."""
    buckets: dict[Key, list[GraphPosition]] = defaultdict(list)
    for key, (first, *_) in values.prints.items():
        (bucket,) = _keys(first, _within(first, tolerance), 0.0)
        for opcode in (values.graph.nodes[key].opcode, ""):
            buckets[opcode, *bucket].append(values.places[key])
    for places in buckets.values():
        places.sort()
    return buckets


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
    steps = [{math.floor((value + move) / (_STEP * within)) for move in (-margin, margin)} for value in measures]
    return {(*plain, *bucket) for bucket in product(*steps)}


def _nearest(places: Sequence[GraphPosition], place: GraphPosition) -> Iterator[int]:
    index = bisect_left(places, place)
    return (near.id for near in places[max(0, index - _NEAREST) : index + _NEAREST])
