"""Open regions of two programs in groups that fit into memory, and the arrays that calls of both pass to them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from compare.hlo import bindings, executing, promote, values
from compare.hlo.arrays.room import budget
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.pair import Pair
from compare.hlo.write_module import write_graph
from compare.parity.measure import is_float, largest, wide
from compare.prove.cut_values import CutValues
from compare.prove.running import MOST_BYTES
from compare.regions.kinds import RegionKind, group_identical, separate
from compare.regions.open_programs import OpenPrograms, count_roundings, merge_regions
from compare.regions.parts import CutPoint, Piece, Region, Regions
from compare.regions.refining import ExactCall, Matched, find_refuted
from workloads.protocol.compiling import QUICKLY, for_size

MOST_OPERATIONS = 1 << 14
"""The most operations of all open regions together: without matches, regions repeat one another."""
SWEPT_TURNS = 4
"""How many regions of a kind take turns in a sweep, from the first to the last: they lie in different layers."""
_WIDE, _NARROW = 8, 4
"""Bytes of an element in float64, and as TensorFlow's program has it."""

Member = TypeVar("Member")

Arguments = Pair[Sequence[np.ndarray]]
"""The arguments of both programs in one call."""

RegionKey = tuple[Pair[Piece], frozenset[Pair[tuple[int, ...]]], Pair[tuple[int, ...]] | None]
"""Both pieces of a region, the ids that hold its inputs, and those that hold its cut point."""


@dataclass(frozen=True)
class RegionInputs:
    """The arrays that one call passes to regions.

    Attributes:
      shared: values at cut points.
      own: by program, its parameters that the other one does not have.
      turn: the number of the turn, which tells the regions that they belong to.
    """

    shared: Sequence[np.ndarray]
    own: Pair[Sequence[np.ndarray]]
    turn: int

    def of(self, side: int) -> list[np.ndarray]:
        """The arguments of a side's program."""
        return [*self.shared, *self.own[side]]

    def in_float64(self, side: int) -> list[np.ndarray]:
        """The inputs with floats in float64."""
        return [wide(array) if is_float(array) else array for array in self.of(side)]


