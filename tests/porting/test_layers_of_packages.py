"""Layers as packages on the registry have them: with functions, masks, dicts and tables that Keras' own do without."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import distance, filled, module_of, written_of

from compare.porting.drawn_inputs import drawn_input
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled, _keras_weights

L = keras.layers
ops: Any = keras.ops

pytestmark = [
    pytest.mark.filterwarnings("ignore:The object being serialized includes a `lambda`:UserWarning"),
    pytest.mark.usefixtures("remembered"),
]

BOUND = 3e-6
"""Of the normwise difference in float32."""

NUMBERS = np.random.default_rng(1)
STEPS = NUMBERS.normal(size=(3, 6, 4)).astype("float32")
TOKENS = NUMBERS.integers(0, 7, (3, 6)).astype("int32")
IMAGES = NUMBERS.normal(size=(2, 5, 5, 3)).astype("float32")
KEPT = NUMBERS.integers(0, 2, (3, 6)).astype(bool)
KEPT[0] = False


def squared(x: Any) -> Any:
    return ops.square(ops.relu(x)) + 0.1 * x


def of_tensorflow(x: Any) -> Any:
    return tf.nn.relu(x) ** 2


class Cached(L.MultiHeadAttention):
    """A call with another signature than that of its class, which says what it returns."""

    def call(self, query: Any, value: Any, cache: Any = None, scale: float = 1.0) -> Any:  # type: ignore[override]
        query, key, value = self._query_dense(query), self._key_dense(value), self._value_dense(value)
        scores = ops.einsum("btnh,bsnh->bnts", query * scale, key)
        result = ops.einsum("bnts,bsnh->btnh", self._softmax(scores), value)
        return self._output_dense(result), cache


class Decoder(L.Layer):
    """It asks for the length of a sequence as it goes, and hands on what it does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Cached(2, 3)

    def build(self, shape: Any) -> None:
        self.attention.build(shape, shape)

    def call(self, x: Any) -> Any:
        places = ops.arange(ops.shape(x)[1], dtype="float32")
        y, cache = self.attention(query=x, value=x * places[None, :, None], cache=None)
        return y, cache


