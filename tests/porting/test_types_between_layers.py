"""What Keras casts between layers is cast in the port, and in float64 both sides compute in float64 throughout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import distance, drawn, module_of, written_of
from flax import nnx

from compare.porting.drawn_arrays import input_specs
from compare.prove.running import without_states
from jaxport import ports
from tf_reference import _keras_archive, _keras_compiled, _keras_port, _private
from workloads.protocol.framework import Parameter, Program, Result

L = keras.layers
BOUND = 1e-5

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def narrow_then_wide() -> Any:
    x = keras.Input((6,))
    half = keras.DTypePolicy("mixed_bfloat16")
    y = L.Dense(4, dtype=half)(x)
    return keras.Model(x, L.Activation("softmax", dtype="float32")(L.Add(dtype=half)([y, y])))


class Tokens(L.Layer):
    """Two tables, one of which is given what the model is."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = L.Embedding(30, 4), L.Embedding(5, 4)

    def call(self, x: Any) -> Any:
        return self.words(x) + self.places(keras.ops.arange(5))


def of_tokens() -> Any:
    x = keras.Input((5,))
    return keras.Model(x, L.Dense(2)(Tokens()(x)))


def test_a_layer_that_is_told_float32_gets_float32() -> None:
    _, module = module_of(narrow_then_wide())
    given = jnp.asarray(drawn((3, 6)))
    assert module(given).dtype == jnp.float32
    assert module.logits(given).dtype == jnp.float32


@pytest.mark.usefixtures("remembered")
def test_floats_that_are_tokens_are_looked_up_and_drawn_as_integers() -> None:
    model = of_tokens()
    written, module = module_of(model)
    given = np.random.default_rng(1).integers(0, 30, (3, 5)).astype("float32")
    assert distance(module(jnp.asarray(given)), model(given)) < BOUND
    specs = input_specs(_keras_compiled.of_model(model), written, with_training=False)
    assert list(specs.values()) == ["ArraySpec((batch, 5,), 'int32', low=0, high=30)"]


def test_integers_are_looked_up_as_they_are() -> None:
    x = keras.Input((5,), dtype="int32")
    assert "astype" not in written_of(keras.Model(x, L.Embedding(9, 4)(x))).text


def test_policies_are_wide_inside_and_as_they_were_behind() -> None:
    with _private.policies_of("float64"):
        model = narrow_then_wide()
        assert L.Dense(2, dtype="int32").compute_dtype == "int32"
    assert {str(each.dtype) for each in model.weights} == {"float64"}
    assert {each.compute_dtype for each in model.layers if not isinstance(each, L.InputLayer)} == {"float64"}
    assert narrow_then_wide().layers[1].compute_dtype == "bfloat16"


def test_modules_of_a_narrow_type_are_wide_in_float64() -> None:
    def computes_in(dtype: str) -> Any:
        network = ports._Network(lambda rngs: nnx.Linear(2, 3, dtype=jnp.bfloat16, rngs=rngs), jnp.dtype(dtype))
        return network.module({"kernel": jnp.zeros((2, 3), dtype), "bias": jnp.zeros(3, dtype)}).dtype

    with jax.enable_x64(True):
        assert computes_in("float64") == jnp.float64
    assert computes_in("float32") == jnp.bfloat16


def test_what_gradients_move_is_none_of_them() -> None:
    weights = tuple(Parameter("weight", name, (2,), "float32") for name in ("kernel", "moving"))
    results = tuple(Result(name, (2,), "float32") for name in ("kernel", "moving", "weights/moving"))
    program = Program(b"", weights, results)
    arrays = {each.name: np.zeros(2) for each in results}
    assert set(without_states(program, arrays)) == {"kernel", "moving"}
    step = {"loss": np.zeros(()), "weights/moving": np.zeros(2)}
    assert set(without_states(program, step)) == {"loss", "weights/moving"}


def test_floats_that_are_more_than_tokens_are_drawn_as_floats() -> None:
    x = keras.Input((3,))
    model = keras.Model(x, L.Concatenate()([L.Flatten()(L.Embedding(9, 2)(x)), L.Dense(2)(x)]))
    specs = input_specs(_keras_compiled.of_model(model), written_of(model), with_training=False)
    assert list(specs.values()) == ["ArraySpec((batch, 3,), low=0, high=9)"]


SOURCE = """
import keras
def build():
    x = keras.Input((4,))
    policy = keras.DTypePolicy("mixed_bfloat16")
    model = keras.Model(x, keras.layers.Dense(3, activation="softmax", dtype=policy)(x))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
"""


def test_in_float64_no_logits_are_found_where_the_original_finds_none(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SOURCE)
    source = f"{tmp_path / 'model.py'}:build"
    receipt = tmp_path / "receipt.json"
    receipt.write_text('{"left": []}')
    model = _keras_port.keras_port(source, receipt, "float64", inputs=1, trained=True)
    (kernel, bias) = [each for key, each in model.weights.items()]
    kernel.assign(np.zeros((4, 3)))
    bias.assign([40.0, 0.0, 0.0])
    assert model.loss is not None
    loss = model.loss(tf.zeros((2, 4), tf.float64), tf.constant([2, 2]))
    # -log(1e-7), to which Keras clips: of logits it would be 40.
    assert float(loss) == pytest.approx(-np.log(1e-7), rel=1e-6)


def test_a_file_of_a_narrow_model_stays_narrow_in_float32(tmp_path: Path) -> None:
    narrow_then_wide().save(tmp_path / "model.keras")
    types = {
        dtype: [each.compute_dtype for each in _keras_archive.build(tmp_path / "model.keras", dtype).layers][1:]
        for dtype in ("float32", "float64")
    }
    assert types == {"float32": ["bfloat16", "bfloat16", "float32"], "float64": ["float64"] * 3}
