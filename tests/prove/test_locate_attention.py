"""Of an attention whose scale is left out, the gradients depart where the forward pass does, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sides_here import BothSides

from compare.progress import Silent
from compare.prove import locating
from compare.sides.client import LiveSide
from workloads.core import registry

ORIGINAL = """
import tensorflow as tf

def f(weights, x):
    heads = lambda name: tf.reshape(x @ weights[name] + weights[name + "_bias"], (2, 8, 4, 8))
    scores = tf.einsum("bqhd,bkhd->bhqk", heads("query"), heads("key")) / 8.0**0.5
    mixed = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), heads("value"))
    return x + tf.reshape(mixed, (2, 8, 32)) @ weights["out"]
"""
MODEL = """
import jax
import jax.numpy as jnp

def f(weights, x):
    heads = lambda name: jnp.reshape(x @ weights[name] + weights[name + "_bias"], (2, 8, 4, 8))
    scores = jnp.einsum("bqhd,bkhd->bhqk", heads("query"), heads("key")) SCALE
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), heads("value"))
    return x + jnp.reshape(mixed, (2, 8, 32)) @ weights["out"]
"""
PORT = """
from workloads import ArraySpec, Workload
names = ("query", "key", "value")
kernels = {name: ArraySpec((32, 32), scale=0.2) for name in (*names, "out")}
biases = {f"{name}_bias": ArraySpec((32,), scale=0.1) for name in names}
port = Workload(name="NAME", inputs={"x": ArraySpec((2, 8, 32))}, weights=kernels | biases, builds=False,
                tf="original.py:f", jax="model.py:f")
"""
LINE = 7


@pytest.fixture(scope="module")
def tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSide]:
    side = LiveSide("tf", tmp_path_factory.mktemp("tf"))
    yield side
    side.close()


def located(tensorflow: LiveSide, folder: Path, scale: str) -> dict[str, locating.Located]:
    texts = {"original.py": ORIGINAL, "model.py": MODEL.replace("SCALE", scale), "port.py": PORT}
    for name, text in texts.items():
        (folder / name).write_text(text.replace("NAME", folder.name))
    workload = registry.get(str(folder / "port.py"))
    return locating.locate_workload(BothSides(tensorflow), workload, locating.Choice(), folder, Silent())


# The gradient of the key's bias is zero but for rounding: a softmax does not change with a shift.
def test_a_gradient_that_vanishes_departs_nowhere(tensorflow: LiveSide, tmp_path: Path) -> None:
    found = located(tensorflow, tmp_path, "/ 8.0**0.5")
    assert {name: each.verdict for name, each in found.items()} == dict.fromkeys(("forward", "gradients"), "agrees")


def test_both_passes_depart_on_one_line(tensorflow: LiveSide, tmp_path: Path) -> None:
    found = located(tensorflow, tmp_path, "")
    (departure,) = found["forward"].departures
    assert departure.cause == "scale by the root of the depth"
    assert departure.right is not None
    assert departure.right.source == f"{tmp_path / 'model.py'}:{LINE}"
    assert found["gradients"].departures == ()
    assert all(each.confirmed for each in found["gradients"].again)
