"""How large blocks have to be: a planted cost of a call moves the advice, and nothing is said of what is not known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.bench.block_sizes import LEAST_GAIN, Advice, Blocks, advice, link

SIZES = (1, 2, 4, 8, 16)


def block(layers: int, ratio: float, width: float = 1.01) -> Blocks:
    return Blocks(layers, ratio, (ratio / width, ratio * width))


@st.composite
def blocks(draw: st.DrawFn) -> list[Blocks]:
    sizes = sorted(draw(st.sets(st.integers(1, 1000), min_size=1, max_size=8)))
    return [block(size, math.exp(draw(st.floats(-0.5, 2.0))), draw(st.floats(1.0, 1.5))) for size in sizes]


@given(st.integers(0, len(SIZES) - 1), st.floats(1.2, 10.0))
def test_a_planted_size_is_advised(place: int, slower: float) -> None:
    drawn = [block(size, slower if at < place else 1.0) for at, size in enumerate(SIZES)]
    assert advice(drawn) == Advice(SIZES[place], shown=True)


@given(blocks())
def test_none_beyond_the_advice_is_too_small_and_the_one_before_is(drawn: list[Blocks]) -> None:
    found = advice(drawn)
    place = len(drawn) if found.layers is None else [each.layers for each in drawn].index(found.layers)
    assert not any(each.is_too_small for each in drawn[place:])
    assert place == 0 or drawn[place - 1].is_too_small
    assert found.shown == (found.layers is not None and all(each.is_enough for each in drawn[place:]))


@given(blocks())
def test_a_block_is_not_both_enough_and_too_small(drawn: list[Blocks]) -> None:
    assert not any(each.is_enough and each.is_too_small for each in drawn)


def test_a_wide_interval_is_no_proof() -> None:
    assert advice([block(1, 2.0), block(2, 1.2, 1.5), block(4, 1.0)]) == Advice(2, shown=False)


def test_a_small_gain_that_is_real_is_not_worth_it() -> None:
    slightly = 1 / (1 - LEAST_GAIN) - 0.01
    assert advice([block(1, slightly, 1.001)]) == Advice(1, shown=True)


def test_what_is_not_known_ends_the_advice() -> None:
    assert advice([block(1, 1.0), Blocks(2), block(4, 1.0)]) == Advice(4, shown=True)
    assert advice([block(1, 1.0), replace(block(2, 1.0), interval=None)]) == Advice(None)
    assert advice([]) == advice([block(4, 3.0)]) == Advice(None)


def test_a_ratio_through_a_third_arm_is_freed_of_what_both_processes_share() -> None:
    generator = np.random.default_rng(0)

    def rounds(seconds: float, level: float) -> list[float]:
        return (seconds * level * np.exp(generator.normal(0, 0.01, 20))).tolist()

    levels = np.exp(generator.normal(0, 0.5, (2, 8)))
    mode, through = zip(*((rounds(3.0, level), rounds(2.0, level)) for level in levels[0]), strict=True)
    base, again = zip(*((rounds(6.0, level), rounds(2.0, level)) for level in levels[1]), strict=True)
    found = link(mode, through, base, again)
    assert found is not None and found.pairs == 8
    assert found.ratio == pytest.approx(0.5, rel=0.02) and found.half_width < 0.05
    assert link(mode, [[]] * 8, base, again) is None
    fewer = link(mode, through, base[:6], again[:6])
    assert fewer is not None and fewer.pairs == 6
