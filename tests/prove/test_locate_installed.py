"""Errors planted in a library that is installed: its line is named, and no cause that is not the planted one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sides_here import BothSides

from compare.hlo.causes import UNKNOWN
from compare.hlo.locate import Departure
from compare.progress import Silent
from compare.prove import locating
from compare.sides.client import LiveSide
from workloads.core import registry

LIBRARY = """
import jax
import jax.numpy as jnp

def squared(x, y):
    return jnp.mean(jnp.square(x - y), axis=-1)

def running(x):
    return jnp.cumsum(x, axis=1)[:, :-1]

def spectrum(x):
    return jnp.abs(jnp.fft.fft(x))

def halves(a):
    return jnp.floor_divide(a, 3) * 2

def average(x, i):
    total = jax.ops.segment_sum(x, i, 6)
    return total / jnp.maximum(jax.ops.segment_sum(jnp.ones_like(x), i, 6), 1)

def normal(x):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-3)

def cell(z, c):
    i, f, g, o = jnp.split(z, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c)

TABLE = jnp.linspace(0.0, 1.0, 24).reshape(8, 3)

def embedded(i):
    return TABLE[i]

def residual(x):
    with jax.named_scope("block/residual"):
        return x + jax.nn.relu(x) * 0.5
"""
ORIGINAL = """
import tensorflow as tf

def squared(x, y): return tf.reduce_mean(tf.square(x - y), -1)
def running(x): return tf.cumsum(x, axis=1)[:, :-1]
def spectrum(x): return tf.abs(tf.signal.fft(tf.cast(x, tf.complex64)))
def halves(a): return a // 3 * 2
def average(x, i):
    counted = tf.math.unsorted_segment_sum(tf.ones_like(x), i, 6)
    return tf.math.unsorted_segment_sum(x, i, 6) / tf.maximum(counted, 1.0)
def normal(x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
    return (x - mean) / tf.sqrt(variance + 1e-3)
def cell(z, c):
    i, f, g, o = tf.split(z, 4, axis=-1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c)
def embedded(i): return tf.gather(tf.reshape(tf.linspace(0.0, 1.0, 24), (8, 3)), i)
def residual(x): return x + tf.nn.relu(x) * 0.5
"""
PORT = """
from workloads import ArraySpec, Workload
port = Workload(name="{name}", tf="original.py:{function}", jax="model.py:f", builds=False, inputs={{{inputs}}})
"""
X, XY = '"x": ArraySpec((4, 6))', '"x": ArraySpec((4, 6)), "y": ArraySpec((4, 6))'
WHOLE = '"a": ArraySpec((24,), "int32", low=-50, high=50)'
ROWS = '"i": ArraySpec((5,), "int32", low=0, high=3)'
PARTS = '"z": ArraySpec((3, 16)), "c": ArraySpec((3, 4))'
MEANS = '"x": ArraySpec((8,)), "i": ArraySpec((8,), "int32", low=0, high=3)'


@dataclass(frozen=True)
class Planted:
    """One error: the function that it is in, what it takes, the text that is replaced, by what, and its cause."""

    function: str
    inputs: str
    old: str
    new: str
    cause: str


PLANTED = (
    Planted("squared", XY, "jnp.square(x - y)", "jnp.abs(x - y)", "another function"),
    Planted("squared", XY, "jnp.mean(jnp.square(x - y)", "jnp.sum(jnp.square(x - y)", "mean or sum"),
    Planted("squared", XY, "jnp.square(x - y)", "(x - y) ** 3", "power"),
    Planted("running", X, "jnp.cumsum(x, axis=1)", "(jnp.cumsum(x, axis=1) - x)", "cumulative sum"),
    Planted("running", X, "jnp.cumsum(x, axis=1)", "jax.lax.cumsum(x, axis=1, reverse=True)", "cumulative sum"),
    Planted("spectrum", X, "jnp.fft.fft(x)", 'jnp.fft.fft(x, norm="forward")', "norm of the Fourier transform"),
    Planted("halves", WHOLE, "jnp.floor_divide(a, 3)", "jax.lax.div(a, 3)", "integer division"),
    Planted("average", MEANS, "jnp.maximum(jax.ops.segment_sum(jnp.ones_like(x), i, 6), 1)",
            "jax.ops.segment_sum(jnp.ones_like(x), i, 6)", UNKNOWN.name),
    Planted("normal", X, "jnp.sqrt(variance + 1e-3)", "(jnp.sqrt(variance) + 1e-3)", "place of epsilon"),
    Planted("normal", X, "1e-3", "1e-6", "epsilon"),
    Planted("cell", PARTS, "i, f, g, o", "i, g, f, o", "gates of a recurrent cell"),
    Planted("embedded", ROWS, "1.0, 24", "1.5, 24", "weights in the code"),
    Planted("residual", X, "jax.nn.relu(x)", "jax.nn.silu(x)", "another activation"),
)  # fmt: skip


@pytest.fixture(scope="module")
def tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSide]:
    side = LiveSide("tf", tmp_path_factory.mktemp("tf"))
    yield side
    side.close()


class Installed:
    """A port whose model lies in a library of its own name under site-packages."""

    def __init__(self, planted: Planted, folder: Path) -> None:
        self.library = f"library_{PLANTED.index(planted)}"
        self.file = folder / "site-packages" / self.library / "__init__.py"
        self.file.parent.mkdir(parents=True)
        at = LIBRARY.index(planted.old)
        if planted.cause == "weights in the code":
            # Named where it is read.
            self.line = LIBRARY[: LIBRARY.index("return TABLE")].count("\n") + 1
        else:
            self.line = LIBRARY[:at].count("\n") + 1
        self.file.write_text(LIBRARY[:at] + planted.new + LIBRARY[at + len(planted.old) :])
        (folder / "original.py").write_text(ORIGINAL)
        path = f"import sys\nsys.path.insert(0, {str(self.file.parents[1])!r})\n"
        (folder / "model.py").write_text(f"{path}from {self.library} import {planted.function} as f\n")
        text = PORT.format(name=self.library, function=planted.function, inputs=planted.inputs)
        self.port = folder / "port.py"
        self.port.write_text(text)

    def departures(self, tensorflow: LiveSide, folder: Path) -> tuple[Departure, ...]:
        """What is found of its forward pass."""
        choice = locating.Choice(["forward"])
        workload = registry.get(str(self.port))
        return locating.locate_workload(BothSides(tensorflow), workload, choice, folder, Silent())["forward"].departures


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: f"{each.function}: {each.new}")
def test_the_librarys_line_is_named_and_only_a_cause_that_is_so(
    tensorflow: LiveSide, tmp_path: Path, planted: Planted
) -> None:
    installed = Installed(planted, tmp_path)
    first, *_ = installed.departures(tensorflow, tmp_path)
    assert first.right is not None
    assert first.right.source == f"{installed.file}:{installed.line}"
    assert first.cause == planted.cause
    assert first.right.scope == ("block/residual" if planted.function == "residual" else "")
