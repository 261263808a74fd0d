"""Regions of a kind take turns, and none is left out."""

from hypothesis import given
from hypothesis import strategies as st

from compare.hlo.pair import Pair
from compare.regions.kinds import RegionKind
from compare.regions.parts import Piece, Region


@given(st.integers(1, 60), st.integers(0, 60))
def test_each_region_of_a_kind_takes_a_turn(count: int, more: int) -> None:
    nothing = Pair(Piece((), ()), Piece((), ()))
    kind = RegionKind(tuple(Region((), nothing, cut_point=at) for at in range(count)))
    places = [kind.take_turn(turn, count + more).cut_point for turn in range(count + more)]
    assert sorted({*places}) == [*range(count)]
