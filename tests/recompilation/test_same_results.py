"""Results with a cure against those without."""

import numpy as np
import pytest

from compare.recompilation.same_results import unlike

BEFORE = [{"0": np.arange(6, dtype=np.float32).reshape(3, 2)}]


@pytest.mark.parametrize(
    ("after", "how", "said"),
    [
        (BEFORE[0]["0"], "whole", ""),
        (np.pad(BEFORE[0]["0"], ((0, 2), (0, 0)), constant_values=9), "within", ""),
        (np.pad(BEFORE[0]["0"], ((0, 2), (0, 0))), "whole", "call 1: result 0 is of shape [5, 2], was [3, 2]"),
        (BEFORE[0]["0"][:2], "within", "call 1: result 0 is of shape [2, 2], was [3, 2]"),
        (BEFORE[0]["0"] * np.float32(1.01), "whole", "call 1: result 0 is off by 0.01 of its largest value"),
        (BEFORE[0]["0"] * np.float32(1.000001), "whole", ""),
        (BEFORE[0]["0"].astype(np.float64), "whole", "call 1: result 0 is float64, was float32"),
        (np.where(BEFORE[0]["0"] == 1, np.float32(np.nan), BEFORE[0]["0"]), "whole", "infinite or NaN elsewhere"),
    ],
)
def test_a_result_is_held_against_the_one_before(after: np.ndarray, how: str, said: str) -> None:
    found = unlike(BEFORE, [{"0": after}], how)  # type: ignore[arg-type]
    assert said in found and bool(said) == bool(found)


def test_integers_and_numbers_of_results_are_compared_exactly() -> None:
    assert "differs in 1 of 2 elements" in unlike([{"0": np.array([1, 2])}], [{"0": np.array([1, 3])}], "whole")
    assert "1 results before, 0 after" in unlike(BEFORE, [{}], "whole")