class Decoders(L.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = [Decoder() for _ in range(2)]

    def call(self, x: Any) -> Any:
        for each in self.inner:
            y, _ = each(x)
            x = x + y
        return x


class Heads(L.Layer):
    """Of arrays whose batch and length are open."""

    def call(self, x: Any) -> Any:
        batch, length, _ = ops.shape(x)
        first, second = ops.unstack(ops.reshape(x, (batch, length, 2, 2)), axis=2)
        return first - 2 * second


class BuiltForAnother(L.Layer):
    """Its layers were built for more pixels than they are given."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = keras.Sequential([L.Conv2D(3, 1, strides=2), L.BatchNormalization()])

    def build(self, shape: Any) -> None:
        self.scale.build((None, shape[1] + 2, shape[2] + 2, shape[3]))

    def call(self, x: Any, training: bool = False) -> Any:
        return self.scale(x, training=training)

    def compute_output_shape(self, shape: Any) -> Any:
        return shape[0], 3, 3, 3


class Turned(L.Layer):
    """It asks for all sizes of what it is given."""

    def call(self, x: Any) -> Any:
        first, second = ops.split(x, 2, axis=-1)
        return ops.reshape(ops.stack([-second, first], axis=-2), ops.shape(x))


class TurnedTwice(L.Layer):
    """One layer for arrays of two shapes, as queries and keys have other numbers of heads."""

    def __init__(self) -> None:
        super().__init__()
        self.turned = Turned()

    def call(self, x: Any) -> Any:
        heads = ops.reshape(x, (-1, 6, 2, 2))
        return ops.sum(self.turned(heads), axis=2) + self.turned(heads[:, :, :1])[:, :, 0]


class Attended(L.Layer):
    def call(self, x: Any) -> Any:
        heads = ops.reshape(x, (-1, 6, 2, 2))
        kept = ops.greater(ops.einsum("btnf,bsnf->bnts", heads, heads), 0)
        once = ops.dot_product_attention(heads, heads, heads * 2, mask=kept, scale=0.3)
        return ops.dot_product_attention(once, heads, value=heads, is_causal=True)


class Late(L.Layer):
    """It says its shape without its layers, which make their weights at the first call with numbers."""

    def build(self, shape: Any) -> None:
        self.dense, self.last = L.Dense(4), L.Lambda(lambda x: x[:, -1])

    def call(self, x: Any) -> Any:
        return self.last(self.dense(x))

    def compute_output_shape(self, shape: Any) -> Any:
        return shape[0], 4


class Penalised(L.Layer):
    def build(self, shape: Any) -> None:
        self.table = self.add_weight(shape=(4, 2), name="table", regularizer=keras.regularizers.L2(0.5))

    def call(self, x: Any) -> Any:
        return tf.tensordot(x, self.table, 1)


class Activated(L.Layer):
    """A dropout behind an activation: no dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.act, self.drop = L.ReLU(), L.Dropout(0.35)

    def call(self, x: Any, training: bool = False) -> Any:
        return self.drop(self.act(x), training=training)


class Windows(L.Layer):
    """It takes steps by two: no size stays in its place."""

    def call(self, x: Any) -> Any:
        batch, length, _ = ops.shape(x)
        return ops.reshape(ops.reshape(x, (batch, -1, 8)), (batch, length, 4))


def of_two_kinds() -> tuple[Any, Any]:
    """A layer whose activation takes symbols of one rank alone."""
    dense = L.Dense(4, activation=lambda x: ops.square(x) if len(x.shape) > 2 else tf.square(x))
    return of(STEPS, lambda x: ops.concatenate([dense(x)[:, 0], dense(ops.mean(x, axis=1))], axis=-1))


def of_two_ranks() -> tuple[Any, Any]:
    layer = Squared()
    return of(STEPS, lambda x: ops.concatenate([layer(x)[:, 0], layer(x[:, 1])], axis=-1))


class Squared(L.Layer):
    def call(self, x: Any) -> Any:
        return squared(x)


def of(array: np.ndarray, call: Callable[[Any], Any], *, open_length: bool = False) -> tuple[Any, Any]:
    shape = (None, *array.shape[2:]) if open_length else array.shape[1:]
    inputs = keras.Input(shape, dtype=array.dtype.name)
    return keras.Model(inputs, call(inputs)), array


def encoder() -> Any:
    """A model that takes a dict and returns one, as those of text do."""
    tokens, kept = keras.Input((6,), dtype="int32", name="tokens"), keras.Input((6,), dtype="bool", name="kept")
    x = L.Embedding(7, 4)(tokens) * ops.cast(kept, "float32")[..., None]
    return keras.Model({"tokens": tokens, "kept": kept}, {"steps": x, "first": x[:, 0] + 1, "and": x[:, 1]})


def of_encoder() -> tuple[Any, Any]:
    inner = encoder()
    found = inner(inner.input)
    return keras.Model(inner.input, L.Dense(2)(found["first"]) + found["and"][:, :2]), {"tokens": TOKENS, "kept": KEPT}


def of_language() -> tuple[Any, Any]:
    """A model in another, whose table is the way back from what the other makes of it."""
    tokens = keras.Input((6,), dtype="int32")
    table = L.ReversibleEmbedding(7, 4)
    inner = keras.Model(tokens, L.Dense(4, activation="tanh")(table(tokens)), name="inner")
    return keras.Model(tokens, table(inner(tokens), reverse=True)), TOKENS


def of_reversible(**told: Any) -> tuple[Any, Any]:
    table = L.ReversibleEmbedding(7, 4, **told)
    return of(TOKENS, lambda t: table(table(t) * 2, reverse=True))


def of_softmax(mask: np.ndarray) -> tuple[Any, Any]:
    x, kept = keras.Input((6,)), keras.Input((6,), dtype=mask.dtype.name)
    return keras.Model([x, kept], L.Softmax()(x, kept)), [STEPS[..., 0], mask]


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "an activation of one's own": lambda: of(STEPS, L.Dense(3, activation=squared)),
    "one of a convolution": lambda: of(IMAGES, L.Conv2D(2, 3, activation=lambda x: ops.gelu(x, approximate=True))),
    "one as a layer": lambda: of(STEPS, L.Activation(squared)),
    "a Lambda": lambda: of(STEPS, lambda x: L.Dense(2)(L.Lambda(lambda x: x[:, -1] * 3)(x))),
    "a Lambda of TensorFlow": lambda: of(STEPS, lambda x: L.Dense(2)(L.Lambda(lambda x: tf.reduce_max(x, 1) ** 2)(x))),
    "a list of one": lambda: of(STEPS, lambda x: [L.Dense(2)(x)]),
    "a list of one behind a Lambda": lambda: of(STEPS, lambda x: [L.Dense(2)(L.Lambda(lambda x: 2 * x)(x))]),
    "one layer for two ranks": lambda: of_two_ranks(),
    "an activation and a dropout": lambda: of(STEPS, Activated()),
    "a Lambda of nothing": lambda: of(STEPS, lambda x: L.Dense(2)(L.Lambda(lambda x: x)(x))),
    "attention with another call": lambda: of(STEPS, Decoders(), open_length=True),
    "sizes that are open": lambda: of(STEPS, Heads(), open_length=True),
    "a model that was built for another shape": lambda: of(IMAGES, BuiltForAnother()),
    "one layer for two shapes": lambda: of(STEPS, TurnedTwice()),
    "attention of arrays": lambda: of(STEPS, Attended()),
    "layers that are made late": lambda: of(STEPS, Late()),
    "a dict from a model in it": of_encoder,
    "a softmax of what is kept": lambda: of_softmax(KEPT),
    "a softmax of what a number keeps": lambda: of_softmax(KEPT.astype("float32") * 0.7),
    "the table of a model in it": of_language,
    "a table and back": lambda: of_reversible(),
    "two tables": lambda: of_reversible(tie_weights=False, logit_soft_cap=3.0),
}


