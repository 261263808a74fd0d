"""Training ports that are right and cannot be exact, and one that is wrong: what float64 can and cannot excuse."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from runs import record_of

from jaxport import _adam_family, _optimizer_arithmetic
from workloads.core.modes import TF_JIT

pytestmark = pytest.mark.process

TF, JAX, WORKLOAD = (
    (ROOT / folder / "mnist_mlp.py").read_text() for folder in ("tf_reference", "jaxport", "workloads")
)
ARITHMETIC = inspect.getsource(_optimizer_arithmetic)
PLAIN_ARITHMETIC = ARITHMETIC.replace("float(np.float32(value))", "value")
PLAIN_ADAM = inspect.getsource(_adam_family).replace("jaxport._optimizer_arithmetic", "plain_arithmetic")

CHAOTIC_TF = TF.replace(
    "        return value\n",
    """        for variable in (hidden.bias, logits.bias):
            variable.assign(tf.sin(4 * variable))
        return value
""",
)
CHAOTIC_JAX = JAX.replace("optimizers.adam(1e-3)", "optax.chain(optimizers.adam(1e-3), optax.stateless(turn))").replace(
    "def build(",
    """def turn(updates, parameters):
    def turned(update, value):
        return jnp.sin(4 * (value + update)) - value if value.ndim == 1 else update

    return jax.tree.map(turned, updates, parameters)


def build(""",
)
"""After each step every bias becomes sin(4 b): errors double from step to step, and after 50 the values are chance."""

PORTS = {
    # Both twins fix their types: only the promoted step can be run in float64.
    "fixed_types": (
        TF.replace("dtype=dtype", 'dtype="float32"'),
        JAX.replace('"hidden"], dtype', '"hidden"], "float32"'),
    ),
    # Keras rounds the betas of Adam's bias correction to float32 even in float64; a JAX user does not.
    "unrounded": (TF, JAX.replace("optimizers.adam", "plain_adam.adam").replace("import optax", "import plain_adam")),
    # Whatever the type of the model: its float64 step has the roundings of float32, which TensorFlow's has not.
    "loss_in_float32": (
        TF,
        JAX.replace("labels(logits, labels)", "labels(logits.astype(jnp.float32), labels).astype(logits.dtype)"),
    ),
    # optax.adam adds epsilon after the bias correction.
    "optax_adam": (TF, JAX.replace("optimizers.adam(1e-3)", "optax.adam(1e-3, eps=1e-7)")),
    "chaotic": (CHAOTIC_TF, CHAOTIC_JAX),
    "chaotic_wrong": (CHAOTIC_TF, CHAOTIC_JAX.replace("jnp.sin(4 * ", "jnp.sin(4.001 * ")),
    # The moments of a step are the port's own: a decay of theirs that is wrong shows, whosever the weights are.
    "chaotic_beta": (CHAOTIC_TF, CHAOTIC_JAX.replace("optimizers.adam(1e-3)", "optimizers.adam(1e-3, b2=0.998)")),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    assert PLAIN_ARITHMETIC != ARITHMETIC
    folder: Path = tmp_path_factory.mktemp("training")
    (folder / "plain_arithmetic.py").write_text(PLAIN_ARITHMETIC)
    (folder / "plain_adam.py").write_text(PLAIN_ADAM)
    for name, (tf, jax) in PORTS.items():
        assert jax != JAX
        # Ports of one file have one original, which is asked once.
        original = f"tf_{'plain' if tf == TF else 'chaotic' if tf == CHAOTIC_TF else name}.py"
        (folder / original).write_text(tf)
        (folder / f"jax_{name}.py").write_text(jax.replace("import plain_adam", "import optax\nimport plain_adam"))
        port = WORKLOAD.replace('name="mnist_mlp"', f'name="{name}"')
        port = port.replace("tf_reference.mnist_mlp:", f"{original}:").replace("jaxport.mnist_mlp:", f"jax_{name}.py:")
        (folder / f"{name}.py").write_text(port)
    ports = (str(folder / f"{name}.py") for name in PORTS)
    return record_of(*ports, one_original=True, size="smoke", plans=(), modes=(TF_JIT,), parity_only=True)["workloads"]


def training(judged: dict[str, Any]) -> dict[str, Any]:
    return judged["parity"]["gates"]["training"]


@pytest.mark.parametrize("name", ["unrounded", "fixed_types"])
def test_what_rounded_constants_explain_is_derived_said_and_passes(trained: dict[str, Any], name: str) -> None:
    assert trained[name]["parity"]["verdict"] == "pass"
    derived = [each for each in trained[name]["parity"]["deviations"] if each["gate"] == "training"]
    assert derived
    assert all(each["kind"] == "derived" and "rounded to float32" in each["reason"] for each in derived)


def test_a_step_that_cannot_be_built_in_float64_is_promoted(trained: dict[str, Any]) -> None:
    source = trained["fixed_types"]["parity"]["oracle"]["step"]
    assert "tf promoted" in source
    assert "jax promoted" in source


def test_a_step_that_is_not_of_float64_throughout_is_promoted(trained: dict[str, Any]) -> None:
    parity = trained["loss_in_float32"]["parity"]
    assert parity["verdict"] == "pass"
    assert (
        "jax promoted (its float64 step still computes in a narrower type, first in convert)"
        in parity["oracle"]["step"]
    )
    assert "tf native" in parity["oracle"]["step"]


def test_another_epsilon_fails_training_and_nothing_else(trained: dict[str, Any]) -> None:
    gates = trained["optax_adam"]["parity"]["gates"]
    assert [name for name, gate in gates.items() if gate["verdict"] == "fail"] == ["training"]
    assert any("weights@1/" in each["message"] for each in training(trained["optax_adam"])["comparisons"])


def test_chaos_does_not_fail_a_right_step(trained: dict[str, Any]) -> None:
    """Each step from TensorFlow's weights; how far runs come apart that are left to themselves is said."""
    parity = trained["chaotic"]["parity"]
    assert parity["verdict"] == "pass"
    assert "every step was judged from TensorFlow's weights" in training(trained["chaotic"])["reason"]


@pytest.mark.parametrize("name", ["chaotic_wrong", "chaotic_beta"])
def test_chaos_does_not_excuse_a_wrong_step(trained: dict[str, Any], name: str) -> None:
    assert training(trained[name])["verdict"] == "fail"