@dataclass(frozen=True)
class RegionGroup:
    """Kinds of open regions that run together, one region of each in one program a side.

    Attributes:
      regions: the split, with a cut point for each value that the programs read.
      programs: both pieces of the first region of each kind.
      kinds: of regions of the split.
      cut_points: of the split.
    """

    regions: Regions
    programs: OpenPrograms
    kinds: Sequence[RegionKind]
    cut_points: Sequence[CutPoint]

    @classmethod
    def of(cls, kinds: Sequence[RegionKind], regions: Regions) -> RegionGroup:
        """The group of some kinds."""
        own_inputs, firsts = separate(kinds, regions)
        return cls(own_inputs, merge_regions(firsts, own_inputs), kinds, regions.cut_points)

    @cached_property
    def all_turns(self) -> range:
        """Numbers of the turns in which each region is used."""
        return range(max(len(kind.regions) for kind in self.kinds))

    @cached_property
    def turns(self) -> Sequence[Sequence[Region]]:
        """The regions whose values fill the programs, turn by turn; behind those of `all_turns`, those of a sweep."""
        count = len(self.all_turns)
        all_turns = [[kind.take_turn(turn, count) for kind in self.kinds] for turn in self.all_turns]
        swept_turns = [[_choose_swept(kind, turn) for kind in self.kinds] for turn in range(min(SWEPT_TURNS, count))]
        return [*all_turns, *swept_turns]

    @cached_property
    def keys(self) -> Sequence[Sequence[int]]:
        """By turn, ids in TensorFlow's graph of what the regions read, in the order of their shared parameters."""
        return [[self.cut_points[cut].nodes.left[0] for region in turn for cut in region.inputs] for turn in self.turns]

    def batches(self, inputs: Sequence[RegionInputs]) -> Iterator[Sequence[RegionInputs]]:
        """Batches of as many turns as one request may hold."""
        size = sum(_count_bytes(self.regions, region) for region in self.programs.regions)
        at_once = max(1, MOST_BYTES // max(1, size))
        return (inputs[start : start + at_once] for start in range(0, len(inputs), at_once))

    def swept_turns(self, number: int) -> Sequence[int]:
        """The turns that a call of a sweep takes: one, but all where no refuted cut point would tell of a region."""
        count = len(self.all_turns)
        if not self.has_cut_points:
            return self.all_turns
        turns = len(self.turns) - count
        # A sweep has few magnitudes of each pattern: each turn comes to all of them.
        return [count + (number + number // turns) % turns]

    @property
    def has_cut_points(self) -> bool:
        """Whether each region gives a cut point, which calls may refute; one that gives results alone has none."""
        return all(kind.has_cut_points for kind in self.kinds)

    @cached_property
    def artifacts(self) -> Pair[bytes]:
        """Both programs of the regions."""
        return self.programs.graphs.map(lambda graph: bindings.bytecode_of_hlo(write_graph(graph)))

    @cached_property
    def exact(self) -> executing.Executable:
        """TensorFlow's pieces, which compute in float64 from arguments in their own types.

        Arguments that are widened first take longer to reach XLA than the pieces take to run.
        """
        return self._compile_exactly(self.artifacts.left)

    @cached_property
    def exact_pieces(self) -> Pair[executing.Executable]:
        """The pieces of both programs, likewise."""
        return Pair(self.exact, self._compile_exactly(self.artifacts.right))

    @cached_property
    def roundings(self) -> float:
        """How many roundings in a row any of the pieces makes."""
        return max(count_roundings(region, self.regions.graphs.left) for region in self.programs.regions)

    def compile(self, artifact: bytes) -> executing.Executable:
        """A program of these regions, compiled for as many calls as a sweep makes.

        Args:
          artifact: one of `artifacts`, or made of it.
        """
        graph = self.programs.graphs.left
        return executing.compile_bytecode(artifact, for_size(QUICKLY, values.count_elements(graph, graph.results)))

    def _compile_exactly(self, artifact: bytes) -> executing.Executable:
        return self.compile(promote.promote(artifact, takes_narrow=True))

    def select_inputs(self, call: Arguments, values_at: Mapping[int, np.ndarray], turn: int) -> RegionInputs:
        """The inputs of the regions of both sides in a turn of a call.

        Args:
          values_at: by id in TensorFlow's graph, the values of this call.
        """
        return RegionInputs([values_at[key] for key in self.keys[turn]], self.select_own(call), turn)

    def select_own(self, call: Arguments) -> Pair[Sequence[np.ndarray]]:
        """The arguments in a call that only one program takes."""
        return Pair(
            *(
                [arguments[graph.parameters.index(key)] for key in alone]
                for arguments, graph, alone in zip(call, self.regions.graphs, self.programs.alone, strict=True)
            )
        )

    def find_refuted(self, inputs: Sequence[RegionInputs]) -> Iterator[set[Matched]]:
        """The values that were supposed to be one, and differ in float64, in each of these turns."""
        for batch in self.batches(inputs):
            runs = (self.exact_pieces[side].each([one.of(side) for one in batch]) for side in (0, 1))
            for one, *results in zip(batch, *runs, strict=True):
                call = ExactCall(Pair(*results), self.measure_sizes(one))
                yield find_refuted(self.cut_points, self.turns[one.turn], self.programs, call)

    def describe(self, region: Region) -> RegionKey:
        """A key that identifies a region in all splits of the same programs."""
        inputs = frozenset(self.cut_points[cut].nodes for cut in region.inputs)
        cut_point = None if region.cut_point is None else self.cut_points[region.cut_point].nodes
        return region.pieces, inputs, cut_point

    def measure_sizes(self, inputs: RegionInputs) -> list[float]:
        """By region, the largest value that it reads."""
        read = {position: largest([array]) for position, array in zip(self.programs.read, inputs.shared, strict=True)}
        return [max((read[position] for position in region.inputs), default=0.0) for region in self.programs.regions]


@dataclass(frozen=True)
class OpenRegions:
    """All open regions of one pass: identical ones are a kind, which is compiled once.

    Attributes:
      regions: the split.
      groups: of kinds that run together.
      cut_values: has what TensorFlow's program computes at cut points.
    """

    regions: Regions
    groups: tuple[RegionGroup, ...]
    cut_values: CutValues

    @classmethod
    def of(cls, regions: Regions, members: Sequence[Region], cut_values: CutValues) -> OpenRegions:
        """These regions, in groups whose arrays have room in memory.

        Args:
          cut_values: has what TensorFlow's program computes at cut points.

        Raises:
          UnreadableProgram: they are too large together, one by itself is, or the values that they read are.
        """
        room = budget()
        groups = tuple(
            RegionGroup.of(group, regions)
            for kinds in _by_turns(group_identical(members, regions))
            for group in _group(kinds, lambda kind: _count_bytes(regions, kind.regions[0]), room)
        )
        operations = max(sum(len(group.programs.graphs[side].nodes) for group in groups) for side in (0, 1))
        if operations > MOST_OPERATIONS:
            raise UnreadableProgram(f"expected at most {MOST_OPERATIONS:,} operations in open regions")
        result = cls(regions, groups, cut_values)
        if result._bytes > room:
            raise UnreadableProgram(f"expected {result._bytes:,} bytes for what open regions read, found {room:,}")
        return result

    @property
    def count(self) -> int:
        """How many regions these are."""
        return sum(len(kind.regions) for group in self.groups for kind in group.kinds)

    @property
    def count_kinds(self) -> int:
        """How many kinds of regions these are."""
        return sum(len(group.kinds) for group in self.groups)

    @property
    def roundings(self) -> float:
        """How many roundings in a row any piece of TensorFlow's makes."""
        return max(group.roundings for group in self.groups)

    @property
    def at_once(self) -> int:
        """How many calls one request may hold."""
        return max(1, MOST_BYTES // max(1, self._bytes))

    def collect(
        self, calls: Sequence[Arguments], choose_turns: Callable[[RegionGroup, int], Iterable[int]]
    ) -> list[list[RegionInputs]]:
        """By group, what its regions take in each call, turn after turn.

        Args:
          choose_turns: from a group and the position of a call, the turns that are taken in it.
        """
        turns_by_call = [[[*choose_turns(group, position)] for group in self.groups] for position in range(len(calls))]
        keys_by_call = [self._list_keys(turns_by_group) for turns_by_group in turns_by_call]
        values_by_call = self.cut_values.compute_each(keys_by_call, [call.left for call in calls])
        return [
            [
                group.select_inputs(call, values_at, turn)
                for call, values_at, turns_by_group in zip(calls, values_by_call, turns_by_call, strict=True)
                for turn in turns_by_group[place]
            ]
            for place, group in enumerate(self.groups)
        ]

    def find_refuted(self, calls: Sequence[Arguments]) -> list[set[Matched]]:
        """By call, the values that were supposed to be one, and differ in it though both programs take the same."""
        pairs_by_call: list[set[Matched]] = [set() for _ in calls]
        for start in range(0, len(calls) if self.groups else 0, self.at_once):
            inputs_by_group = self.collect(calls[start : start + self.at_once], lambda group, _: group.all_turns)
            for group, inputs in zip(self.groups, inputs_by_group, strict=True):
                for position, pairs in enumerate(group.find_refuted(inputs)):
                    pairs_by_call[start + position // len(group.all_turns)] |= pairs
        return pairs_by_call

    def without(self, keys: Collection[RegionKey]) -> OpenRegions:
        """The other regions, in groups of their own."""
        all_regions = [(group, region) for group in self.groups for kind in group.kinds for region in kind.regions]
        rest = [region for group, region in all_regions if group.describe(region) not in keys]
        return self if len(rest) == len(all_regions) else OpenRegions.of(self.regions, rest, self.cut_values)

    def describe_all(self) -> set[RegionKey]:
        """All of these regions, as they are in any split of the same programs."""
        return {group.describe(region) for group in self.groups for kind in group.kinds for region in kind.regions}

    def _list_keys(self, turns_by_group: Sequence[Iterable[int]]) -> tuple[int, ...]:
        """Ids in TensorFlow's graph of what is read in some turns of each group."""
        turns = ((group, turn) for group, turns in zip(self.groups, turns_by_group, strict=True) for turn in turns)
        return tuple(dict.fromkeys(key for group, turn in turns for key in group.keys[turn]))

    @cached_property
    def _bytes(self) -> int:
        """The bytes of the values that all regions read in one call."""
        nodes = self.regions.graphs.left.nodes
        keys = self._list_keys([range(len(group.turns)) for group in self.groups])
        return _NARROW * sum(nodes[key].shape.elements for key in keys)


def _choose_swept(kind: RegionKind, turn: int) -> Region:
    """The region of a kind whose values a turn of a sweep uses: of few regions each, of many the first and the last."""
    turns = min(SWEPT_TURNS, len(kind.regions))
    return kind.take_turn(turn % turns, turns)


def _by_turns(kinds: Sequence[RegionKind]) -> Iterator[list[RegionKind]]:
    """Kinds of about as many regions together: in each turn of a group, all of its kinds run.

    Those of which a region gives no cut point are apart: a sweep takes all of their turns.
    """
    by_size: dict[tuple[int, bool], list[RegionKind]] = {}
    for kind in kinds:
        by_size.setdefault((len(kind.regions).bit_length(), kind.has_cut_points), []).append(kind)
    yield from by_size.values()


def _group(members: Iterable[Member], count_bytes: Callable[[Member], int], room: int) -> Iterator[list[Member]]:
    """Regions or kinds of them in their order, as many together as have room.

    Raises:
      UnreadableProgram: one by itself has none.
    """
    group: list[Member] = []
    total = 0
    for member in members:
        size = count_bytes(member)
        if size > room:
            raise UnreadableProgram(f"expected {size:,} bytes for the arrays of one open region, found {room:,}")
        if total + size > room:
            yield group
            group, total = [], 0
        group.append(member)
        total += size
    yield group


def _count_bytes(regions: Regions, region: Region) -> int:
    """The bytes of the arrays of one call that both pieces read and compute, in float64 and as they are."""
    read = (regions.cut_points[cut].nodes.left[0] for cut in region.inputs)
    pieces = ((*piece.outputs, *piece.alone) for piece in region.pieces)
    keys = zip(regions.graphs, pieces, strict=True)
    elements = sum(regions.graphs.left.nodes[key].shape.elements for key in read)
    elements += sum(graph.nodes[key].shape.elements for graph, own in keys for key in own)
    return (_WIDE + _NARROW) * elements
