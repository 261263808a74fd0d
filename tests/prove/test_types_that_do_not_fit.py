"""A program of TensorFlow's whose types do not fit: its float32 self is promoted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import record_of

PORT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="enlarged", inputs={"x": ArraySpec((2, 4, 4, 3))}, tf="t.py:f", jax="j.py:f", builds=False,
)
"""
ORIGINAL = """
import tensorflow as tf
def f(x): return tf.cast(tf.image.resize(tf.nn.relu(x), (8, 8)), x.dtype)
"""
RIGHT = "jax.image.resize(jax.nn.relu(x), (2, 8, 8, 3), 'bilinear')"
WRONG = RIGHT.replace("'bilinear'", "'bilinear') * (1 + 1e-10")


def judged(folder: Path, port: str) -> dict[str, Any]:
    (folder / "t.py").write_text(ORIGINAL)
    (folder / "j.py").write_text(f"import jax\ndef f(x): return {port}\n")
    (folder / "port.py").write_text(PORT)
    return record_of(str(folder / "port.py"), plans=())["workloads"]["enlarged"]


@pytest.mark.process
def test_a_gradient_that_xla_makes_of_another_type_is_judged_by_its_promoted_program(tmp_path: Path) -> None:
    part = judged(tmp_path, RIGHT)
    assert (part["parity"]["verdict"], part["failures"]) == ("pass", [])
    assert part["parity"]["oracle"]["gradients"].startswith("tf promoted (its float64 program is not valid StableHLO)")


@pytest.mark.process
def test_a_port_that_is_off_by_little_fails_there(tmp_path: Path) -> None:
    gates = judged(tmp_path, WRONG)["parity"]["gates"]
    assert gates["gradients"]["verdict"] == "fail"
