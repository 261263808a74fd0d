"""Regularizers of weights and of what layers return are in the loss that is written, as often as Keras has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from written_losses import written_loss

import jaxport
from compare.porting.model_source import model_source
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled, _keras_outputs

pytestmark = pytest.mark.usefixtures("remembered")
L, R = keras.layers, keras.regularizers

Graph = Callable[[Any], Any]
"""Symbol of what a model is given -> what it returns."""


def compiled(graph: Graph, shape: tuple[int, ...] = (3,), loss: Any = "mse", dtype: str = "float32") -> Any:
    keras.utils.clear_session()
    x = keras.Input(shape, dtype=dtype)
    model = keras.Model(x, graph(x))
    for number, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(number).uniform(-0.6, 0.6, weight.shape))
    model.compile("sgd", loss)
    return model


def inner_model(x: Any) -> Any:
    inner = keras.Sequential([keras.Input((3,)), L.Dense(4, activity_regularizer=R.L1L2(0.1, 0.2))], name="inner")
    return L.Dense(2)(inner(x) + inner(x * 2 + 1))


def one_layer_thrice(x: Any) -> Any:
    shared = L.Dense(3, activity_regularizer=R.L2(0.3))
    return L.Dense(2)(shared(x) + shared(shared(x)))


class Own(keras.Model):
    """A call of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = L.Dense(4, activity_regularizer=R.L1(0.2)), L.Dense(2)

    def call(self, x: Any) -> Any:
        return self.last(self.first(x))


class OwnOfTensorFlow(Own):
    """A call of the user's own that TensorFlow traces."""

    def call(self, x: Any) -> Any:
        return self.last(tf.nn.relu(self.first(x)))


class Adding(L.Layer):
    """A layer of the user's own that adds losses, one of them not yet summed."""

    def __init__(self, rate: float = 0.3) -> None:
        super().__init__()
        self.rate = rate

    def call(self, x: Any) -> Any:
        self.add_loss(self.rate * tf.reduce_mean(tf.square(x)))
        self.add_loss(tf.square(x[:, 0]))
        return tf.nn.tanh(x)


class Outer(L.Layer):
    """A call that TensorFlow traces, around one that adds a loss; it adds one too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.adding = L.Dense(3), Adding()

    def call(self, x: Any) -> Any:
        y = self.adding(self.first(tf.abs(x)))
        self.add_loss(0.1 * tf.reduce_sum(y**2))
        return tf.concat([x, self.adding(y)], -1)


class OwnWithLoss(keras.Model):
    """A model of the user's own that adds a loss, and of which Keras takes the logits."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = L.Dense(3), L.Dense(2, activation="softmax")

    def call(self, x: Any) -> Any:
        y = self.last(tf.abs(self.first(x)))
        self.add_loss(0.2 * tf.reduce_sum(y[:, 0]))
        return y


def sparse(model: Any) -> Any:
    model(np.zeros((2, 3), "float32"))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def without_loss(model: Any) -> Any:
    model(np.zeros((2, 3), "float32"))
    model.compile("sgd")
    return model


def adding_twice(x: Any) -> Any:
    shared = Adding()
    return L.Dense(2)(shared(x) + shared(L.Dense(3)(x)))


def own(model: Any) -> Any:
    model(np.zeros((2, 3), "float32"))
    model.compile("sgd", "mse")
    return model


