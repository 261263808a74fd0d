"""The weights of a class of the user's start as Keras' own do, whatever initializer of Keras sets them."""

from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from filled_modules import written_of
from flax import nnx

import jaxport
from compare.porting.writing_ports import predict_port
from tf_reference import _keras_compiled

pytestmark = pytest.mark.usefixtures("remembered")

FIXED = {"Zeros", "Ones", "Constant", "Identity"}
UNWRITTEN = {"Initializer", "STFT"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "Constant": {"value": 0.25},
    "Orthogonal": {"gain": 1.5},
    "RandomNormal": {"mean": 2.0, "stddev": 0.5},
    "RandomUniform": {"minval": -1.0, "maxval": 3.0},
    "TruncatedNormal": {"mean": -1.0, "stddev": 0.25},
    "VarianceScaling": {"scale": 3.0, "mode": "fan_out", "distribution": "untruncated_normal"},
    "STFT": {},
}
KINDS = sorted({kind.__name__ for kind in vars(keras.initializers).values() if isinstance(kind, type)})
"""Of all that Keras has, each once: some have two names."""


class Weighted(keras.layers.Layer):
    """Adds one weight to what it is given."""

    def __init__(
        self, initializer: Any, shape: tuple[int, ...], dtype: str = "float32", trainable: bool = True
    ) -> None:
        super().__init__()
        self.told, self.of, self.kind, self.trains = initializer, shape, dtype, trainable

    def build(self, input_shape: Any) -> None:
        self.w = self.add_weight(shape=self.of, initializer=self.told, name="w", dtype=self.kind, trainable=self.trains)

    def call(self, x: Any) -> Any:
        return x + keras.ops.cast(keras.ops.sum(self.w), x.dtype)


def fresh(layer: Weighted) -> tuple[np.ndarray, tuple[str, ...]]:
    """The weight of a port that nothing was loaded into, and the remarks of its writer."""
    x = keras.Input((4,))
    written = written_of(keras.Model(x, layer(x)))
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "nnx": nnx, "jaxport": jaxport, "Any": Any}
    exec(f"from __future__ import annotations\n{written.text}", scope)
    module = scope[written.class_name](rngs=nnx.Rngs(0))
    (inner,) = (each for each in vars(module).values() if isinstance(each, nnx.Module))
    (value,) = (each for each in vars(inner).values() if isinstance(each, nnx.Variable))
    return np.asarray(value[...]), written.remarks


@pytest.mark.parametrize("shape", [(64, 48), (3, 3, 16, 32), (500,)], ids=str)
@pytest.mark.parametrize("name", [kind for kind in KINDS if kind not in UNWRITTEN])
def test_a_fresh_port_starts_as_keras_does(name: str, shape: tuple[int, ...]) -> None:
    if name in ("Identity", "Orthogonal") and len(shape) != 2:
        pytest.skip("of matrices alone")
    layer = Weighted(getattr(keras.initializers, name)(**ARGUMENTS.get(name, {})), shape)
    found, remarks = fresh(layer)
    right = layer.w.numpy()
    assert remarks == () and found.shape == right.shape
    if name in FIXED:
        np.testing.assert_array_equal(found, right)
        return
    spread = right.std()
    assert abs(found.mean() - right.mean()) < 0.25 * spread
    assert abs(found.std() / spread - 1) < 0.12
    assert abs(np.abs(found - found.mean()).max() / np.abs(right - right.mean()).max() - 1) < 0.6


@pytest.mark.parametrize(
    ("told", "dtype", "values"),
    [("ones", "float32", {1.0}), (None, "int32", {0}), ("zeros", "float32", {0.0}), ("ones", "int32", {1})],
)
def test_names_and_defaults_are_initializers_too(told: Any, dtype: str, values: set[float]) -> None:
    found, _ = fresh(Weighted(told, (2, 3), dtype, trainable=dtype == "float32"))
    assert set(found.ravel().tolist()) == values and found.dtype == dtype


def test_a_weight_without_an_initializer_is_drawn_as_keras_draws_it() -> None:
    found, _ = fresh(Weighted(None, (64, 48), trainable=False))
    assert abs(found.std() / np.sqrt(2 / (64 + 48)) - 1) < 0.1


class Positional(Weighted):
    """As Keras 2 called it: the shape and the initializer by their places."""

    def build(self, input_shape: Any) -> None:
        self.w = self.add_weight(self.of, self.told, name="w")


def test_a_weight_that_is_added_by_place_is_added_as_before() -> None:
    assert set(fresh(Positional("ones", (2, 3)))[0].ravel().tolist()) == {1.0}


def test_an_initializer_of_the_users_is_told() -> None:
    found, remarks = fresh(Weighted(lambda shape, dtype=None: keras.ops.ones(shape) * 3, (2, 3)))
    assert not found.any() and "starts as zeros" in remarks[0]


class _Ramp(keras.initializers.Initializer):
    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        return keras.ops.reshape(keras.ops.arange(shape[0], dtype="float32"), shape)


class _Ramped(keras.layers.Layer):
    def build(self, input_shape: Any) -> None:
        self.table = self.add_weight(shape=(input_shape[-1],), initializer=_Ramp(), name="table")

    def call(self, x: Any) -> Any:
        return x * self.table


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "not compiled"])
def test_an_initializer_that_is_not_written_is_a_place_where_the_model_trains(compiled: bool) -> None:
    x = keras.Input((4,))
    model = keras.Model(x, _Ramped(name="ramped")(x))
    if compiled:
        model.compile("sgd", "mse")
    places = predict_port(_keras_compiled.of_model(model)).places
    assert [place.split(":")[0] for place in places] == (["ramped/table starts as zeros"] if compiled else [])
