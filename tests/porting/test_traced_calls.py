"""Calls of the user's own that use TensorFlow itself: what is written of them gives what they give, or says why not."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import pytest
import tensorflow as tf
from filled_modules import called, distance, drawn, filled, module_of, written_of

from jaxport.weights import variables_of

L = keras.layers
BOUND = 1e-5
"""Of the normwise difference in float32, over a few layers."""

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.usefixtures("remembered"),
]


class Causal(L.Layer):
    """Attention that looks back, of several heads, for any batch and any length."""

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.project = L.Dense(3 * heads * width, use_bias=False)
        self.join = keras.Sequential([L.Dense(heads * width, activation="gelu"), L.Dense(heads * width)])

    @staticmethod
    def earlier(length: Any, dtype: Any) -> Any:
        places = tf.range(length)
        return tf.cast(places[:, None] >= places, dtype)

    def call(self, x: Any) -> Any:
        batch, length = tf.shape(x)[0], tf.shape(x)[1]
        parts = tf.reshape(self.project(x), (batch, -1, 3, self.heads, self.width))
        q, k, v = (tf.transpose(each, [0, 2, 1, 3]) for each in tf.unstack(parts, axis=2))
        scores = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))
        seen = tf.reshape(self.earlier(length, scores.dtype), [1, 1, length, length])
        weights = tf.nn.softmax(scores * seen - 1e4 * (1 - seen), axis=-1)
        mixed = tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3])
        return self.join(tf.reshape(mixed, (batch, -1, self.heads * self.width)))


class Gated(L.Layer):
    """Channels that are weighted, and a layer that depends on training."""

    def __init__(self) -> None:
        super().__init__()
        self.squeeze = L.Dense(2, activation="relu")
        self.excite = L.Dense(4)
        self.norm = L.BatchNormalization(momentum=0.5)
        self.drop = L.Dropout(0.0)

    def call(self, x: Any, training: Any = None) -> Any:
        gates = tf.nn.sigmoid(self.excite(self.squeeze(tf.reduce_mean(x, axis=[1, 2]), training=training)))
        left, right = tf.split(x * gates[:, tf.newaxis, tf.newaxis, :], 2, axis=-1)
        scaled = tf.concat([right, tf.linalg.matrix_transpose(left)], axis=-1)
        return self.drop(tf.nn.relu(self.norm(scaled, training=training)), training=training)


class Biased(L.Layer):
    """Weights of its own: a table that is looked up by a constant, and a number that is not trained."""

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(name="table", shape=(5, 2), initializer="ones")
        self.scale = self.add_weight(name="fixed scale", shape=(), initializer="ones", trainable=False)

    def call(self, scores: Any) -> Any:
        places = tf.range(3)
        found = tf.gather(self.table, tf.reshape(places[:, None] - places + 2, [-1]))
        return self.scale * scores + tf.transpose(tf.reshape(found, [3, 3, 2]), [2, 0, 1])[None]


class Graphs(L.Layer):
    """Messages along the edges of a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.prepare = L.Dense(3, activation="tanh")

    def call(self, given: Any) -> Any:
        nodes = tf.einsum("bnc->nbc", given["nodes"])
        messages = self.prepare(tf.gather(nodes, tf.constant([0, 1, 2, 3, 1])))
        return tf.math.unsorted_segment_sum(messages, tf.constant([1, 2, 3, 0, 0]), 4), given["scale"]


