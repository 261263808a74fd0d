"""Named dimensions: which sizes are judged, and what is no dimension."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import ArraySpec, Workload
from workloads.core.dimensions import LARGE, Range, describe_dimensions, others, usual


def judged(names: str, ranges: Mapping[str, Range] | None = None) -> list[tuple[int, ...]]:
    """The sizes that are judged, the usual ones first."""
    ranges = ranges or {}
    own = usual(names.split(), ranges)
    return [tuple(row.values()) for row in (own, *others(own, names.split(), ranges, lambda each: True))]


def test_one_dimension_is_judged_at_the_least_sizes_an_odd_an_even_and_a_large_one() -> None:
    assert judged("B") == [(8,), (1,), (2,), (3,), (7,), (LARGE,)]


def test_a_range_is_judged_at_both_of_its_ends() -> None:
    assert {size for (size,) in judged("B", {"B": (5, 1000)})} == {5, 6, 7, 8, 1000}
    assert {size for (size,) in judged("B", {"B": (100, 200)})} == {100, 101, 102, 150, 151, 200}
    assert judged("B", {"B": (4, 4)}) == [(4,)]


def test_two_dimensions_are_unequal_but_once() -> None:
    sizes = judged("B T")
    assert [pair for pair in sizes if pair[0] == pair[1]] == [(1, 1)]
    assert {first for first, _ in sizes} >= {1, 2, 3, 7, 8, LARGE} and {second for _, second in sizes} >= {1, 2, 3, 9}


def test_what_was_chosen_is_not_judged_twice() -> None:
    assert {"B": 7} not in others({"B": 7}, ["B"], {}, lambda each: True)


def test_a_size_that_nobody_asked_for_is_no_larger_than_what_fits() -> None:
    sizes = others({"B": 8}, ["B"], {}, lambda each: each["B"] <= 20)
    assert max(each["B"] for each in sizes) == 12
    assert max(each["B"] for each in others({"B": 8}, ["B"], {"B": (1, 100)}, lambda each: each["B"] <= 20)) == 100


ENDS = st.tuples(st.integers(1, 300), st.integers(0, 300)).map(lambda ends: (ends[0], ends[0] + ends[1]))


@given(st.lists(ENDS, min_size=1, max_size=4))
def test_every_size_lies_within_its_range(ends: list[Range]) -> None:
    names = [f"D{turn}" for turn in range(len(ends))]
    for row in judged(" ".join(names), dict(zip(names, ends, strict=True))):
        assert all(low <= size <= high for size, (low, high) in zip(row, ends, strict=True))


def test_equal_names_are_equal_sizes() -> None:
    workload = Workload("w", "m:f", "m:g", {"x": ArraySpec(("B", 3)), "y": ArraySpec(("B", "T"))})
    assert workload.varying == ("B", "T")
    assert {name: spec.shape for name, spec in workload.input_specs({"B": 5, "T": 6}).items()} == {
        "x": (5, 3), "y": (5, 6)
    }  # fmt: skip
    assert workload.dimensions("default") == {"B": 8, "T": 10}


def test_dimensions_of_sizes_vary_where_a_range_is_given() -> None:
    workload = Workload(
        "w", "m:f", "m:g", lambda d: {"x": ArraySpec((d["batch"],))}, sizes={"default": {"batch": 32}},
        ranges={"batch": (1, LARGE)},
    )  # fmt: skip
    assert workload.varying == ("batch",)
    assert workload.dimensions("default") == {"batch": 32}


@pytest.mark.parametrize(
    ("name", "ends", "message"),
    [
        ("B", (3, 1), "expected B=LOW..HIGH with sizes from 1 that rise, found 3..1"),
        ("B", (0, 8), "found 0..8"),
        ("2B", (1, 8), "expected a size or the name of a dimension such as B, found '2B'"),
        ("None", (1, 8), "found 'None'"),
    ],
)
def test_a_range_without_sizes_is_refused(name: str, ends: Range, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Workload("w", "m:f", "m:g", {"x": ArraySpec((4,))}, ranges={name: ends})


def test_a_dimension_without_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a size for dimension T, found none"):
        ArraySpec(("B", "T")).resolve({"B": 3})
    with pytest.raises(ValueError, match="found 'B\\+1'"):
        ArraySpec(("B+1",))


def test_sizes_are_told_by_name() -> None:
    assert describe_dimensions({"B": 3, "T": 7}) == "B=3, T=7"
