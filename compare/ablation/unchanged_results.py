"""Whether two compilations of one program returned the same."""

from __future__ import annotations

from collections.abc import Mapping

from compare.parity import measure
from compare.parity.identical import same_leaves
from workloads._spec import Arrays


def identical(actual: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> bool:
    """Whether every result of every case is equal to the last bit."""
    return actual.keys() == expected.keys() and all(same_leaves(actual[case], expected[case]) for case in expected)


def difference(actual: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> float:
    """The largest difference, relative to the largest value of its array; infinite where one has no counterpart."""
    return max((_of_case(actual.get(case, {}), arrays) for case, arrays in expected.items()), default=0.0)


def _of_case(actual: Arrays, expected: Arrays) -> float:
    if any(name not in actual or actual[name].shape != expected[name].shape for name in expected):
        return float("inf")
    errors = (
        measure.distance(actual[name], array, measure.scale_of(array, 0.0)).error for name, array in expected.items()
    )
    return max(errors, default=0.0)
