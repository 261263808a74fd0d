"""A schedule whose boundary lies beyond the ordinary run: a port that is off there fails, with both sides live."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import record_of

from workloads.core.modes import TF_JIT

pytestmark = pytest.mark.process

TF = """
import keras
import tensorflow as tf
from tf_reference import Model


def build(dimensions, dtype):
    k1, k2 = tf.Variable(tf.zeros((8, 16), dtype)), tf.Variable(tf.zeros((16, 1), dtype))
    optimizer = keras.optimizers.SGD(
        keras.optimizers.schedules.PiecewiseConstantDecay([60, 200], [0.0625, 0.03125, 0.015625])
    )
    optimizer.build([k1, k2])

    def forward(x, t):
        return tf.matmul(tf.tanh(tf.matmul(x, k1)), k2)

    def loss(x, t):
        return tf.reduce_mean(tf.square(forward(x, t) - t))

    def step(x, t):
        with tf.GradientTape() as tape:
            value = loss(x, t)
        optimizer.apply_gradients(zip(tape.gradient(value, [k1, k2]), [k1, k2]))
        return value

    state = {variable.path: variable for variable in optimizer.variables}
    return Model(forward=forward, loss=loss, step=step, weights={"k1": k1, "k2": k2}, state=state)
"""

JAX = """
import jax
import jax.numpy as jnp
import optax
from jaxport import Model


def made(boundaries):
    optimizer = optax.sgd(optax.piecewise_constant_schedule(0.0625, boundaries))

    def forward(p, x, t):
        return jnp.tanh(x @ p["k1"]) @ p["k2"]

    def loss(p, x, t):
        return jnp.mean((forward(p, x, t) - t) ** 2)

    def step(p, state, x, t):
        value, g = jax.value_and_grad(loss)(p, x, t)
        u, state = optimizer.update(g, state, p)
        return optax.apply_updates(p, u), state, value

    return Model(forward, lambda w: dict(w), lambda p: dict(p), loss=loss, init=optimizer.init, step=step)


def wrong(dimensions, dtype):  # values handed over as what optax multiplies by
    return made({60: 0.03125, 200: 0.015625})


def right(dimensions, dtype):
    return made({61: 0.5, 201: 0.5})
"""

PORT = """
import numpy as np
from workloads import ArraySpec, Training, Workload


def examples(dimensions):
    x = np.random.default_rng(0).standard_normal((256, 8)).astype(np.float32)
    return {{"x": x, "t": (0.1 * x[:, :1]).astype(np.float32)}}


port = Workload(
    name="{name}", summary="two layers, a schedule",
    inputs=lambda d: {{"x": ArraySpec((d["batch"], 8)), "t": ArraySpec((d["batch"], 1))}},
    weights=lambda d: {{"k1": ArraySpec((8, 16), scale=0.1), "k2": ArraySpec((16, 1), scale=0.1)}},
    sizes={{"smoke": {{"batch": 16}}}}, training=Training(synthetic=examples, dimensions_of=lambda data: {{}}),
    tf="a_tf.py:build", jax="a_jax.py:{name}",
)
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("far")
    (folder / "a_tf.py").write_text(TF)
    (folder / "a_jax.py").write_text(JAX)
    for name in ("wrong", "right"):
        (folder / f"{name}.py").write_text(PORT.format(name=name))
    ports = (str(folder / f"{name}.py") for name in ("wrong", "right"))
    return record_of(*ports, one_original=True, size="smoke", plans=(), modes=(TF_JIT,), parity_only=True)["workloads"]


def test_a_boundary_after_the_ordinary_run_fails_the_training_gate_alone(judged: dict[str, Any]) -> None:
    gates = judged["wrong"]["parity"]["gates"]
    assert [name for name, gate in gates.items() if gate["verdict"] == "fail"] == ["training"]
    failing = {each["case"] for each in gates["training"]["comparisons"] if each["verdict"] == "fail"}
    assert "trajectory from step 58" in failing and "trajectory" not in failing


def test_the_port_that_is_right_passes_at_every_boundary(judged: dict[str, Any]) -> None:
    parity = judged["right"]["parity"]
    assert parity["verdict"] == "pass"
    cases = {each["case"] for each in parity["gates"]["training"]["comparisons"]}
    assert {"trajectory", *(f"trajectory from step {step}" for step in (59, 199, 1000, 10_000))} == cases
