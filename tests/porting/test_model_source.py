"""The written module, run: it gives what the Keras model gives, and nothing of a model's names becomes code."""

import ast
import dataclasses
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax
import pytest
import tensorflow as tf
from filled_modules import filled
from layers_to_carry import CustomScaleLayer

import jaxport
from compare.porting.frozen_layers import frozen_places
from compare.porting.model_source import model_source
from compare.porting.port_builders import module_builder
from compare.porting.port_source import Sizes, sizes_text
from compare.porting.training_source import Training, training_source
from compare.porting.written_classes import Written
from tf_reference import _keras_compiled
from workloads.protocol.architecture import LossTerm, OwnStep

L = keras.layers
BOUND = 1e-5
"""Of the normwise difference in float32, over a few layers."""

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

IMAGES = (8, 8, 3)


def small_cnn() -> Any:
    x = keras.Input(IMAGES)
    y = L.Conv2D(4, 3, padding="same", activation="relu6", name="import")(x)
    y = L.BatchNormalization(axis=3, name="train")(y)
    z = L.SeparableConv2D(4, 3, padding="same", activation="tanh", name="a-b")(y)
    z = L.Add(name="class")([y, z, y])
    z = L.AveragePooling2D(3, 2, padding="same")(L.ZeroPadding2D(((0, 1), (1, 0)))(z))
    return keras.Model(x, L.Dense(5, activation="softmax", name="a_b")(L.Flatten()(z)))


def shared_and_nested() -> Any:
    inner = keras.Sequential([keras.Input((6,)), L.Dense(6, activation="gelu"), L.LayerNormalization()], name="block")
    first, second = keras.Input((6,), name="left one"), keras.Input((6,), name="self")
    shared = L.Dense(6, name="shared")
    joined = L.Concatenate()([inner(shared(first)), inner(second), shared(second)])
    return keras.Model([first, second], [L.Dense(2, name="out")(joined), joined * 2.0 - 1.0, joined[:, 1:3]])


def sequences() -> Any:
    tokens = keras.Input((7,), dtype="int32")
    x = L.Embedding(11, 8)(tokens)
    x = L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True) + x
    x = L.GRU(6, return_sequences=True)(x)
    return keras.Model(tokens, L.LSTM(5)(x))


def operations() -> Any:
    x = keras.Input((4, 6))
    y = keras.ops.relu(keras.ops.mean(x, axis=1, keepdims=True)) + keras.ops.max(x, axis=-1, keepdims=True)
    y = keras.ops.concatenate([y, keras.ops.reshape(x, (-1, 4, 6))], axis=-1)
    y = keras.ops.maximum(y, 0.25) / (1.0 + keras.ops.square(y))
    return keras.Model(x, [y, -keras.ops.transpose(y, (0, 2, 1))])


def around_layers() -> Any:
    x = keras.Input((6, 4))
    y = L.TimeDistributed(L.Dense(6, activation="relu"), name="each")(x)
    y = L.TimeDistributed(L.Conv1D(3, 2), name="windows")(keras.ops.expand_dims(y, -1))
    y = L.UpSampling2D((2, 1))(L.Normalization(mean=[0.5, 1.5, 0.1], variance=[0.3, 2.0, 4.0])(y))
    y = CustomScaleLayer(0.17, name="scaled")([y, keras.ops.square(y)])
    y = keras.ops.where(keras.ops.greater(y, 0.1), y, keras.ops.stop_gradient(y)) ** 2
    return keras.Model(x, L.TimeDistributed(L.LayerNormalization(), name="norms")(y))


def both_directions() -> Any:
    x = keras.Input((5, 4))
    y = L.Bidirectional(L.LSTM(3, return_sequences=True), name="all")(x)
    y = L.Bidirectional(L.GRU(4, return_sequences=True), merge_mode="sum", name="added")(y)
    return keras.Model(x, [L.Bidirectional(L.LSTM(2), name="ends")(y), L.Bidirectional(L.GRU(2), merge_mode="mul")(y)])


HOSTILE = 'x"); import os; os.system("touch pwned") #\n    import os\r"""'