def made(name: str) -> tuple[Any, Any]:
    keras.utils.clear_session()
    model, given = MODELS[name]()
    _keras_weights._build_rest(model)
    for number, each in enumerate(model.weights):
        each.assign(np.random.default_rng(number).uniform(-0.8, 0.9, each.shape))
    return model, given


def apart(module: Any, model: Any, given: Any) -> float:
    listed = [given[name] for name in sorted(given)] if isinstance(given, dict) else given
    found = module(*listed) if isinstance(listed, list) else module(listed)
    assert not isinstance(found, list | tuple)
    return distance(found, np.asarray(model(given)))


@pytest.mark.parametrize("name", MODELS)
def test_it_is_written_whole_and_gives_the_same(name: str) -> None:
    model, given = made(name)
    _, module = module_of(model)
    assert apart(module, model, given) < BOUND


@pytest.mark.parametrize(
    ("name", "planted", "instead"),
    [
        ("an activation of one's own", "jax.nn.relu(", "jax.nn.silu("),
        ("a Lambda", "[:, -1]", "[:, 0]"),
        ("attention with another call", "jnp.arange(", "1 + jnp.arange("),
        ("a softmax of what is kept", "where=", "where=~"),
        ("the table of a model in it", ".attend(", ".attend(2 * "),
        ("two tables", ".attend(", ".attend(0.9 * "),
        ("a dict from a model in it", "+ ", "- "),
    ],
)
def test_what_is_wrong_there_is_seen(name: str, planted: str, instead: str) -> None:
    model, given = made(name)
    written = written_of(model)
    assert planted in written.text
    module = filled(written, written.text.replace(planted, instead), model)
    assert not apart(module, model, given) < 1e-3


