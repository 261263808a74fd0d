"""Calls of the user's own that use TensorFlow itself and are not written: each is a place that says why."""

import re
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import keras
import pytest
import tensorflow as tf
from filled_modules import called, distance, drawn, module_of, written_of

from compare.errors import RequestError

pytestmark = pytest.mark.usefixtures("remembered")
L = keras.layers


class Noisy(L.Layer):
    def call(self, x: Any) -> Any:
        return x + tf.random.gamma(tf.shape(x), 1.0)


class NoisyLoop(L.Layer):
    def call(self, x: Any) -> Any:
        return tf.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, y + tf.random.normal(tf.shape(y))), (0, x))[1]


class Branching(L.Layer):
    def call(self, x: Any, training: bool = False) -> Any:
        return tf.nn.relu(x) * 0.5 if training else tf.nn.relu(x)


class Counting(L.Layer):
    def build(self, shape: Any) -> None:
        self.count = self.add_weight(name="count", shape=(), initializer="zeros", trainable=False)

    def call(self, x: Any) -> Any:
        self.count.assign_add(1.0)
        return tf.nn.relu(x)


class Named(L.Layer):
    """A dict whose keys are in another order than Keras has them."""

    def call(self, x: Any) -> Any:
        return {"found": tf.nn.relu(x), "also": x}


class Plain(L.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.factor = tf.Variable(2.0)

    def call(self, x: Any) -> Any:
        return tf.nn.relu(x * self.factor)


class Looping(L.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = L.Dense(4)

    def call(self, x: Any) -> Any:
        return tf.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, self.inner(y)), (0, x))[1]


class Masking(L.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = L.Embedding(9, 4, mask_zero=True)

    def call(self, x: Any) -> Any:
        return tf.nn.relu(self.inner(tf.cast(x, "int32")))


class Python(L.Layer):
    def call(self, x: Any) -> Any:
        found = tf.py_function(lambda value: value * 2, [x], tf.float32)
        found.set_shape(x.shape)
        return found


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (Noisy, r"RandomGamma, test_calls_left\.py:\d+"),
        (NoisyLoop, "draws inside of a loop"),
        (Branching, "something else in training"),
        (Named, "returns a dict"),
        (Counting, "assigns to variables"),
        (Plain, "reads a variable"),
        (Looping, "a layer inside of a loop"),
        (Masking, "makes a mask"),
        (Python, "calls Python"),
    ],
)
def test_what_cannot_be_written_is_a_place_with_its_reason(layer: Callable[[], Any], reason: str) -> None:
    x = keras.Input((4,))
    (place,) = written_of(called(keras.Model(x, layer()(x)), drawn((2, 4)))).places
    assert re.search(reason, place.reason)


class Always(L.Layer):
    def __init__(self, training: bool) -> None:
        super().__init__()
        self.drop, self._told = L.Dropout(0.5), training

    def call(self, x: Any) -> Any:
        return self.drop(tf.nn.relu(x), training=self._told)


@pytest.mark.parametrize("training", [True, False])
def test_a_layer_in_it_that_always_gets_the_same_training_is_written_so(training: bool) -> None:
    x = keras.Input((4,))
    written = written_of(called(keras.Model(x, Always(training)(x)), drawn((2, 4))))
    assert written.places == () and f"deterministic={not training})" in written.text


class Head(L.Layer):
    """As the head of a masked language model, which has the table of tokens of its backbone."""

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.table, self.out = table, L.Dense(3)

    def call(self, x: Any) -> Any:
        return self.out(self.table(x))


class Holder(L.Layer):
    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head

    def call(self, x: Any) -> Any:
        return self.head(x) + 1.0


def around(make: Callable[[Any], Any]) -> Any:
    """A backbone with a table, and behind it what is made of that table."""
    x, table = keras.Input((4,)), L.Dense(4, name="table")
    backbone = keras.Sequential([keras.Input((4,)), L.Dense(4), table], name="backbone")
    return called(keras.Model(x, make(table)(backbone(x))), drawn((2, 4)))


def test_a_layer_that_another_model_holds_is_lent() -> None:
    model = around(Head)
    written, module = module_of(model)
    assert "def __init__(self, table: nnx.Linear, *, rngs: nnx.Rngs)" in written.text
    assert "self.head = Head(self.backbone.table, rngs=rngs)" in written.text
    assert module.head.table is module.backbone.table
    x = drawn((2, 4))
    assert distance(module(jnp.asarray(x)), model(x)) <= 1e-6


class Lender(L.Layer):
    """It calls a table that another model holds, and has a head that does too."""

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.table, self.head = table, Head(table)

    def call(self, x: Any) -> Any:
        return self.head(self.table(x))


def test_a_layer_that_was_lent_is_lent_on() -> None:
    model = around(Lender)
    written, module = module_of(model)
    assert "self.lender = Lender(self.backbone.table, rngs=rngs)" in written.text
    assert "self.head = Head(self.table, rngs=rngs)" in written.text
    assert module.lender.head.table is module.lender.table is module.backbone.table
    x = drawn((2, 4))
    assert distance(module(jnp.asarray(x)), model(x)) <= 1e-6


def test_attention_that_only_its_borrower_masks_is_not_lent() -> None:
    """What fills in for a mask that leaves a query nothing stands in the constructor of its holder."""

    class Masked(L.Layer):
        def __init__(self, attention: Any) -> None:
            super().__init__()
            self.attention = attention

        def call(self, x: Any) -> Any:
            return self.attention(x, x, attention_mask=x[..., :1] > 0)

    x, attention = keras.Input((3, 4)), L.MultiHeadAttention(2, 2, dropout=0.1, name="attention")

    class Encoder(L.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.attention = attention

        def call(self, x: Any) -> Any:
            return self.attention(x, x)

    y = Encoder()(x)
    written = written_of(called(keras.Model(x, Masked(attention)(y)), drawn((2, 3, 4))))
    assert [place.reason for place in written.places] == ["it calls encoder/attention, which stands in another model"]


def test_a_layer_of_a_model_that_its_holder_has_not_is_a_place() -> None:
    written = written_of(around(lambda table: Holder(Head(table))))
    (place,) = written.places
    assert place.reason == "it calls backbone/table, which stands in another model"
    assert "self.out = nnx.Linear" in written.text


def test_a_model_that_cannot_be_written_is_refused_in_one_line() -> None:
    class Drawing(keras.Model):
        def call(self, x: Any) -> Any:
            return x + tf.random.gamma(tf.shape(x), 1.0)

    with pytest.raises(RequestError, match=r"can be written, found RandomGamma, test_calls_left\.py:\d+"):
        written_of(called(Drawing(), drawn((2, 4))))
