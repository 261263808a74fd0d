"""Whether the four cells computed the same: what counts as another result, and what as rounding."""

from __future__ import annotations

import numpy as np
import pytest

from compare.run import cells

EXPECTED = {"loss": np.float32(2.0), "moment": np.array([1e-9, -1e-9], np.float32), "count": np.array([1, 2])}


def error_of(**changed: np.ndarray) -> float | None:
    return cells._distance(EXPECTED | changed, EXPECTED)


def test_equal_results_have_no_error_and_unnamed_ones_none() -> None:
    assert error_of() == 0
    assert cells._distance({}, EXPECTED) is None


def test_a_moment_of_pure_rounding_may_be_any_other_rounding() -> None:
    assert error_of(moment=-EXPECTED["moment"]) == 0


def test_what_is_beyond_rounding_of_the_largest_result_counts_relative_to_its_own() -> None:
    assert error_of(moment=np.array([1e-5, 0], np.float32)) == pytest.approx(1e4, rel=1e-3)
    assert error_of(loss=np.float32(2.02)) == pytest.approx(0.01, rel=1e-3)


def test_integers_have_no_rounding_and_other_shapes_nothing_in_common() -> None:
    assert error_of(count=np.array([1, 3])) == 0.5
    assert error_of(count=np.array([1])) == np.inf
