"""Whether two compilations of one program returned the same."""

from __future__ import annotations

from collections.abc import Mapping

from compare.parity import measure
from compare.parity.identical import same_leaves
from workloads._spec import Arrays


def identical(found: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> bool:
    """Whether every result of every case is equal to the last bit."""
    return found.keys() == expected.keys() and all(same_leaves(found[case], expected[case]) for case in expected)


def difference(found: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> float:
    """The largest difference, relative to the largest value of its array; infinite where one has no counterpart."""
    return max((_of_case(found.get(case, {}), arrays) for case, arrays in expected.items()), default=0.0)


def _of_case(found: Arrays, expected: Arrays) -> float:
    if any(name not in found or found[name].shape != expected[name].shape for name in expected):
        return float("inf")
    errors = (
        measure.distance(found[name], array, measure.scale_of(array, 0.0)).error for name, array in expected.items()
    )
    return max(errors, default=0.0)
