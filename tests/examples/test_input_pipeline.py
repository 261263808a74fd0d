"""`examples/input_pipeline`: one training with a pipeline, two devices, mixed precision and XLA, in both frameworks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "input_pipeline"
BFLOAT16_ROUNDOFF = 2**-9


def reported(script: str) -> dict:
    ran = subprocess.run(
        [sys.executable, script], cwd=EXAMPLE, capture_output=True, text=True, timeout=600, check=True
    )  # fmt: skip
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.process
def test_both_train_alike_and_say_what_bounds_them() -> None:
    tf, jax = reported("train_tf.py"), reported("train_jax.py")
    assert len(tf["losses"]) == 20
    # Updated by the gradients of one device alone, the losses part by 4.5e-3 of themselves within these steps.
    assert jax["losses"] == pytest.approx(tf["losses"], rel=BFLOAT16_ROUNDOFF / 4)
    for side in (tf, jax):
        assert side["bound_by"] == ("input" if side["batch_s"] > side["step_s"] else "compute")
        assert min(side["batch_s"], side["step_s"], side["loop_s"]) > 0
