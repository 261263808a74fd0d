"""Pairs of values of two graphs that are equal whenever both are run, and how much each of them tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from compare.hlo import executing
from compare.hlo.align._alignment import Match
from compare.hlo.align.candidates import TellingValues, candidates, places_of
from compare.hlo.align.intermediates import Intermediates, depending_on
from compare.hlo.align.untried import deciding, find_untried
from compare.hlo.arrays.fingerprints import Fingerprint
from compare.hlo.arrays.held import Places
from compare.hlo.arrays.layouts import Equal, Layout
from compare.hlo.arrays.memo import Memo
from compare.hlo.graph import Graph
from compare.hlo.pair import Pair

Arguments = tuple[Sequence[np.ndarray], Sequence[np.ndarray]]
"""Arrays for the left program and for the right one, each in the order of its parameters."""
Ids = Pair[int]
Prints = Mapping[int, Sequence[Fingerprint]]
"""By value, its fingerprint in each case."""

_LEAST_BITS = 8.0
_MOST_ELEMENTS = 1 << 29
"""Compared in one request, which takes seconds."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The values that are run, and how.

    Attributes:
      graphs: hold every value of the graphs to align under its id.
      cases: draws or fetches arguments of both; asked when there is something to find.
      tolerance: of float32, relative to each value's scale.
      budget: bytes of intermediates to hold at a time.
      loops: whether to run what depends on a loop; on arbitrary state a loop may never end.
    """

    graphs: Pair[Graph]
    cases: Callable[[], Sequence[Arguments]]
    tolerance: float
    budget: int
    loops: bool = True


@dataclass(frozen=True, eq=False)
class EqualValues:
    """Every pair that is equal, by node the bits that it tells, and what could not be run.

    `fixed` are the values that depend on no parameter; their pairs are equal to the bit. `idle` are equal
    to an operand of theirs to the bit, as a sum with zeros is. `untried` have a branch that no case took, or are loops
    that none entered.
    """

    pairs: Mapping[Ids, Equal]
    bits: Pair[Mapping[int, float]] = field(default=Pair({}, {}))
    fixed: Pair[set[int]] = field(default_factory=lambda: Pair(set(), set()))
    idle: Pair[set[int]] = field(default_factory=lambda: Pair(set(), set()))
    untried: Pair[set[int]] = field(default_factory=lambda: Pair(set(), set()))
    notes: tuple[str, ...] = ()


_MEMO: Memo[Equal | None] = Memo(1 << 16)
"""By what two values are: whether they are equal, which all levels ask of the same ones."""


def equal_values(graphs: Pair[Graph], known_matches: Iterable[Match], runs: Runs) -> EqualValues:
    """Run both graphs and find the values without a partner that are equal to any value of the other one.

    Args:
      known_matches: matches that were found before; they are not repeated.

    Raises:
      UnreadableProgram: this process's XLA cannot run a graph, for another reason than a call of a library.
    """
    fixed_keys = graphs.map(_find_fixed_keys)
    known_matches = list(known_matches)
    open_ = Pair(
        _open(graphs.left, {match.left for match in known_matches}),
        _open(graphs.right, {match.right for match in known_matches}),
    )
    if not any(open_):
        return EqualValues({}, fixed=fixed_keys)
    cases = runs.cases()
    arguments = Pair([left for left, _ in cases], [right for _, right in cases])
    sides = Pair(
        _intermediates(runs, runs.graphs.left, _keys_to_run(graphs, open_), open_.left, arguments.left),
        _intermediates(
            runs, runs.graphs.right, _keys_to_run(graphs.mirror, open_.mirror), open_.right, arguments.right
        ),
    )
    prints: Pair[Prints] = sides.map(lambda side: side.fingerprints())
    bits = Pair(
        _evidence(runs.graphs.left, prints.left, arguments.left),
        _evidence(runs.graphs.right, prints.right, arguments.right),
    )
    telling = Pair(
        _telling(graphs.left, prints.left, bits.left, fixed_keys.left),
        _telling(graphs.right, prints.right, bits.right, fixed_keys.right),
    )
    pairs = _verify(candidates(telling, open_, runs.tolerance), sides, prints, runs.tolerance)
    constant = _same_content(open_, prints, fixed_keys)
    idle = Pair(_idle(graphs.left, prints.left), _idle(graphs.right, prints.right))
    never = Pair(find_untried(graphs.left, prints.left), find_untried(graphs.right, prints.right))
    return EqualValues(pairs | constant, bits, fixed_keys, idle, never, (*sides.left.notes, *sides.right.notes))


def _idle(graph: Graph, prints: Prints) -> set[int]:
    contents = {key: [case.content for case in cases] for key, cases in prints.items()}
    return {
        key
        for key, content in contents.items()
        if content in [contents.get(operand) for operand in graph.nodes[key].operands]
    }


def _find_fixed_keys(graph: Graph) -> set[int]:
    parameters = set(graph.parameters)
    return set(graph.nodes) - depending_on(graph, lambda node: node.id in parameters)


def _open(graph: Graph, matched_keys: set[int]) -> list[int]:
    return [node.id for node in graph if node.id not in matched_keys and node.shape.is_array]


def _keys_to_run(graphs: Pair[Graph], open_: Pair[list[int]]) -> list[int]:
    """The values of the left graph to run: open ones, their operands, and possible partners of the right's.

    Only values of as many elements can be equal. What tells of branches and loops is wanted too.
    """
    sizes, others = graphs.map(_sizes)
    every, open_sizes = set(others.values()), {others[key] for key in open_.right}
    operands = (operand for key in open_.left for operand in graphs.left.nodes[key].operands)
    open_and_operands = {*open_.left, *operands}
    telling = deciding(graphs.left)
    return [
        key
        for key, size in sizes.items()
        if size in open_sizes or key in telling or (key in open_and_operands and size in every)
    ]


def _sizes(graph: Graph) -> dict[int, int]:
    return {node.id: node.shape.elements for node in graph if node.shape.is_array}


def _intermediates(
    runs: Runs, graph: Graph, keys: list[int], open_keys: list[int], arguments: Sequence[Sequence[np.ndarray]]
) -> Intermediates:
    if not runs.loops:
        endless = depending_on(graph, lambda node: node.opcode == "while")
        keys = [key for key in keys if key not in endless]
    return Intermediates(graph, arguments, keys, open_keys, runs.budget // 2, runs.tolerance)


def _evidence(graph: Graph, prints: Prints, arguments: Sequence[Sequence[np.ndarray]]) -> dict[int, float]:
    """Bits of each value over all cases: none where it stays the same though what it depends on does not."""
    moving = {
        key
        for key, first, *others in zip(graph.parameters, *arguments, strict=True)
        if any(not _same(first, other) for other in others)
    }
    changing_keys = depending_on(graph, lambda node: node.id in moving)
    bits: dict[int, float] = {}
    for key, cases in prints.items():
        different = {case.content: case.bits for case in cases}
        still = key in changing_keys and len(different) == 1
        bits[key] = 0.0 if still else sum(different.values())
    return bits


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one is other or one.tobytes() == other.tobytes()


def _telling(graph: Graph, prints: Prints, bits: Mapping[int, float], fixed_keys: set[int]) -> TellingValues:
    telling_prints = {key: cases for key, cases in prints.items() if key not in fixed_keys and bits[key] >= _LEAST_BITS}
    return TellingValues(graph, telling_prints, places_of(graph))


def _verify(
    pairs: Iterable[Ids], sides: Pair[Intermediates], prints: Pair[Prints], tolerance: float
) -> dict[Ids, Equal]:
    """Pairs whose arrays are equal indeed, in an order that does not depend on the memory that is free."""
    sorted_pairs = sorted(pairs)
    verdicts = _MEMO.get_all(
        [_contents_of(ids, prints, tolerance) for ids in sorted_pairs],
        lambda unknown: _compare([sorted_pairs[index] for index in unknown], sides, prints, tolerance),
    )
    return {ids: equal for ids, equal in zip(sorted_pairs, verdicts, strict=True) if equal is not None}


def _compare(
    pairs: Sequence[Ids], sides: Pair[Intermediates], prints: Pair[Prints], tolerance: float
) -> list[Equal | None]:
    """How each pair of values is equal; group by group, so that few arrays are held at a time."""
    verdicts: dict[Ids, Equal | None] = {ids: Equal(Layout(), 0.0) for ids in pairs if _are_one(ids, prints)}
    rest = [ids for ids in pairs if ids not in verdicts]
    sides.left.narrow({ids.left for ids in rest})
    sides.right.narrow({ids.right for ids in rest})
    pairs_by_groups: dict[Ids, list[Ids]] = defaultdict(list)
    for ids in rest:
        pairs_by_groups[Pair(sides.left.group_of[ids.left], sides.right.group_of[ids.right])].append(ids)
    last = max((groups.left for groups in pairs_by_groups), default=0)
    for groups in sorted(pairs_by_groups, key=partial(_there_and_back, last)):
        left, right = sides.left.group(groups.left), sides.right.group(groups.right)
        for batch in _batches(pairs_by_groups[groups], prints):
            places = [Places(sides.left.place_of[one], sides.right.place_of[other]) for one, other in batch]
            verdicts |= dict(zip(batch, executing.compare(left, right, places, tolerance), strict=True))
    return [verdicts[ids] for ids in pairs]


def _batches(pairs: Sequence[Ids], prints: Pair[Prints]) -> Iterator[list[Ids]]:
    """Batches of pairs with a limited number of elements: a request has a time limit."""
    batch: list[Ids] = []
    size = 0
    for ids in pairs:
        elements = prints.left[ids.left][0].elements
        if batch and size + elements > _MOST_ELEMENTS:
            yield batch
            batch, size = [], 0
        batch.append(ids)
        size += elements
    if batch:
        yield batch


def _are_one(ids: Ids, prints: Pair[Prints]) -> bool:
    """Whether two values have the same bytes and shape in every case: nothing is left to compare."""
    print_pairs = zip(prints.left[ids.left], prints.right[ids.right], strict=True)
    return all(one.content == other.content for one, other in print_pairs)


def _contents_of(ids: Ids, prints: Pair[Prints], tolerance: float) -> tuple[tuple[bytes, ...], float]:
    """All that comparing two values depends on: the bytes and shapes of both in every case."""
    prints_of_both = (*prints.left[ids.left], *prints.right[ids.right])
    return tuple(print_.content for print_ in prints_of_both), tolerance


def _there_and_back(last: int, groups: Ids) -> tuple[int, int]:
    """Orders pairs of groups: left ones from the last, right ones there and back, so that few are computed anew."""
    return -groups.left, groups.right if (last - groups.left) % 2 else -groups.right


def _same_content(open_: Pair[list[int]], prints: Pair[Prints], fixed_keys: Pair[set[int]]) -> dict[Ids, Equal]:
    """Values that depend on no parameter, one of them open, and are the same to the bit, shape included."""
    left, right = _contents(prints.left, fixed_keys.left), _contents(prints.right, fixed_keys.right)
    first = Pair(_by_content(left), _by_content(right))
    pairs = {(key, first.right.get(left[key])) for key in open_.left if key in left}
    pairs |= {(first.left.get(right[key]), key) for key in open_.right if key in right}
    return {Pair(one, other): Equal(Layout(), 0.0) for one, other in pairs if one is not None and other is not None}


def _contents(prints: Prints, fixed_keys: set[int]) -> dict[int, bytes]:
    return {key: first.content for key, (first, *_) in prints.items() if key in fixed_keys}


def _by_content(contents: dict[int, bytes]) -> dict[bytes, int]:
    """The first value of each content."""
    return {content: key for key, content in reversed(contents.items())}
