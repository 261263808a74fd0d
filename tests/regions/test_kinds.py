"""Regions of a kind take turns: the first and the last of them are always among those whose values are used."""

from hypothesis import given
from hypothesis import strategies as st

from compare.hlo.pair import Pair
from compare.regions.kinds import MOST_TURNS, RegionKind
from compare.regions.parts import Piece, Region


@given(st.integers(1, 60))
def test_turns_spread_over_all_regions_of_a_kind(count: int) -> None:
    nothing = Pair(Piece((), ()), Piece((), ()))
    kind = RegionKind(tuple(Region((), nothing, cut_point=at) for at in range(count)))
    places = [kind.take_turn(turn).cut_point for turn in range(MOST_TURNS)]
    first_turns = places[: min(count, MOST_TURNS)]
    assert first_turns == sorted({*first_turns})
    assert (first_turns[0], first_turns[-1]) == (0, count - 1)
