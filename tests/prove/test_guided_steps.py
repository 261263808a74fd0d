"""Steps that are judged from TensorFlow's weights: all of them, or the first ones where weights are large."""

from __future__ import annotations

import numpy as np
import pytest

from compare.prove import guided_training
from compare.prove.guided_training import LEAST_STEPS, MOST_BYTES


@pytest.mark.parametrize(
    ("weight_bytes", "count"), [(8, 10), (MOST_BYTES // 10, 10), (MOST_BYTES // 5, 5), (MOST_BYTES, LEAST_STEPS)]
)
def test_the_first_steps_are_judged_each_as_many_as_have_room(weight_bytes: int, count: int) -> None:
    kept = np.broadcast_to(np.float64(0), weight_bytes // 8)
    run = {"weights@1/w": kept, "weights@10/w": kept, "loss": np.zeros(10)}
    assert guided_training._steps(10, run) == tuple(range(1, count + 1))


def test_a_run_without_weights_guides_none() -> None:
    assert guided_training._steps(10, {"loss": np.zeros(10)}) == ()
