"""Fingerprints and comparisons are remembered by all that they depend on, and by nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from compare.hlo.arrays import fingerprints
from compare.hlo.arrays.fingerprints import TOLERANCE, fingerprint
from compare.hlo.arrays.memo import Memo

ROWS = np.random.default_rng(1).standard_normal((64, 96)).astype(np.float32)


def test_a_result_is_computed_once_and_nothing_is_one_too() -> None:
    memo: Memo[int | None] = Memo(8)
    made: list[str] = []

    def compute() -> None:
        made.append("made")

    assert [memo.get("key", compute) for _ in range(3)] == [None, None, None]
    assert made == ["made"]


def test_what_is_too_much_is_forgotten_and_computed_again() -> None:
    memo: Memo[int] = Memo(4)
    made: list[int] = []

    def compute(key: int) -> int:
        return memo.get(key, lambda: made.append(key) or -key)

    assert [compute(key) for key in (0, 1, 2, 3, 4, 0, 4)] == [0, -1, -2, -3, -4, 0, -4]
    assert made == [0, 1, 2, 3, 4, 0]


def test_of_several_results_those_that_are_not_known_are_computed_together() -> None:
    memo: Memo[int] = Memo(8)
    asked: list[list[int]] = []

    def compute(places: list[int]) -> list[int]:
        asked.append(places)
        return [-place for place in places]

    assert memo.get_all(["a", "b"], compute) == [0, -1]
    assert memo.get_all(["b", "c", "a", "d"], compute) == [-1, -1, 0, -3]
    assert memo.get_all(["d", "a"], compute) == [-3, 0]
    assert asked == [[0, 1], [1, 3]]


@pytest.mark.parametrize(
    "other",
    [ROWS.T.copy(), ROWS.reshape(96, 64), ROWS.view(np.int32), np.nextafter(ROWS, np.float32(9))],
    ids=["transposed", "reshaped", "of another type", "in last bits"],
)
def test_arrays_that_differ_in_anything_have_fingerprints_of_their_own(other: np.ndarray) -> None:
    first = fingerprint(ROWS, TOLERANCE)
    assert fingerprint(other, TOLERANCE).content != first.content
    assert fingerprint(other, TOLERANCE) == fingerprints._compute(
        other, fingerprint(other, TOLERANCE).content, TOLERANCE
    )
    assert fingerprint(ROWS, 10 * TOLERANCE).bits < first.bits


def test_an_array_that_is_changed_in_place_is_another_one() -> None:
    array = ROWS.copy()
    before = fingerprint(array, TOLERANCE)
    array[3, 5] += 1
    assert fingerprint(array, TOLERANCE) != before