def hostile() -> Any:
    x = keras.Input((4,), name="input\nimport os")
    return keras.Model(x, L.Dense(3, name=HOSTILE)(L.Dense(4, name="层")(x)), name='"""\nimport os')


def made(model: Any) -> tuple[Written, Any]:
    """The module that is written, with random weights of the model, which it has then too."""
    for number, each in enumerate(model.weights):
        each.assign(np.random.default_rng(number).uniform(0.1, 0.6, each.shape))
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    return written, filled(written, f"{written.text}\n{training_source(architecture, written).text}", model)


def inputs_of(model: Any) -> list[np.ndarray]:
    numbers = np.random.default_rng(3)
    return [
        numbers.integers(0, 10, (2, *each.shape[1:])).astype("int32")
        if "int" in str(each.dtype)
        else numbers.normal(size=(2, *each.shape[1:])).astype("float32")
        for each in model.inputs
    ]


def test_a_layer_that_changes_nothing_is_a_comment() -> None:
    x = keras.Input(IMAGES)
    model = keras.Model(x, L.Dense(3, name="out")(L.Identity()(L.Cropping2D(0)(L.ZeroPadding2D(0)(x)))))
    written, _ = made(model)
    call = written.text.partition("def __call__")[2].splitlines()[1:]
    assert [line.strip() for line in call] == [
        "# zero_padding2d: [batch, 8, 8, 3]: as it is",
        "# cropping2d: [batch, 8, 8, 3]: as it is",
        "# identity: [batch, 8, 8, 3]: as it is",
        "return self.out(x)  # [batch, 8, 8, 3]",
    ]