WRITTEN: dict[str, Callable[[], Any]] = {
    "added": lambda: compiled(lambda x: L.Dense(2)(Adding()(L.Dense(3)(x)))),
    "added twice": lambda: compiled(adding_twice),
    "added inside of a traced call": lambda: compiled(lambda x: L.Dense(2)(Outer()(x))),
    "added inside of a model": lambda: compiled(
        lambda x: L.Dense(2)(keras.Sequential([keras.Input((3,)), L.Dense(3), Adding()])(x))
    ),
    "added by the model": lambda: sparse(OwnWithLoss()),
    "added, and no loss beside": lambda: without_loss(OwnWithLoss()),
    "added before a sigmoid that no loss looks through": lambda: compiled(
        lambda x: L.Dense(2, "sigmoid")(Adding()(x)), loss="mse"
    ),
    "activity": lambda: compiled(lambda x: L.Dense(2)(L.Dense(4, "relu", activity_regularizer=R.L1(0.3))(x))),
    "weights": lambda: compiled(
        lambda x: L.Dense(2, kernel_regularizer=R.L1L2(0.1, 0.2), bias_regularizer=R.L1(0.3))(x)
    ),
    "one factor": lambda: compiled(lambda x: L.Dense(2, kernel_regularizer=R.L1L2(l2=0.2))(x)),
    "rows": lambda: compiled(lambda x: L.Dense(4, kernel_regularizer=R.OrthogonalRegularizer(0.4))(x)),
    "columns": lambda: compiled(lambda x: L.Dense(4, kernel_regularizer=R.OrthogonalRegularizer(0.4, "columns"))(x)),
    "inner model": lambda: compiled(inner_model),
    "one layer thrice": lambda: compiled(one_layer_thrice),
    "identity": lambda: compiled(lambda x: L.Dense(2)(L.ActivityRegularization(l1=0.1, l2=0.3)(L.Dense(4)(x)))),
    "own call": lambda: own(Own()),
    "frozen": lambda: compiled(lambda x: L.Dense(2)(L.Dense(3, activity_regularizer="l2", trainable=False)(x))),
    "normalization": lambda: compiled(
        lambda x: L.Dense(2)(L.BatchNormalization(activity_regularizer="l2", gamma_regularizer=R.L2(0.3))(x))
    ),
    "recurrence": lambda: compiled(
        lambda x: L.LSTM(2, activity_regularizer="l2", kernel_regularizer="l1", recurrent_regularizer="l2")(x), (5, 3)
    ),
    "both ways": lambda: compiled(
        lambda x: L.Dense(2)(L.Bidirectional(L.GRU(2, kernel_regularizer="l1", bias_regularizer="l2"))(x)), (5, 3)
    ),
    "attention": lambda: compiled(lambda x: L.MultiHeadAttention(2, 2, kernel_regularizer="l2")(x, x), (5, 3)),
    "in two modules": lambda: compiled(
        lambda x: L.SeparableConv1D(2, 2, depthwise_regularizer="l2", pointwise_regularizer="l1")(x), (5, 3)
    ),
    "each step": lambda: compiled(lambda x: L.TimeDistributed(L.Dense(2, kernel_regularizer="l2"))(x), (5, 3)),
    "table": lambda: compiled(
        lambda x: L.Dense(2)(L.Embedding(7, 3, embeddings_regularizer=R.L2(0.1), activity_regularizer=R.L1(0.1))(x)),
        (4,),
        dtype="int32",
    ),
    "logits": lambda: compiled(
        lambda x: L.Dense(3, "softmax")(L.Dense(4, "tanh", activity_regularizer=R.L2(0.3))(x)),
        loss="sparse_categorical_crossentropy",
    ),
}


def losses(model: Any, change: Callable[[str], str] | None = None) -> tuple[float, float]:
    """The loss of a batch as Keras has it, and as it is written and changed."""
    (module, loss), draws = written_loss(model, change), np.random.default_rng(3)
    module.train()
    taken = next(iter(getattr(model, "inputs", ())), keras.KerasTensor((None, 3)))
    shape, is_table = (6, *taken.shape[1:]), "int" in taken.dtype
    given = draws.integers(0, 7, shape) if is_table else draws.uniform(-1, 1, shape).astype("float32")
    predictions = model(given, training=True)
    targets = draws.integers(0, 2, 6) if "sparse" in str(model.loss) else draws.normal(size=predictions.shape)
    wanted = model.compute_loss(None, targets.astype("float32"), predictions)
    return float(wanted), float(loss(module, (jnp.asarray(given),), jnp.asarray(targets)))


@pytest.mark.parametrize("name", WRITTEN)
def test_the_loss_is_that_of_keras(name: str) -> None:
    wanted, found = losses(WRITTEN[name]())
    assert found == pytest.approx(wanted, rel=3e-6)


