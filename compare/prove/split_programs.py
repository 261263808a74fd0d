"""Splits both programs of a pass where their values agree, and finds the regions in which they may differ.

A region that rules prove equal to the bit needs no run. The others are open: each runs by itself, both pieces on the
arrays that TensorFlow's program has at their cut points, so that no error is amplified before it is judged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from compare.hlo.align import align
from compare.hlo.levels import STRUCTURE, Subject
from compare.hlo.pair import Pair
from compare.inputs.at_size import Prepared
from compare.prove.cut_values import CutValues
from compare.prove.open_regions import Arguments, OpenRegions, RegionKey
from compare.prove.shared_parameters import updates
from compare.prove.subjects import cases, subjects
from compare.regions.checking import find_faults
from compare.regions.feeding import find_more_matches
from compare.regions.parts import Region
from compare.regions.proving import KnownProofs, Proofs, prove
from compare.regions.refining import Matched, without_matches
from compare.regions.splitting import split, without_determined
from workloads.protocol.framework import Program

Call = TypeVar("Call")

REFUTING_CALLS = 12
"""The number of calls to refute cut points: values that agree in these agree in most others."""
_MOST_ROUNDS = 16


class SplitPrograms:
    """Two programs that are equal in every call in which their open regions hold.

    Args:
      lone_results: names of results that one program alone may have.

    Raises:
      UnreadableProgram: XLA cannot run what has to be run.
    """

    def __init__(self, programs: Pair[Subject], calls: Sequence[Arguments], lone_results: Collection[str]) -> None:
        self._drawn, self._lone_results = calls, lone_results
        alignment = align(programs.left, programs.right, STRUCTURE, calls)
        self._alignment = alignment if alignment.is_equal else find_more_matches(alignment, calls)
        self._cut_values = CutValues(self._alignment.left.graph)
        self._known_proofs: KnownProofs = {}
        self._refuted = set[Matched]()
        self._noise = Pair(set[int](), set[int]())
        """By program, values that are not matched again."""
        self._has_open_values = False
        """Whether cut points were given up, and their values not matched since."""
        self._telling_when_matched: dict[Matched, int] = {}
        """The number of telling calls on which a pair was matched, besides those that are drawn."""
        self._refuting: list[Arguments] = []
        self._telling: list[Arguments] = []
        """Calls that refuted a cut point: values are matched in these anew, and in the others they are checked."""
        self._holding = set[RegionKey]()
        """Regions whose cut points no call has refuted."""
        self._regions: Split | None = None
        """The regions that no call has refuted yet."""

    @property
    def count_refuted(self) -> int:
        """The number of refuted pairs of values."""
        return len(self._refuted)

    def find_regions(self, refuting: Sequence[Arguments]) -> Split | None:
        """The regions of both programs; None where these do not cover both, or draw random numbers.

        Args:
          refuting: calls, far apart, in which the values of a cut point have to agree, as in all earlier ones.

        Raises:
          UnreadableProgram: XLA cannot run what has to be run, or too much is open.
          PromotionError: an open region has no float64 self.
        """
        self._refuting += refuting
        # Earlier calls have refuted none of the present regions.
        regions, calls, holding = self._regions, refuting, set[RegionKey]()
        self._regions = None
        if regions is None:
            # What held before was not run in these calls.
            self._holding = set()
        for _ in range(_MOST_ROUNDS):
            if regions is None:
                regions, calls, holding = self._open_regions(), self._refuting, self._holding
            if regions is None or regions.opened is None:
                self._regions = regions
                return regions
            regions_to_check = regions.opened.without(holding)
            first_calls = [call for call in calls if _is_among(call, self._telling)]
            # A call that refuted one value mostly refutes what is computed from it: it runs alone until it does not.
            if self._refute(first_calls, regions_to_check):
                regions = None
                continue
            others = [call for call in calls if not _is_among(call, first_calls)]
            more = self._refute(others, regions_to_check)
            self._holding = {key for key in regions.opened.describe_all() if not _is_refuted(key, more)}
            if not more and not self._match_anew():
                self._regions = regions
                return regions
            regions = None
        return None

    def _open_regions(self) -> Split | None:
        proofs = self._prove()
        if proofs is None:
            return None
        members = _select_unproved(proofs)
        open_regions = OpenRegions.of(proofs.regions, members, self._cut_values) if members else None
        return Split(len(proofs.judged), open_regions)

    def _refute(self, calls: Sequence[Arguments], regions: OpenRegions) -> set[Matched]:
        """Give up the cut points that some calls refute, and return their values.

        A value that a call refutes on which it was matched is a rounding error there, and is not matched again: in the
        type of the programs, it has the value of one other rounding error after the other.
        """
        pairs_by_call = regions.find_refuted(calls)
        others: list[set[Matched]] = []
        for call, pairs in zip(calls, pairs_by_call, strict=True):
            noise = {pair for pair in pairs if self._was_matched_on(pair, call)}
            for side in (0, 1):
                self._noise[side].update(pair[side] for pair in noise)
            others.append(pairs - noise)
        self._has_open_values |= any(others)
        telling = _choose_telling(calls, others)
        self._telling += [call for call in telling if not _is_among(call, self._telling)]
        more = set[Matched]().union(*pairs_by_call)
        self._refuted |= more
        self._alignment = without_matches(self._alignment, more)
        return more

    def _was_matched_on(self, pair: Matched, call: Arguments) -> bool:
        telling = self._telling[: self._telling_when_matched.get(pair, 0)]
        return _is_among(call, self._drawn) or _is_among(call, telling)

    def _match_anew(self) -> bool:
        """Match the values of cut points that were given up; whether that has matched any."""
        if not self._has_open_values:
            return False
        self._has_open_values = False
        before = {(match.left, match.right) for match in self._alignment.matches}
        alignment = find_more_matches(self._alignment, [*self._drawn, *self._telling])
        pairs = {(match.left, match.right) for match in alignment.matches} - before
        rejections = {pair for pair in pairs if pair in self._refuted or any(map(set.__contains__, self._noise, pair))}
        self._alignment = without_matches(alignment, rejections)
        self._telling_when_matched |= dict.fromkeys(pairs, len(self._telling))
        return pairs > rejections

    def _prove(self) -> Proofs | None:
        regions = split(self._alignment)
        if set(regions.uncovered) - set(self._lone_results) or find_faults(regions, self._alignment):
            return None
        proofs = prove(regions, proofs_before=self._known_proofs)
        return None if any(proof.reason for proof in proofs.judged) else proofs


@dataclass(frozen=True)
class Split:
    """Two programs as regions.

    Attributes:
      regions: how many there are.
      opened: those that may give other bits; None where all are proved to give the same.
    """

    regions: int
    opened: OpenRegions | None

    @property
    def count_open(self) -> int:
        """How many regions may give other bits."""
        return self.opened.count if self.opened else 0

    @property
    def count_kinds(self) -> int:
        """How many kinds of open regions there are."""
        return self.opened.count_kinds if self.opened else 0


def split_on_cases(instance: Prepared, programs: Pair[Program]) -> SplitPrograms:
    """Both programs of the forward pass or the gradients, matched on cases of the workload.

    A variable that one program alone updates, such as a moving average, is no result of these passes.

    Raises:
      UnreadableProgram: XLA cannot run what has to be run.
    """
    split = Pair(*subjects(programs.left, programs.right))
    variables = {
        side.results[place]
        for side, program in zip(split, programs, strict=True)
        for place in updates(program).values()
    }
    return SplitPrograms(split, [Pair(*call) for call in cases(programs.left, programs.right, instance)], variables)


def spread_out(calls: Sequence[Call]) -> Sequence[Call]:
    """A few calls, the first and the last among them."""
    return [
        calls[position]
        for position in sorted({round(position) for position in np.linspace(0, len(calls) - 1, REFUTING_CALLS)})
    ]


def _is_among(call: Arguments, calls: Sequence[Arguments]) -> bool:
    """Whether a call is one of these; whether arrays are equal has no single answer."""
    return any(call is one for one in calls)


def _is_refuted(key: RegionKey, pairs: Collection[Matched]) -> bool:
    """Whether a region computes a refuted cut point."""
    _, _, cut_point = key
    return cut_point is not None and any((left, right) in pairs for left in cut_point.left for right in cut_point.right)


def _choose_telling(calls: Sequence[Arguments], pairs_by_call: Sequence[Collection[Matched]]) -> list[Arguments]:
    """Few calls that refute all that is refuted: the one that refutes most first."""
    choice: list[Arguments] = []
    rest = set[Matched]().union(*pairs_by_call)
    while rest:
        best = max(range(len(calls)), key=lambda place: len(rest & set(pairs_by_call[place])))
        choice.append(calls[best])
        rest -= set(pairs_by_call[best])
    return choice


def _select_unproved(proofs: Proofs) -> list[Region]:
    """The regions that may give other bits: algebraic rules change the range and the rounding."""
    return [without_determined(proof.region, proofs.regions) for proof in proofs.judged if proof.level != STRUCTURE]