@pytest.mark.parametrize(
    "make", [small_cnn, shared_and_nested, sequences, operations, around_layers, both_directions, hostile]
)
def test_a_written_module_gives_what_the_model_gives(make: Callable[[], Any]) -> None:
    model = make()
    written, module = made(model)
    assert written.places == ()
    given = inputs_of(model)
    wanted = jax.tree.leaves(jax.tree.map(np.asarray, model(given[0] if len(given) == 1 else given, training=False)))
    found = [np.asarray(each) for each in jax.tree.leaves(module(*map(jnp.asarray, given)))]
    assert [each.shape for each in found] == [each.shape for each in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert np.linalg.norm(one - other) <= BOUND * np.linalg.norm(other)


def test_names_of_layers_are_code_nowhere() -> None:
    text = model_source(_keras_compiled.of_model(hostile())).text
    tree = ast.parse(text)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert all(re.fullmatch(r"(self|nnx|jnp|jax)\.[\w.]+", each) for each in calls)


def scaled(x: Any) -> Any:
    return tf.numpy_function(lambda array: array * 2, [x], tf.float32)


def with_places() -> Any:
    x = keras.Input((4,))
    y = L.Lambda(scaled, (4,), name="doubled")(L.Dense(4)(x))
    return keras.Model(x, L.Dense(2)(L.RandomFlip(name="flip")(keras.ops.reshape(y, (-1, 2, 2, 1)))))


def test_what_is_not_written_raises_with_the_layer_and_its_line() -> None:
    written, module = made(with_places())
    assert [each.layer for each in written.places] == ["doubled", "flip"]
    assert written.places[0].line.startswith("test_model_source.py:")
    with pytest.raises(NotImplementedError, match=r"doubled \(Lambda, test_model_source\.py:\d+\).*write it here"):
        module(jnp.ones((2, 4)))


def test_an_einsum_of_each_step_is_a_place_since_its_equation_names_no_steps() -> None:
    x = keras.Input((5, 4))
    y = L.TimeDistributed(L.EinsumDense("ab,bc->ac", output_shape=3), name="each")(x)
    places = model_source(_keras_compiled.of_model(keras.Model(x, y**2.0))).places
    assert [each.layer for each in places] == ["each"]


def test_a_scaled_sum_of_three_is_a_place_since_keras_takes_two_of_them() -> None:
    x = keras.Input((4,))
    places = model_source(_keras_compiled.of_model(keras.Model(x, CustomScaleLayer(0.1, name="sum")([x, x, x])))).places
    assert [each.reason for each in places] == ["it is given 3 tensors"]


@pytest.mark.parametrize("exponent", [0.5, float("inf"), float("nan")])
def test_a_power_that_is_no_whole_number_is_a_place(exponent: float) -> None:
    x = keras.Input((4,))
    assert len(model_source(_keras_compiled.of_model(keras.Model(x, x**exponent))).places) == 1


def _loss_in_python(_: Any, y_pred: Any) -> Any:
    return tf.reduce_mean(tf.numpy_function(np.abs, [y_pred], tf.float32))


def test_an_unknown_loss_and_optimizer_are_places() -> None:
    model = small_cnn()
    model.compile("ftrl", loss=_loss_in_python, metrics=["top_k_categorical_accuracy"])
    architecture = _keras_compiled.of_model(model)
    training = training_source(architecture, model_source(architecture))
    assert [each.split(":")[0] for each in training.unwritten] == ["the optimizer", "the loss", "the metrics"]
    assert training.text.count("raise NotImplementedError") == 3


@pytest.mark.parametrize(
    "loss",
    [
        keras.losses.Huber(0.3),
        keras.losses.LogCosh(),
        keras.losses.CosineSimilarity(),
        keras.losses.CategoricalCrossentropy(from_logits=True),
        keras.losses.BinaryCrossentropy(label_smoothing=0.1),
        keras.losses.Poisson(),
        keras.losses.KLDivergence(),
        keras.losses.MeanAbsolutePercentageError(),
        keras.losses.MeanSquaredLogarithmicError(),
        keras.losses.Hinge(),
    ],
    ids=lambda loss: loss.name,
)
def test_a_loss_is_that_of_keras(loss: Any) -> None:
    model = small_cnn()
    model.compile("sgd", loss)
    architecture = _keras_compiled.of_model(model)
    training = training_source(architecture, model_source(architecture))
    assert training.unwritten == ()
    predictions = np.random.default_rng(3).uniform(0.1, 0.9, (16, 5)).astype("float32")
    targets = np.eye(5, dtype="float32")[np.arange(16) % 5]
    scope: dict[str, Any] = {"Any": Any, "jax": jax, "jnp": jnp, "jaxport": jaxport, "optax": optax}
    function = training.text[training.text.index("def loss(") :].split("\n\n\n")[0]
    exec(re.sub(r"model: \w+", "model", function), scope)
    found = scope["loss"](lambda *_: jnp.asarray(predictions), (jnp.asarray(predictions),), jnp.asarray(targets))
    np.testing.assert_allclose(found, loss(targets, predictions), rtol=1e-5)


@pytest.mark.parametrize(
    ("metric", "loss"),
    [
        pytest.param(lambda: keras.metrics.SparseTopKCategoricalAccuracy(2), "sparse_categorical_crossentropy", id="k"),
        pytest.param(lambda: keras.metrics.TopKCategoricalAccuracy(3), "categorical_crossentropy", id="k, one-hot"),
        pytest.param(lambda: keras.metrics.RootMeanSquaredError(), "mse", id="root"),
        pytest.param(lambda: keras.metrics.Precision(), "mse", id="precision"),
        pytest.param(lambda: keras.metrics.Recall(), "mse", id="recall"),
        pytest.param(lambda: keras.metrics.AUC(num_thresholds=50), "mse", id="area"),
    ],
)
def test_a_metric_is_that_of_keras(metric: Callable[[], Any], loss: str) -> None:
    model = small_cnn()
    model.compile("sgd", loss, metrics=[metric()])
    architecture = _keras_compiled.of_model(model)
    training = training_source(architecture, model_source(architecture))
    assert training.unwritten == ()
    numbers = np.random.default_rng(3)
    predictions = numbers.uniform(size=(16, 5)).astype("float32")
    targets = numbers.integers(0, 5, 16).astype("int32")
    if not loss.startswith("sparse"):
        targets = np.eye(5, dtype="float32")[targets]
    scope: dict[str, Any] = {}
    start = training.text.index("def metrics(")
    function = training.text[start:].split("\n\n\n")[0]
    exec(function, {"jnp": jnp, "jax": jax, "jaxport": jaxport, "Any": Any}, scope)
    (value,) = scope["metrics"](targets, predictions).values()
    keras_own = metric()
    keras_own.update_state(targets, predictions)
    assert float(value) == pytest.approx(float(keras_own.result()), abs=1e-6)


@pytest.mark.parametrize(
    "metric", [lambda: keras.metrics.AUC(curve="PR"), lambda: keras.metrics.Precision(thresholds=0.7)]
)
def test_a_metric_with_other_attributes_is_a_place(metric: Callable[[], Any]) -> None:
    model = small_cnn()
    model.compile("sgd", "mse", metrics=[metric()])
    architecture = _keras_compiled.of_model(model)
    assert len(training_source(architecture, model_source(architecture)).unwritten) == 1


def test_the_loss_of_logits_is_taken_behind_a_softmax() -> None:
    model = small_cnn()
    model.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    text = training_source(architecture, written).text
    assert written.logits == {"": "softmax"} and "model.logits(*inputs)" in text
    assert "jaxport.optimizers.adam(learning_rate=0.01)" in text and "clip_by_norm(1.0)" in text


def test_what_is_frozen_is_left_out_of_the_step() -> None:
    model = small_cnn()
    model.get_layer("a-b").trainable = False
    model.compile("adam", "mse")
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    training = training_source(architecture, written)
    assert frozen_places(architecture, written) == ["a_b_depthwise", "a_b_pointwise"] and not training.unwritten
    assert (
        "FROZEN = (('a_b_depthwise',), ('a_b_pointwise',), )" in training.text
        and "argnums=nnx.DiffState(0, TRAINED)" in training.text
    )
    assert "wrt=TRAINED" in module_builder(written, Training("text", is_filtered=True)).expression
    assert "TRAINED" not in module_builder(written, Training("text")).expression


class Scaled(L.Layer):
    def build(self, shape: Any) -> None:
        self.scales = self.add_weight(name="scales", shape=(4,))
        self.kept = self.add_weight(name="kept", shape=(4,), trainable=False)

    def call(self, x: Any) -> Any:
        return x * self.scales + self.kept


def test_a_weight_of_a_frozen_layer_of_ones_own_has_gradients_as_in_tensorflow() -> None:
    x = keras.Input((4,))
    model = keras.Model(x, Scaled(trainable=False, name="scaled")(x))
    model.compile("sgd", "mse")
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    assert "self.scales = nnx.Param" in written.text and "self.kept = nnx.BatchStat" in written.text
    assert frozen_places(architecture, written) == ["scaled"]


def test_a_model_of_which_all_is_frozen_stands_for_its_layers() -> None:
    inner = keras.Sequential(
        [keras.Input((8,)), L.Dense(4, name="one"), L.BatchNormalization(name="norm")], name="base"
    )
    inner.trainable = False
    x = keras.Input((8,))
    model = keras.Model(x, L.Dense(2, name="top")(inner(x)))
    model.compile("sgd", "mse")
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    assert frozen_places(architecture, written) == ["base"]
    assert "self.norm(x, use_running_average=True)" in written.text
    inner.get_layer("one").trainable = True
    architecture = _keras_compiled.of_model(model)
    assert frozen_places(architecture, model_source(architecture)) == ["base.norm"]


def test_a_layer_of_which_a_part_is_frozen_leaves_the_training_to_be_written() -> None:
    x = keras.Input((5, 8))
    attention = L.MultiHeadAttention(2, 4, name="attention")
    model = keras.Model(x, attention(x, x))
    attention._query_dense.trainable = False
    model.compile("sgd", "mse")
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    (place,) = training_source(architecture, written).unwritten
    assert "attention (MultiHeadAttention), of which some weights are trained and some are not" in place
    assert not frozen_places(architecture, written)
    attention.trainable = False
    architecture = _keras_compiled.of_model(model)
    assert frozen_places(architecture, written) == ["attention"]


def of_two_outputs(**compiled: Any) -> Any:
    x = keras.Input((4,))
    model = keras.Model(x, [L.Dense(3, name="a")(x), L.Dense(2, name="b")(x)])
    model.compile("sgd", **compiled)
    return model


@pytest.mark.parametrize("weights", [None, [1.0, 0.3], {"b": 0.25, "a": 2.0}])
def test_weights_of_losses_are_written(weights: Any) -> None:
    loss = {"a": "mse", "b": "mae"} if isinstance(weights, dict) else ["mse", "mae"]
    model = of_two_outputs(loss=loss, loss_weights=weights)
    architecture = _keras_compiled.of_model(model)
    training = training_source(architecture, model_source(architecture))
    assert not training.unwritten
    function = training.text[training.text.index("def loss(") :].split("\n\n\n")[0]
    scope: dict[str, Any] = {}
    exec(
        re.sub(r"model: \w+", "model: Any", function),
        {"jnp": jnp, "jax": jax, "optax": optax, "jaxport": jaxport, "Any": Any},
        scope,
    )
    numbers = np.random.default_rng(0)
    x, targets = numbers.normal(size=(5, 4)), [numbers.normal(size=(5, size)).astype("float32") for size in (3, 2)]
    predictions = [np.asarray(each) for each in model(x)]
    found = scope["loss"](lambda *_: predictions, (x,), targets)
    wanted = model.compute_loss(x, targets, [keras.ops.convert_to_tensor(each) for each in predictions])
    assert float(found) == pytest.approx(float(wanted), rel=1e-6)


def test_weights_that_are_no_numbers_of_losses_leave_the_step() -> None:
    architecture = _keras_compiled.of_model(of_two_outputs(loss="mse", loss_weights=[1.0, 2.0]))
    assert "loss_weights" in training_source(architecture, model_source(architecture)).unwritten[0]


def test_a_step_that_adds_penalties_itself_may_have_weights_of_losses() -> None:
    architecture = _keras_compiled.of_model(of_two_outputs(loss=["mse", "mae"], loss_weights=[1.0, 0.5]))
    assert architecture.compiled is not None
    own = OwnStep("my.py:1", (LossTerm(), LossTerm(regularizers=True)))
    given = dataclasses.replace(architecture, compiled=dataclasses.replace(architecture.compiled, own=own))
    training = training_source(given, model_source(given))
    assert "0.5 * (jnp.mean(" in training.text and not training.unwritten


def test_what_is_frozen_has_no_penalty() -> None:
    x = keras.Input((4,))
    layers = [L.Dense(4, kernel_regularizer="l2", name=name) for name in ("one", "two")]
    model = keras.Model(x, layers[1](layers[0](x)))
    layers[0].trainable = False
    model.compile("sgd", "mse")
    assert [each.layer for each in _keras_compiled.of_model(model).penalties] == ["two"]


def in_float16() -> Any:
    x = keras.Input((4,))
    half = keras.DTypePolicy("mixed_float16")
    model = keras.Model(x, L.Dense(2, dtype="float32")(L.Dense(4, dtype=half)(x)))
    inner = keras.optimizers.SGD(0.5)
    model.compile(keras.optimizers.LossScaleOptimizer(inner, initial_scale=64.0), "mse", auto_scale_loss=False)
    return model


def test_a_loss_that_its_optimizer_scales_is_scaled() -> None:
    architecture = _keras_compiled.of_model(in_float16())
    training = training_source(architecture, model_source(architecture))
    assert training.unwritten == ()
    assert "jaxport.loss_scaling.scaled(jaxport.optimizers.sgd(learning_rate=0.5), initial_scale=64.0)" in training.text
    assert "nnx.value_and_grad(scaled_loss, has_aux=True)(model, optimizer.opt_state, inputs, targets)" in training.text


def test_a_step_of_its_own_that_knows_of_no_scale_is_left() -> None:
    architecture = _keras_compiled.of_model(in_float16())
    assert architecture.compiled is not None
    own = OwnStep("my.py:1", (LossTerm(),))
    given = dataclasses.replace(architecture, compiled=dataclasses.replace(architecture.compiled, own=own))
    (place,) = training_source(given, model_source(given)).unwritten
    assert "LossScaleOptimizer under a train_step of its own" in place


def test_the_gates_are_told_that_a_model_computes_in_a_narrow_type() -> None:
    told = sizes_text(_keras_compiled.of_model(in_float16()), Sizes(batch=2))
    assert told == 'sizes={"default": {"batch": 2, "float16": 1}},  # computes in float16'
    assert sizes_text(_keras_compiled.of_model(sequences()), Sizes(batch=2)) == 'sizes={"default": {"batch": 2}},'
