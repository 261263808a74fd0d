"""A layer's own numbers: in float64 they are those that it was told, in float32 those that Keras makes of them."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from flax import nnx

import jaxport.layers
from tf_reference import _keras_constants

L = keras.layers
MEAN, VARIANCE, SCALE = [0.485, 0.456, 0.406], [0.1, 0.2, 0.3], 1 / 255.0
CASES: dict[str, tuple[Callable[[], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "rescaling": (lambda: L.Rescaling(SCALE, 0.1), lambda x: x * SCALE + 0.1),
    "rescaling_of_channels": (lambda: L.Rescaling(MEAN, VARIANCE), lambda x: x * MEAN + VARIANCE),
    "normalization": (
        lambda: L.Normalization(mean=MEAN, variance=VARIANCE), lambda x: (x - MEAN) / np.sqrt(VARIANCE),
    ),
    "normalization_of_all": (
        lambda: L.Normalization(axis=None, mean=0.1, variance=0.3), lambda x: (x - 0.1) / np.sqrt(0.3),
    ),
}  # fmt: skip
X = np.random.default_rng(0).normal(size=(4, 5, 3))


@pytest.fixture
def float64() -> Iterator[None]:
    before = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx(before[0])
    keras.config.set_dtype_policy(before[1])


def error(layer: Any, wanted: np.ndarray) -> float:
    found = np.asarray(layer(X))
    assert found.dtype == np.float64
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", CASES)
def test_in_float64_a_layer_has_the_numbers_that_it_was_told(name: str) -> None:
    make, wanted = CASES[name]
    layer = make()
    assert error(layer, wanted(X)) > 1e-9, "Keras rounds them no longer: nothing is to be restated"
    _keras_constants.restate(layer)
    assert error(layer, wanted(X)) < 1e-15


@pytest.mark.parametrize("name", CASES)
def test_in_float32_nothing_changes(name: str) -> None:
    layer, x = CASES[name][0](), X.astype(np.float32)
    before = np.asarray(layer(x))
    _keras_constants.restate(layer)
    np.testing.assert_array_equal(np.asarray(layer(x)), before)


def test_the_port_has_no_gradients_to_what_keras_holds_as_constants() -> None:
    graph, state = nnx.split(jaxport.layers.Normalization((3,)))
    gradients = jax.grad(lambda given: jnp.sum(nnx.merge(graph, given)(jnp.asarray(X)) ** 2))(state)
    assert [float(jnp.max(jnp.abs(each))) for each in jax.tree.leaves(gradients)] == [0.0, 0.0]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    "regularizer", [keras.regularizers.L1(0.3), keras.regularizers.OrthogonalRegularizer(0.3)], ids=["L1", "orthogonal"]
)
def test_a_factor_of_a_regularizer_leaves_no_float32_in_a_program_of_float64(regularizer: Any) -> None:
    """It stays the number that Keras rounded, which the written loss has too."""
    layer = L.Dense(3, kernel_regularizer=regularizer)
    layer.build((None, 3))
    name = "l1" if isinstance(regularizer, keras.regularizers.L1) else "factor"
    before = float(getattr(regularizer, name))
    _keras_constants.restate(layer)
    assert getattr(regularizer, name) == before == float(np.float32(0.3))
    program = tf.function(lambda x: tf.cast(regularizer(x), tf.float64)).get_concrete_function(
        tf.TensorSpec((3, 3), tf.float64)
    )
    types = {output.dtype for operation in program.graph.get_operations() for output in operation.outputs}
    assert tf.float32 not in types and tf.float64 in types
