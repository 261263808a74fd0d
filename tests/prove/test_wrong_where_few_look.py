"""Ports that are wrong only where inputs must be placed, or beside a fill value: all fail; their honest twins pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from runs import record_of

from workloads.core.modes import TF_JIT

TF = """
import tensorflow as tf

def scores(q, k, m): return q @ tf.linalg.matrix_transpose(k) + tf.where(m, tf.range(4.0), tf.float32.min)
def absolute(x): return tf.abs(x)
def clipped(x): return tf.clip_by_value(x, -1.0, 1.0)
def larger(x, y): return tf.maximum(x, y)
def rectified(x): return tf.nn.relu(x)
def determinant(x): return tf.linalg.slogdet(x @ tf.transpose(x) + 4 * tf.eye(4, dtype=x.dtype))[1]
def large(x): return x > 50.0
"""
RIGHT = """
import jax
import jax.numpy as jnp

def scores(q, k, m): return q @ k.mT + jnp.where(m, jnp.arange(4.0), jnp.finfo("float32").min)
def absolute(x): return x * jax.lax.stop_gradient(jnp.sign(x))
def clipped(x): return jnp.where(x > 1.0, 1.0, jnp.where(x < -1.0, -1.0, x))
def larger(x, y): return jnp.where(x >= y, x, y)
def rectified(x): return jax.nn.relu(x)
def determinant(x): return jnp.linalg.slogdet(x @ x.T + 4 * jnp.eye(4))[1]
def large(x): return x > 50.0
"""
WRONG = """
import jax.numpy as jnp

def scores(q, k, m): return q @ k.mT + jnp.where(m, -jnp.arange(4.0), jnp.finfo("float32").min)
def absolute(x): return jnp.abs(x)
def clipped(x): return jnp.clip(x, -1.0, 1.0)
def larger(x, y): return jnp.maximum(x, y)
def rectified(x): return jnp.maximum(x, 0)
def determinant(x): return jnp.linalg.slogdet(x @ x.T + 4.001 * jnp.eye(4))[1]
def large(x): return x > 5.0
"""
HEADS = '"q": ArraySpec((2, 4, 8)), "k": ArraySpec((2, 4, 8)), "m": ArraySpec((2, 4, 4), "bool")'
INPUTS = {
    "scores": HEADS,
    "absolute": '"x": ArraySpec((1,))',
    "clipped": '"x": ArraySpec((1,))',
    "larger": '"x": ArraySpec((2,)), "y": ArraySpec((2,))',
    "rectified": '"x": ArraySpec((2,))',
    "determinant": '"x": ArraySpec((4, 4))',
    "large": '"x": ArraySpec((8,), low=0, high=100)',
}
PORT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="{side}_{name}", tf="original.py:{name}", jax="{side}.py:{name}", inputs={{{inputs}}}, builds=False
)
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, programs_here: None) -> Mapping[str, Any]:
    """The record of every pair, in one run and one mode a side: what is judged here are the gates."""
    folder = tmp_path_factory.mktemp("pairs")
    for name, text in {"original": TF, "right": RIGHT, "wrong": WRONG}.items():
        (folder / f"{name}.py").write_text(text)
    ports = {f"{side}_{name}": (side, name) for name in INPUTS for side in ("right", "wrong")}
    for port, (side, name) in ports.items():
        (folder / f"{port}.py").write_text(PORT.format(side=side, name=name, inputs=INPUTS[name]))
    paths = [str(folder / f"{port}.py") for port in ports]
    return record_of(*paths, plans=(), modes=(TF_JIT,), parity_only=True)["workloads"]


@pytest.mark.parametrize("name", INPUTS)
def test_the_honest_port_passes(judged: Mapping[str, Any], name: str) -> None:
    part = judged[f"right_{name}"]
    assert (part["parity"]["verdict"], part["failures"]) == ("pass", [])


@pytest.mark.parametrize("name", INPUTS)
def test_the_wrong_port_fails(judged: Mapping[str, Any], name: str) -> None:
    assert judged[f"wrong_{name}"]["parity"]["verdict"] == "fail"


def test_an_operation_without_a_kernel_is_judged_by_what_runs_op_by_op(judged: Mapping[str, Any]) -> None:
    oracle = judged["right_determinant"]["parity"]["oracle"]["forward"]
    assert "tf native (run op by op, its program unseen: XLA has no kernel for LogMatrixDeterminant)" in oracle
