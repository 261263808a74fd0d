"""A run that goes on from a checkpoint: what of the whole run it is held against."""

from __future__ import annotations

import numpy as np

from compare.distribution.resuming import identical, rest_of

WHOLE = {
    "loss": np.array([3.0, 2.0, 1.0]),
    "weights@1/a": np.array([1.0]),
    "weights@2/a": np.array([2.0]),
    "weights@3/a": np.array([3.0]),
    "state@3/count": np.array(3),
}


def test_the_rest_begins_after_the_checkpoint() -> None:
    rest = rest_of(WHOLE, 2)
    assert list(rest) == ["loss", "weights@3/a", "state@3/count"] and rest["loss"].tolist() == [1.0]


def test_identical_is_to_the_last_bit() -> None:
    assert identical(WHOLE, dict(WHOLE))
    assert not identical({**WHOLE, "weights@3/a": np.array([3.0 + 4e-16])}, WHOLE)
    assert not identical({**WHOLE, "weights@3/a": np.array([3.0], np.float32)}, WHOLE)
    assert not identical(rest_of(WHOLE, 1), WHOLE)
