"""Ports whose results have no gradient: judged on the rest, and saying so."""

from pathlib import Path

import pytest
from runs import record_of

from workloads import _registry

PORT = """
from workloads import ArraySpec, Workload
port = Workload(name="largest", inputs={"x": ArraySpec((4, 5))}, tf="t.py:f", jax="j.py:f", builds=False)
"""


@pytest.mark.process
def test_a_port_that_returns_indices_passes_without_gradients(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("import tensorflow as tf\ndef f(x): return tf.argmax(x, -1, tf.int32)")
    (tmp_path / "j.py").write_text("import jax.numpy as jnp\ndef f(x): return jnp.argmax(x, -1)")
    (tmp_path / "port.py").write_text(PORT)
    judged = record_of(str(tmp_path / "port.py"), plans=())["workloads"]["largest"]
    assert (judged["parity"]["verdict"], judged["failures"]) == ("pass", [])
    gates = judged["parity"]["gates"]
    assert gates["gradients"]["verdict"] == "not_applicable"
    assert "no output is a float" in gates["gradients"]["reason"]
    assert gates["rounding"]["verdict"] == "not_applicable"


def test_the_tour_is_of_built_in_workloads() -> None:
    assert set(_registry.TOUR) <= set(_registry.built_in()) <= set(_registry.names())


def test_a_step_without_a_state_to_start_from_is_refused() -> None:
    from jaxport import Model
    from workloads._target import TargetError

    with pytest.raises(TargetError, match="expected a Model with both step and init"):
        Model(lambda p: p, step=lambda p, s: (p, s, 0))
