"""Ports whose results have no gradient: judged on the rest, and saying so."""

from pathlib import Path

import pytest
from runs import record_of

from workloads.core import registry

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


NO_GRADIENT = """
import tensorflow as tf
{}
def f(x): return tf.image.adjust_contrast(x, 1.5)
"""
CONTRAST = """
from workloads import ArraySpec, Workload
port = Workload(name="contrast", inputs={"x": ArraySpec((2, 4, 4, 3))}, tf="t.py:f", jax="j.py:f", builds=False)
"""


@pytest.mark.process
@pytest.mark.parametrize("staged", ["", "@tf.function"])
@pytest.mark.parametrize(("factor", "verdict"), [(1.5, "pass"), (1.5001, "fail")])
def test_a_port_is_held_to_no_gradient_that_tensorflow_has_not(
    tmp_path: Path, factor: float, verdict: str, staged: str
) -> None:
    (tmp_path / "t.py").write_text(NO_GRADIENT.format(staged))
    mean = "x.mean((1, 2), keepdims=True)"
    (tmp_path / "j.py").write_text(f"def f(x): return (x - {mean}) * {factor} + {mean}")
    (tmp_path / "port.py").write_text(CONTRAST)
    parity = record_of(str(tmp_path / "port.py"), plans=())["workloads"]["contrast"]["parity"]
    assert parity["verdict"] == verdict
    told = "TensorFlow has no gradient of AdjustContrastv2"
    assert (parity["gates"]["gradients"]["verdict"], parity["gates"]["gradients"]["reason"]) == ("not_applicable", told)


@pytest.mark.process
def test_a_gradient_that_raises_is_no_gradient_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(
        "import tensorflow as tf\n@tf.custom_gradient\ndef f(x): return 2 * x, lambda g: {}['missing']"
    )
    (tmp_path / "j.py").write_text("def f(x): return 2 * x")
    (tmp_path / "port.py").write_text(CONTRAST)
    parity = record_of(str(tmp_path / "port.py"), plans=())["workloads"]["contrast"]["parity"]
    assert (parity["verdict"], parity["gates"]["gradients"]["verdict"]) == ("not_judged", "not_judged")


def test_the_tour_is_of_built_in_workloads() -> None:
    assert set(registry.TOUR) <= set(registry.built_in()) <= set(registry.names())


def test_a_step_without_a_state_to_start_from_is_refused() -> None:
    from jaxport import Model
    from workloads.core.target import TargetError

    with pytest.raises(TargetError, match="expected a Model with both step and init"):
        Model(lambda p: p, step=lambda p, s: (p, s, 0))