def test_an_activation_that_takes_no_symbols_is_a_place() -> None:
    keras.utils.clear_session()
    model, _ = of(STEPS, L.Dense(3, activation=of_tensorflow))
    (place,) = written_of(model).places
    assert "its activation is 'of_tensorflow'" in place.reason


@pytest.mark.parametrize(
    ("function", "place"),
    [
        (lambda x, layer: x + keras.random.gamma((4,), 1.0), "changes"),
        (lambda x, layer: x * ops.convert_to_tensor(layer.bias), "multiply"),
    ],
    ids=["draws", "reads a weight"],
)
def test_a_lambda_whose_numbers_change_is_a_place(function: Callable[[Any, Any], Any], place: str) -> None:
    keras.utils.clear_session()
    layer = L.Dense(4)
    layer.build((None, None, 4))
    model, _ = of(STEPS, lambda x: layer(L.Lambda(lambda x: function(x, layer), name="changes")(x)))
    assert [each.layer for each in written_of(model).places] == [place]


@pytest.mark.parametrize(
    "make",
    [
        lambda: of(STEPS, L.Lambda(lambda x, training=None: x * 2 if training else x)),
        lambda: of(STEPS, Windows(), open_length=True),
        of_two_kinds,
    ],
    ids=["a Lambda that asks whether it trains", "sizes that move", "an activation of one rank"],
)
def test_what_is_not_known_to_be_right_is_a_place(make: Callable[[], tuple[Any, Any]]) -> None:
    keras.utils.clear_session()
    assert written_of(make()[0]).places


class Plain(keras.Model):
    """Not made of symbols: it has no inputs until it is called on some."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = L.Dense(2)

    def build(self, shape: Any) -> None:
        self.dense.build(shape)

    def call(self, x: Any) -> Any:
        return self.dense(x)


def built_alone() -> Any:
    model = Plain()
    model.build((None, 4))
    return model


def called_on_numbers() -> Any:
    model = Plain()
    model(np.zeros((1, 4), "float32"))
    return model


@pytest.mark.parametrize("make", [built_alone, called_on_numbers])
def test_a_model_of_ones_own_is_read_however_it_made_its_weights(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keras_weights, "resolve", lambda reference: make)
    model = _keras_weights._of_code("mine.py:make", made_anew=True, closures=False)
    assert [weight.path.rpartition("/")[2] for weight in model.weights] == ["kernel", "bias"]


def test_a_penalty_of_a_weight_outside_of_layers_is_part_of_the_loss() -> None:
    keras.utils.clear_session()
    model, given = of(STEPS, Penalised())
    model(given)
    model.compile("sgd", "mse")
    told = training_source(_keras_compiled.of_model(model), written_of(model))
    assert "value += 0.5 * jnp.sum(jnp.square(model.penalised.table[...]))" in told.text


def test_numbers_of_numpy_are_numbers() -> None:
    keras.utils.clear_session()
    model, given = of(STEPS, lambda x: L.Rescaling(np.float64(0.5), offset=np.float32(1))(x))
    _, module = module_of(model)
    assert apart(module, model, given) < BOUND


def test_metrics_that_count_by_weights_leave_the_step_as_it_is() -> None:
    keras.utils.clear_session()
    model, _ = of(STEPS, L.Dense(3))
    model.compile("sgd", "mse", weighted_metrics=["mae"])
    told = training_source(_keras_compiled.of_model(model), written_of(model))
    assert told.unwritten == ()
    assert ["weighted_metrics" in each for each in told.remarks] == [True]


def test_each_input_of_a_dict_is_drawn_for_what_reads_it() -> None:
    keras.utils.clear_session()
    inner = encoder()
    model = keras.Model(inner.input, inner({"tokens": inner.input["tokens"], "kept": inner.input["kept"]})["first"])
    architecture = _keras_compiled.of_model(model)
    graph = architecture.graphs[0]
    drawn = {name: drawn_input(architecture, graph, number).spec for name, number in graph.inputs.items()}
    assert "high=7" in drawn["tokens"]
    assert "high" not in drawn["kept"]
