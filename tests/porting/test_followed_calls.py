"""Models and layers of the user's own, followed by their calls: what is written gives what they give."""

import ast
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import called, distance, module_of

from compare.porting.model_source import model_source
from tf_reference import _keras_compiled
from workloads.protocol.framework import Unsupported

L = keras.layers

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.usefixtures("remembered"),
]


class Block(L.Layer):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = L.LayerNormalization()
        self.inner = [L.Dense(2 * width, activation="gelu"), L.Dense(width)]

    def call(self, x: Any, training: bool = False) -> Any:
        y = self.norm(x)
        for layer in self.inner:
            y = layer(y)
        return x + y


class Net(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [Block(4) for _ in range(3)]
        self.shared = L.Dense(4, activation="tanh")
        self.tail = keras.Sequential([L.Dense(3), L.BatchNormalization()])

    def call(self, inputs: Any, training: bool = False) -> Any:
        x = self.shared(self.shared(inputs["a"])) - self.shared(inputs["class"])
        for block in self.blocks:
            x = block(x, training=training)
        return self.tail(keras.ops.mean(x, axis=1), training=training), keras.ops.max(x, axis=-1)


class Frozen(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.norm = L.BatchNormalization()

    def call(self, x: Any, training: bool = False) -> Any:
        return self.norm(x, training=False)


class Positions(L.Layer):
    """An embedding of places, which depend on no input, and a Dropout that is told nothing of training."""

    def __init__(self) -> None:
        super().__init__()
        self.places = L.Embedding(6, 4)
        self.dropout = L.Dropout(0.5)

    def call(self, x: Any) -> Any:
        numbers = keras.ops.expand_dims(keras.ops.arange(0, 6), 0)
        return self.dropout(x + self.places(numbers) * keras.ops.convert_to_tensor([1.0, 2.0, 0.5, 3.0]))


class Patches(L.Layer):
    """As images are cut up: the batch is one of the sizes."""

    def call(self, x: Any) -> Any:
        batch, rows, columns, channels = keras.ops.shape(x)
        patches = keras.ops.image.extract_patches(x, 2, strides=(2, 1), padding="same")
        return keras.ops.reshape(patches, (batch, (rows // 2) * columns, 4 * channels))


class TableOfPlaces(L.Layer):
    """More numbers than anybody reads."""

    def call(self, x: Any) -> Any:
        table = keras.ops.sin(keras.ops.reshape(keras.ops.arange(0, 120, dtype="float32"), (6, 20)))
        return keras.ops.concatenate([x] * 5, -1) + table


class OfWeights(L.Layer):
    """An array of a weight, which no layer gives."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = L.Dense(4)

    def call(self, x: Any) -> Any:
        return self.inner(x) * keras.ops.mean(self.inner.kernel, axis=0)


class Drawing(L.Layer):
    def call(self, x: Any) -> Any:
        return x + keras.random.gamma((4,), 1.0)


class Numeric(L.Layer):
    def call(self, x: Any) -> Any:
        return x + tf.ensure_shape(tf.numpy_function(np.sin, [x], tf.float32), x.shape)


class Around(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.numeric = Numeric()
        self.head = L.Dense(2)

    def call(self, x: Any) -> Any:
        return self.head(self.numeric(x))


class Deciding(keras.Model):
    def call(self, x: Any) -> Any:
        return x if float(x[0, 0]) > 0 else -x


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    numbers = np.random.default_rng(7)
    return [numbers.normal(size=shape).astype("float32") for shape in shapes]


def test_a_subclass_with_lists_shared_layers_a_dict_and_two_outputs_is_written() -> None:
    a, b = arrays((2, 5, 4), (2, 5, 4))
    model = called(Net(), {"a": a, "class": b})
    written, module = module_of(model)
    assert written.places == () and list(written.parameters.values()) == ["a", "class_"]
    wanted, found = model({"a": a, "class": b}), module(jnp.asarray(a), jnp.asarray(b))
    for one, other in zip(found, wanted, strict=True):
        assert np.linalg.norm(np.asarray(one) - other) <= 1e-5 * np.linalg.norm(other)


def test_layers_that_are_alike_are_one_class() -> None:
    a, b = arrays((2, 5, 4), (2, 5, 4))
    text = model_source(_keras_compiled.of_model(called(Net(), {"a": a, "class": b}))).text
    assert text.count("class Block(") == 1 and "self.blocks = nnx.List(Block(rngs=rngs) for _ in range(3))" in text


def around(layer: Any, *shape: int) -> Any:
    x = keras.Input(shape)
    return called(keras.Model(x, layer(x)), arrays((2, *shape))[0])


@pytest.mark.parametrize(
    ("make", "shape", "said"),
    [
        pytest.param(Positions, (6, 4), "self.places(jnp.arange(6).reshape((1, 6)))", id="an embedding of places"),
        pytest.param(Patches, (6, 5, 3), "jaxport.resizing.extract_patches(x, (2, 2), (2, 1), 'SAME')", id="patches"),
    ],
)
def test_what_depends_on_no_input_and_sizes_that_are_not_known_are_written(
    make: Callable[[], Any], shape: tuple[int, ...], said: str
) -> None:
    model = around(make(), *shape)
    written, module = module_of(model)
    assert written.places == () and said in ast.unparse(ast.parse(written.text))
    (x,) = arrays((3, *shape))
    wanted = model(x)
    assert np.linalg.norm(np.asarray(module(jnp.asarray(x))) - wanted) <= 1e-6 * np.linalg.norm(wanted)


def test_a_dropout_that_is_told_nothing_of_training_drops_in_training() -> None:
    _, module = module_of(around(Positions(), 6, 4))
    x = jnp.ones((2, 6, 4))
    module.train()
    assert 0.2 < float(jnp.mean(module(x) == 0)) < 0.8


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (OfWeights, "reads a variable that is no weight of its own"),
        (Drawing, "more than floats of a normal or uniform distribution"),
    ],
)
def test_what_depends_on_weights_or_is_drawn_is_no_constant(make: Callable[[], Any], reason: str) -> None:
    model = around(make(), 6, 4)
    before = [each.numpy() for each in model.weights]
    written = model_source(_keras_compiled.of_model(model))
    assert [reason in each.reason for each in written.places] == [True]
    assert all(np.array_equal(one, other.numpy()) for one, other in zip(before, model.weights, strict=True))


def test_a_table_that_no_text_says_is_kept_in_a_file() -> None:
    model = around(TableOfPlaces(), 6, 4)
    written, module = module_of(model)
    assert "CONSTANTS['constant']" in written.text and written.constants["constant"].shape == (6, 20)
    (x,) = arrays((2, 6, 4))
    assert distance(module(jnp.asarray(x)), model(x)) <= 1e-6


def test_a_layer_that_is_never_in_training_always_takes_the_running_averages() -> None:
    written = model_source(_keras_compiled.of_model(called(Frozen(), arrays((2, 3))[0])))
    assert "return self.norm(x, use_running_average=True)" in written.text and not written.places


def test_a_layer_whose_call_is_not_followed_is_a_place_with_its_line() -> None:
    written = model_source(_keras_compiled.of_model(called(Around(), arrays((2, 3))[0])))
    assert [each.layer for each in written.places] == ["numeric"]
    assert written.places[0].line.startswith("test_followed_calls.py:")


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: called(Deciding(), arrays((2, 3))[0]), r"Deciding is not followed at test_followed_calls\.py:\d+"),
        (lambda: Deciding(), "calls on one example"),
    ],
)
def test_a_model_that_is_not_followed_is_refused_in_one_line(make: Callable[[], Any], line: str) -> None:
    with pytest.raises(Unsupported, match=line):
        _keras_compiled.of_model(make())


def test_a_thousand_layers_are_written() -> None:
    # In ten chains: Keras itself recurses along one, and no deeper than Python lets it.
    x = keras.Input((2,))
    ends = [x] * 10
    for number in range(1000):
        ends[number % 10] = L.Dense(2, name=f"a-{number}")(ends[number % 10])
    written = model_source(_keras_compiled.of_model(keras.Model(x, ends)))
    paths = [written.names[f"a-{number}"] for number in range(1000)]
    assert len({*paths}) == 1000 and "for block in self." in written.text


@pytest.mark.parametrize("most", [6.0, 3.0])
def test_the_gradient_at_the_ends_of_a_relu_is_that_of_keras(most: float) -> None:
    x = keras.Input((3,))
    _, module = module_of(keras.Model(x, L.ReLU(most)(x)))
    found = jax.grad(lambda given: module(given).sum())(jnp.asarray([[0.0, most, 1.0]]))
    assert found.tolist() == [[0.0, 0.0 if most == 6 else 1.0, 1.0]]