MISTAKES: dict[str, tuple[str, Callable[[str], str]]] = {
    "one of two losses": ("added", lambda text: text.replace(" + jnp.sum(jnp.square(x[:, 0]))", "")),
    "half of the whole loss": (
        "added, and no loss beside",
        lambda text: text.replace("return penalty", "return 0.5 * penalty"),
    ),
    "another rate": ("added", lambda text: text.replace("0.3 *", "0.03 *")),
    "an own loss once for two calls": ("added twice", lambda text: text.replace("penalty += added", "penalty = added")),
    "the loss of an inner call": (
        "added inside of a traced call",
        lambda text: text.replace(" + added + added_2", " + added_2"),
    ),
    "of logits": (
        "added before a sigmoid that no loss looks through",
        lambda text: text.replace("jax.nn.sigmoid(predictions)", "predictions"),
    ),
    "missing": ("activity", lambda text: text.replace("    value += penalty  # a regularizer\n", "")),
    "doubled": ("activity", lambda text: text.replace("value += penalty", "value += 2 * penalty")),
    "not over the batch": ("activity", lambda text: text.replace(" / len(x)", "")),
    "mean in place of the sum": ("activity", lambda text: text.replace("jnp.sum(jaxport", "jnp.mean(jaxport")),
    "once for two calls": ("inner model", lambda text: text.replace("penalty += added", "penalty = added")),
    "one call left out": ("one layer thrice", lambda text: text.replace("penalty += ", "penalty + ", 1)),
    "half of a square": ("weights", lambda text: text.replace("0.2 *", "0.1 *")),
    "the other axis": ("rows", lambda text: text.replace('"rows"', '"columns"').replace("'rows'", "'columns'")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_penalty_is_another_loss(mistake: str) -> None:
    name, change = MISTAKES[mistake]
    wanted, found = losses(WRITTEN[name](), change)
    assert found != pytest.approx(wanted, rel=1e-3)


def test_the_judge_keeps_what_the_call_of_a_class_adds() -> None:
    model, x = own(Own()), np.ones((2, 3), "float32")
    has_loss = _keras_outputs.have_losses(model)
    predictions = model(x, training=True)
    wanted = [float(loss) for loss in model.losses]
    _keras_outputs.fill_targets(has_loss, [np.zeros((2, 2))], predictions)
    assert [float(loss) for loss in model.losses] == wanted and wanted[0] > 0
    # What has_loss is made of calls the model anew, and would be too late here.
    _keras_outputs.have_losses(model)
    assert [float(loss) for loss in model.losses] != wanted


def test_a_penalty_of_sizes_has_no_gradient_at_zero() -> None:
    """A bias starts there: TensorFlow's gradient of abs is 0, that of jnp.abs is 1."""
    model = compiled(lambda x: L.Dense(2, bias_regularizer=R.L1(0.3))(x))
    architecture = _keras_compiled.of_model(model)
    text = training_source(architecture, model_source(architecture)).text
    line = next(line for line in text.splitlines() if "bias" in line)
    expression = line.partition("+= ")[2].partition("#")[0].replace("model.dense.bias[...]", "bias").strip()
    assert not jax.grad(lambda bias: eval(expression, {"jnp": jnp, "jaxport": jaxport, "bias": bias}))(
        jnp.zeros(2)
    ).any()


def raised(x: Any) -> Any:
    """An activation of the user's own."""
    return x * x + 1.0


LEFT: dict[str, tuple[Callable[[], Any], str]] = {
    "own regularizer": (
        lambda: compiled(lambda x: L.Dense(2, activity_regularizer=type("Mine", (R.Regularizer,), {}))(x)),
        "dense has the regularizer Mine",
    ),
    "inside of attention": (
        lambda: compiled(lambda x: L.MultiHeadAttention(2, 2, activity_regularizer="l1")(x, x), (5, 3)),
        "multi_head_attention/query has the regularizer L1",
    ),
    "inside of a wrapper": (
        lambda: compiled(lambda x: L.TimeDistributed(L.Dense(2, activity_regularizer="l1"))(x), (5, 3)),
        "time_distributed/layer has the regularizer L1",
    ),
    "behind a function of the user's": (
        lambda: compiled(lambda x: L.Dense(2, activation=raised, activity_regularizer="l2")(x)),
        "a regularizer of what dense returns, which ends in a function of the user's own",
    ),
    "in a call that TensorFlow traced": (lambda: own(OwnOfTensorFlow()), "first has the regularizer L1"),
    "in a narrow type": (
        lambda: compiled(
            lambda x: L.Dense(1, dtype="float32")(L.Dense(2, dtype="mixed_bfloat16", activity_regularizer="l2")(x))
        ),
        "has the regularizer L2",
    ),
    "of what the loss looks through": (
        lambda: compiled(
            lambda x: L.Dense(3, "softmax", activity_regularizer="l2")(x), loss="categorical_crossentropy"
        ),
        "dense has a regularizer of what the loss takes the logits of",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_penalty_that_is_not_written_leaves_the_loss_by_its_name(name: str) -> None:
    make, told = LEFT[name]
    architecture = _keras_compiled.of_model(make())
    unwritten = training_source(architecture, model_source(architecture)).unwritten
    assert len(unwritten) == 1 and unwritten[0].startswith("the loss: ") and told in unwritten[0]