class Towers(keras.Model):
    """A whole model: two inputs, lists of layers, a softmax at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.table = L.Embedding(9, 4)
        self.hidden = [L.Dense(5), L.Dense(3)]
        self.head = L.Dense(2, activation="softmax")

    def call(self, inputs: Any, training: bool = False) -> Any:
        x = tf.concat([self.table(inputs["item"]), inputs["user"]], axis=-1)
        for layer in self.hidden:
            x = tf.nn.relu(layer(x))
        return self.head(x)


class Around(keras.Model):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def call(self, x: Any, training: bool = False) -> Any:
        return self.inner(x)


@pytest.mark.parametrize(
    ("make", "shape", "others", "said"),
    [
        pytest.param(lambda: Causal(2, 3), (6, 5), [(2, 6, 5), (5, 6, 5)], "self.project(x)", id="attention"),
        pytest.param(Gated, (6, 2, 4), [(3, 6, 2, 4)], "self.drop(", id="gates"),
        pytest.param(Biased, (2, 3, 3), [(4, 2, 3, 3)], "self.table[...]", id="weights of its own"),
    ],
)
def test_a_layer_that_calls_tensorflow_is_written_for_any_batch(
    make: Callable[[], Any], shape: tuple[int, ...], others: list[tuple[int, ...]], said: str
) -> None:
    x = keras.Input(shape)
    model = called(keras.Model(x, make()(x)), drawn((2, *shape)))
    written, module = module_of(model)
    assert said in written.text
    for other in others:
        given = drawn(other)
        assert distance(module(jnp.asarray(given)), model(given)) < BOUND


def test_gradients_are_those_of_tensorflow() -> None:
    x = keras.Input((6, 5))
    model = called(keras.Model(x, Causal(2, 3)(x)), drawn((2, 6, 5)))
    _, module = module_of(model)
    given = tf.constant(drawn((3, 6, 5)))
    with tf.GradientTape() as tape:
        tape.watch(given)
        value = tf.reduce_sum(tf.square(model(given)))
    found = jax.grad(lambda given: jnp.sum(jnp.square(module(given))))(jnp.asarray(given.numpy()))
    assert distance(found, tape.gradient(value, given)) < BOUND


def test_a_wrong_formula_departs() -> None:
    x = keras.Input((6, 5))
    model = called(keras.Model(x, Causal(2, 3)(x)), drawn((2, 6, 5)))
    written = written_of(model)
    wrong = written.text.replace("10000.0", "100.0 * 0")
    assert wrong != written.text
    given = drawn((3, 6, 5))
    assert distance(filled(written, wrong, model)(jnp.asarray(given)), model(given)) > 100 * BOUND


def test_in_training_each_layer_does_what_it_does_in_training() -> None:
    x = keras.Input((6, 2, 4))
    model = called(keras.Model(x, Gated()(x)), drawn((2, 6, 2, 4)))
    _, module = module_of(model)
    module.train()
    given = drawn((3, 6, 2, 4))
    still = model(given, training=False)
    trained = model(given, training=True)
    assert distance(still, trained) > 100 * BOUND
    assert distance(module(jnp.asarray(given)), trained) < BOUND


def test_a_weight_that_is_not_trained_is_no_parameter() -> None:
    x = keras.Input((2, 3, 3))
    model = called(keras.Model(x, Biased(name="biased")(x)), drawn((2, 2, 3, 3)))
    written, module = module_of(model)
    kinds = {path: type(each).__name__ for path, each in variables_of(module).items()}
    assert kinds == {"biased.table": "Param", "biased.fixed_scale": "BatchStat"}
    assert written.names == {"biased/fixed scale": "biased.fixed_scale"}


def test_a_whole_model_and_its_logits_are_written() -> None:
    given = {"item": drawn((2, 3), "int32"), "user": drawn((2, 3, 2))}
    model = called(Towers(), given)
    written, module = module_of(model)
    assert written.logits == {"": "softmax"} and "def logits(self" in written.text
    assert distance(module(*map(jnp.asarray, given.values())), model(given)) < BOUND


def test_a_dict_goes_in_and_a_tuple_comes_out() -> None:
    given = {"nodes": drawn((2, 4, 3)), "scale": drawn((2, 1))}
    model = called(Around(Graphs()), given)
    _, module = module_of(model)
    found, wanted = module(*map(jnp.asarray, given.values())), model(given)
    assert distance(found[0], wanted[0]) < BOUND and distance(found[1], wanted[1]) == 0
