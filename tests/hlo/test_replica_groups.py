"""Replica groups in every form that HLO text has: listed, iota with transposes, axes of a mesh."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.replica_groups import groups, source_target_pairs


@pytest.mark.parametrize(
    ("text", "devices", "expected"),
    [
        ("{}", 3, ((0, 1, 2),)),
        ("{{0,1},{2,3}}", 4, ((0, 1), (2, 3))),
        ("{{0,2},{1,3}}", 4, ((0, 2), (1, 3))),
        ("[2,4]<=[8]", 8, ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("[4,2]<=[2,4]T(1,0)", 8, ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("[2,4]<=[2,2,2]T(1,0,2)", 8, ((0, 1, 4, 5), (2, 3, 6, 7))),
        ("mesh['x'=2,'y'=4] {'y'}", 8, ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("mesh['x'=2,'y'=4] {'x'}", 8, ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("mesh['x'=2,'y'=4] {'x','y'}", 8, (tuple(range(8)),)),
        ("mesh['x'=8] {'x':(2)2}", 8, ((0, 2), (1, 3), (4, 6), (5, 7))),
        # Device 1 stands beside device 0 on the second axis: ids run down the columns.
        ("mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x'}", 8, ((0, 1), (2, 3), (4, 5), (6, 7))),
    ],
)
def test_every_form(text: str, devices: int, expected: tuple[tuple[int, ...], ...]) -> None:
    assert groups(text, devices) == expected


@pytest.mark.parametrize("text", ["{{0,1}}", "{{0,1},{1,2}}", "[2,2]<=[8]", "[3]<=[4]", "<<0>>", "mesh['x'=2] {'x'}"])
def test_what_does_not_name_every_device_once_is_refused(text: str) -> None:
    with pytest.raises(UnreadableProgram, match="expected replica groups of 8 devices"):
        groups(text, 8)


def test_pairs_of_a_permute() -> None:
    assert source_target_pairs("{{0,1},{1,0}}") == ((0, 1), (1, 0))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_an_iota_list_is_the_listed_groups(dimensions: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(dimensions))))
    count = math.prod(dimensions)
    each = data.draw(st.sampled_from([size for size in range(1, count + 1) if count % size == 0]))
    # By the definition in words: the number at a place of the transposed array is found by its coordinates.
    numbers = []
    for place in np.ndindex(*(dimensions[axis] for axis in order)):
        coordinates = [0] * len(dimensions)
        for axis, at in zip(order, place, strict=True):
            coordinates[axis] = at
        numbers.append(int(np.ravel_multi_index(coordinates, dimensions)))
    listed = [numbers[start : start + each] for start in range(0, count, each)]
    sizes, turned = ",".join(map(str, dimensions)), ",".join(map(str, order))
    iota = f"[{count // each},{each}]<=[{sizes}]T({turned})"
    written = "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in listed) + "}"
    assert groups(iota, count) == groups(written, count) == tuple(map(tuple, listed))
