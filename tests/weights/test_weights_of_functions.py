"""Models that a function closes over: found wherever they are held, and named by the names that the function has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

from jaxport import random
from tf_reference import _keras_weights, _keras_written
from workloads.protocol.framework import Unsupported

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

CODE = """
import functools
import keras
import tensorflow as tf

L = keras.layers

def base():
    keras.utils.set_random_seed(1)
    x = keras.Input((6,), name="x")
    y = L.Dense(5, name="first")(x)
    return keras.Model(x, L.BatchNormalization(name="norm")(y), name="library")

SHARED = base()
HEAD = L.Dense(2, name="head")
HEAD.build((None, 5))

def of_a_closure():
    model = base()
    return lambda x: model(x) * 2

def of_a_closure_in_a_closure():
    model = base()
    inner = lambda x: model(x)
    return lambda x: inner(x)

def of_tf_function():
    model, scale = base(), 2.0
    @tf.function
    def forward(x):
        return model(x) * scale
    return forward

@tf.function
def of_globals(x):
    return HEAD(SHARED(x))

def of_a_nested_call(x):
    def inner(x):
        return SHARED(x)
    return inner(x)

def of_a_partial():
    return functools.partial(lambda encoder, x: encoder(x), base())

def of_containers():
    parts = {"body": base(), "heads": [HEAD]}
    return lambda x: parts["heads"][0](parts["body"](x))

class Pipeline:
    def __init__(self):
        self.body = base()
    def __call__(self, x):
        return HEAD(self.body(x))

def of_an_object():
    return Pipeline()

def of_a_method():
    return Pipeline().__call__

def with_a_variable():
    free = tf.Variable([1.0])
    return lambda x: x * free

def of_nothing(x):
    return tf.nn.relu(x)

def library():
    with_top = keras.applications.MobileNetV3Small((32, 32, 3), weights=None, include_top=False, minimalistic=True)
    return lambda image: with_top(image)
"""

BASE = ["first/kernel", "first/bias", "norm/gamma", "norm/beta", "norm/moving_mean", "norm/moving_variance"]
OF_HEAD = ["HEAD/kernel", "HEAD/bias"]


def below(name: str) -> list[str]:
    return [f"{name}/{each}" for each in BASE]


@pytest.fixture
def at(tmp_path: Path) -> Any:
    """Where a function of the file is."""
    (tmp_path / "functions.py").write_text(CODE)
    return lambda name: _keras_weights.Given(f"{tmp_path}/functions.py:{name}", closures=True)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("of_a_closure", below("model")),
        ("of_a_closure_in_a_closure", below("model")),
        ("of_tf_function", below("model")),
        ("of_globals", [*OF_HEAD, *below("SHARED")]),
        ("of_a_nested_call", below("SHARED")),
        ("of_a_partial", below("encoder")),
        ("of_containers", [*below("parts_body"), "parts_heads_0/kernel", "parts_heads_0/bias"]),
        ("of_an_object", [*below("body"), *OF_HEAD]),
        ("of_a_method", [*below("body"), *OF_HEAD]),
    ],
)
def test_every_weight_is_found_by_its_layer(name: str, keys: list[str], at: Any, tmp_path: Path) -> None:
    source, arrays = _keras_weights.read(at(name), tmp_path)
    assert sorted(arrays) == sorted(keys)
    dense = next(each for each in source.layers if each.step == "first")
    assert (dense.class_name, dense.module, dense.config["units"]) == ("Dense", "keras.layers", 5)


def test_a_model_of_a_library_is_found_whole(at: Any, tmp_path: Path) -> None:
    source, arrays = _keras_weights.read(at("library"), tmp_path)
    layers = {each.path for each in source.layers}
    assert {"with_top/conv", "with_top/expanded_conv_project"} <= layers and len(arrays) > 100


def test_its_weights_come_back_in_a_file_of_that_model(at: Any, tmp_path: Path) -> None:
    given = at("of_a_closure")
    _, arrays = _keras_weights.read(given, tmp_path)
    other = {key: each + 1 for key, each in arrays.items()}
    data, read = _keras_written.write(given, other, tmp_path)
    assert read.keys() == other.keys() and all(np.array_equal(read[key], other[key]) for key in other)
    (tmp_path / "back.weights.h5").write_bytes(data)
    scope: dict[str, Any] = {}
    exec(CODE, scope)
    model = scope["base"]()
    model.load_weights(tmp_path / "back.weights.h5")
    assert np.array_equal(model.get_layer("first").kernel.numpy(), other["model/first/kernel"])


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("with_a_variable", "found free in none: hold it in a layer"),
        ("of_nothing", "found a function that closes over none: make the model outside of the function"),
    ],
)
def test_what_is_in_no_layer_is_said(name: str, line: str, at: Any, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=line):
        _keras_weights.read(at(name), tmp_path)


def test_a_seed_in_the_receipt_draws_what_keras_draws_next(tmp_path: Path) -> None:
    (tmp_path / "dropping.py").write_text(
        "import keras\n"
        "def build():\n"
        "    return keras.Sequential([keras.Input((50,)), keras.layers.Dropout(0.4, seed=7)])\n"
    )
    given = _keras_weights.Given(f"{tmp_path}/dropping.py:build")
    model, x = _keras_weights.model(given, tmp_path), np.ones((4, 50), np.float32)
    called = tf.function(lambda x: model(x, training=True), jit_compile=True)
    called(x)
    source, _ = _keras_weights.of_model(model)
    (excluded,) = source.excluded
    seed = json.loads(excluded.reason.rpartition("seed=")[2])
    assert seed == [7, 1]
    wanted = called(x).numpy()
    assert 0 < (wanted == 0).mean() < 1
    assert np.array_equal(random.dropout(jnp.asarray(x), 0.4, seed), wanted)
    assert not np.array_equal(random.dropout(jnp.asarray(x), 0.4, [7, 2]), wanted)
