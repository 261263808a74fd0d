"""Models that return several arrays, by place or by name: the loss that is written is the one that Keras takes."""

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax
import pytest
from filled_modules import drawn, filled

import jaxport
from compare.porting.before_activations import before_activations
from compare.porting.class_text import Body, Line
from compare.porting.drawn_arrays import input_specs
from compare.porting.model_source import model_source
from compare.porting.training_source import training_source
from tf_reference import _keras_compiled, _keras_outputs
from workloads import ArraySpec
from workloads.protocol.architecture import Described, LossTerm, OwnStep

L = keras.layers
SPARSE, MSE, BINARY = "sparse_categorical_crossentropy", "mse", "binary_crossentropy"

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


class Heads(keras.Model):
    """A class of the user's, whose outputs Keras has no names for but their keys."""

    def __init__(self) -> None:
        super().__init__()
        self.second, self.first = L.Dense(1), L.Dense(3)

    def call(self, x: Any) -> Any:
        return {"one": self.first(x), "amount": self.second(x)}


@dataclass(frozen=True)
class Case:
    """A model as it was compiled, and its targets as the user hands them to fit()."""

    outputs: Callable[[Any], Any]
    compiled: Mapping[str, Any]
    targets: Callable[..., Any]


def classes(x: Any) -> Any:
    return L.Dense(3, activation="softmax", name="a")(x)


def amount(x: Any) -> Any:
    return L.Dense(1, name="b")(x)


def share(x: Any) -> Any:
    return L.Dense(1, activation="sigmoid", name="c")(x)


CASES = {
    "keys that are no names of layers": Case(
        lambda x: {"z": classes(x), "amount": amount(x)},
        {"loss": {"z": SPARSE, "amount": MSE}, "loss_weights": {"amount": 0.5, "z": 2.0}},
        lambda amount, z: {"z": z, "amount": amount},
    ),
    "losses by place of outputs by name": Case(
        lambda x: {"z": classes(x), "amount": amount(x)},
        {"loss": [MSE, SPARSE]},
        lambda amount, z: {"z": z, "amount": amount},
    ),
    "one key": Case(lambda x: {"z": classes(x)}, {"loss": {"z": SPARSE}}, lambda z: {"z": z}),
    "an output by name without a loss": Case(
        lambda x: {"z": classes(x), "amount": amount(x)}, {"loss": {"z": SPARSE}}, lambda z: {"z": z}
    ),
    "an output by place without a loss": Case(
        lambda x: [classes(x), amount(x)], {"loss": [None, MSE]}, lambda amount: [amount]
    ),
    "one loss for all": Case(
        lambda x: (amount(x), share(x)), {"loss": MSE, "loss_weights": 0.5}, lambda amount, share: (amount, share)
    ),
    "names of layers": Case(
        lambda x: [share(x), classes(x)], {"loss": {"a": SPARSE, "c": BINARY}}, lambda share, z: [share, z]
    ),
    "logits and what a softmax gives": Case(
        lambda x: {"a": classes(x), "c": share(x)}, {"loss": {"a": SPARSE, "c": MSE}}, lambda a, c: {"a": a, "c": c}
    ),
    "a softmax that is read further on": Case(
        lambda x: (lambda z: [z, amount(z)])(classes(x)), {"loss": [SPARSE, MSE]}, lambda z, amount: [z, amount]
    ),
}


def of_case(case: Case) -> Any:
    x = keras.Input((5,))
    model = keras.Model(x, case.outputs(x))
    model.compile("sgd", **case.compiled)
    return model


def of_heads() -> Any:
    model = Heads()
    model(np.zeros((1, 5), "float32"))
    logits = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", {"one": logits, "amount": MSE}, loss_weights={"one": 3.0, "amount": 1.0})
    return model


def written_loss(model: Any) -> tuple[Callable[..., Any], list[np.ndarray[Any, Any]], Any]:
    """The loss that is written, targets as they are drawn for it, and the module."""
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    training = training_source(architecture, written)
    assert training.unwritten == ()
    function = training.text[training.text.index("def loss(") :].split("\n\n\n")[0]
    scope: dict[str, Any] = {"jnp": jnp, "jax": jax, "optax": optax, "jaxport": jaxport, "Any": Any}
    exec(re.sub(r"model: \w+", "model: Any", function), scope)
    specs = input_specs(architecture, written, with_training=True)
    numbers = np.random.default_rng(2)
    targets = []
    for name, text in specs.items():
        if "targets" in name:
            spec = eval(text, {"ArraySpec": ArraySpec, "batch": 6})
            whole = spec.dtype == "int32"
            targets.append(numbers.integers(0, 3, spec.shape, "int32") if whole else numbers.uniform(size=spec.shape))
    return (
        scope["loss"],
        [each if each.dtype == "int32" else each.astype("float32") for each in targets],
        filled(written, written.text, model),
    )


def both(model: Any, wanted: Callable[..., Any]) -> tuple[float, float]:
    """The loss of Keras and the one that is written."""
    loss, targets, module = written_loss(model)
    x = drawn((6, 5))
    original = model.compute_loss(x, wanted(*targets), model(x, training=True))
    own = loss(module, (jnp.asarray(x),), targets[0] if len(targets) == 1 else tuple(targets))
    return float(original), float(own)


@pytest.mark.parametrize("name", CASES)
def test_the_loss_of_a_graph_is_that_of_keras(name: str) -> None:
    case = CASES[name]
    original, own = both(of_case(case), case.targets)
    assert own == pytest.approx(original, rel=1e-5)


@pytest.mark.usefixtures("remembered")
def test_the_loss_of_a_class_is_that_of_keras() -> None:
    original, own = both(of_heads(), lambda amount, one: {"one": one, "amount": amount})
    assert own == pytest.approx(original, rel=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_the_judge_hands_targets_to_keras_as_a_user_does(name: str) -> None:
    case = CASES[name]
    model = of_case(case)
    _, targets, _ = written_loss(model)
    x = drawn((6, 5))
    predictions = model(x, training=True)
    by_user = model.compute_loss(x, case.targets(*targets), predictions)
    again = of_case(case)
    again.set_weights(model.get_weights())
    has_loss = _keras_outputs.have_losses(again)
    predictions = again(x, training=True)
    by_judge = again.compute_loss(x, _keras_outputs.fill_targets(has_loss, targets, predictions), predictions)
    assert float(by_judge) == pytest.approx(float(by_user), rel=1e-6)


def test_exchanged_targets_are_another_loss() -> None:
    case = Case(
        lambda x: {"b": amount(x), "a": share(x)},
        {"loss": MSE, "loss_weights": {"a": 1.0, "b": 9.0}} | {"loss": {"a": MSE, "b": MSE}},
        lambda a, b: {"a": b, "b": a},
    )
    original, own = both(of_case(case), case.targets)
    assert own != pytest.approx(original, rel=1e-3)


@pytest.mark.parametrize(
    ("compiled", "reason"),
    [
        ({"loss": [MSE, MSE, MSE]}, "3 losses in compile() for 2 outputs"),
        ({"loss": {"a": MSE, "other": MSE}}, "losses in compile() by the name of something that is no output"),
        (
            {"loss": [MSE, MSE], "loss_weights": {"a": 1.0}},
            "loss_weights by name in compile(), of losses without names",
        ),
    ],
)
def test_what_keras_would_refuse_is_left(compiled: Mapping[str, Any], reason: str) -> None:
    model = of_case(Case(lambda x: [classes(x), amount(x)], compiled, lambda *targets: targets))
    architecture = _keras_compiled.of_model(model)
    assert training_source(architecture, model_source(architecture)).unwritten == (
        f"the training step: it has {reason}",
    )


def test_metrics_are_those_of_their_outputs() -> None:
    x = keras.Input((5,))
    model = keras.Model(x, {"z": classes(x), "amount": amount(x)})
    metrics = {"z": ["accuracy"], "amount": ["mae", "mse"]}
    model.compile("sgd", {"z": SPARSE, "amount": MSE}, metrics=metrics)
    architecture = _keras_compiled.of_model(model)
    text = training_source(architecture, model_source(architecture)).text
    assert "'accuracy': jnp.mean(predictions['z'].argmax(-1) == targets[1])" in text
    assert "'mae': jnp.mean(jnp.abs(predictions['amount'] - targets[0]))" in text


def test_what_reads_an_activated_output_keeps_it_from_being_logits() -> None:
    body = Body(
        [Line("y", "jax.nn.softmax(self.d(x))", ""), Line("z", "jax.nn.sigmoid(self.e(x))", "")], "(y, y * 2, z)"
    )
    logits = before_activations(body, "self.logits(x)")
    assert logits is not None and logits.activations == {"[2]": "sigmoid"}
    assert logits.call == ["before = self.logits(x)", "return (before[0], before[1], jax.nn.sigmoid(before[2]),)"]


def test_a_loss_of_its_own_beside_the_compiled_one_is_no_other() -> None:
    x = keras.Input((5,))
    model = keras.Model(x, amount(x))
    model.compile("sgd", MSE)
    architecture = _keras_compiled.of_model(model)
    assert architecture.compiled is not None
    terms = (LossTerm(), LossTerm(0.5, loss=Described("MeanAbsoluteError")))
    own = dataclasses.replace(architecture.compiled, own=OwnStep("my.py:1", terms))
    text = training_source(dataclasses.replace(architecture, compiled=own), model_source(architecture)).text
    assert "jnp.mean(jnp.square(predictions - targets)) + 0.5 * (jnp.mean(jaxport.elementwise.absolute(" in text


def test_decay_of_what_is_for_no_loss_is_left() -> None:
    x = keras.Input((5,))
    model = keras.Model(x, [classes(x), amount(x)])
    model.compile(keras.optimizers.AdamW(weight_decay=0.1), [None, MSE])
    architecture = _keras_compiled.of_model(model)
    (place,) = training_source(architecture, model_source(architecture)).unwritten
    assert "AdamW decays no weights that are for an output without a loss" in place


def test_the_loss_of_a_narrow_probability_is_of_no_logits() -> None:
    x = keras.Input((5,))
    model = keras.Model(x, L.Dense(3, activation="softmax", dtype=keras.DTypePolicy("mixed_bfloat16"))(x))
    model.compile("sgd", SPARSE)
    architecture = _keras_compiled.of_model(model)
    text = training_source(architecture, model_source(architecture)).text
    assert "predictions = model(*inputs)" in text
    assert "jaxport.losses.sparse_categorical_crossentropy(targets, predictions)" in text


@pytest.mark.parametrize("metrics", [[], {"anything": ["mae"]}, ["mae"], [["mae"]]])
def test_metrics_leave_the_step_as_it_is(metrics: Any) -> None:
    x = keras.Input((5,))
    model = keras.Model(x, amount(x))
    model.compile("sgd", MSE, metrics=metrics)
    architecture = _keras_compiled.of_model(model)
    training = training_source(architecture, model_source(architecture))
    assert training.unwritten == () and ("def metrics" in training.text) == bool(metrics)


def test_metrics_of_no_output_are_told() -> None:
    x = keras.Input((5,))
    model = keras.Model(x, [classes(x), amount(x)])
    model.compile("sgd", [SPARSE, MSE], metrics={"other": "mae"})
    architecture = _keras_compiled.of_model(model)
    training = training_source(architecture, model_source(architecture))
    assert training.unwritten == () and any("metrics are not written" in each for each in training.remarks)


def test_outputs_in_another_order_than_that_of_their_keys_leave_the_step() -> None:
    x = keras.Input((5,))
    model = keras.Model(x, OrderedDict(z=classes(x), a=amount(x)))
    model.compile("sgd", {"z": SPARSE, "a": MSE})
    architecture = _keras_compiled.of_model(model)
    (place,) = training_source(architecture, model_source(architecture)).unwritten
    assert "OrderedDict" in place


def test_targets_have_the_sizes_that_the_outputs_have_for_what_is_drawn() -> None:
    image = keras.Input((None, None, 3))
    y = L.MaxPooling2D()(L.Conv2D(4, 3, padding="same")(image))
    outputs = {
        "mask": L.Conv2D(1, 1, name="mask")(y),
        "kind": L.Dense(5, name="kind")(L.GlobalAveragePooling2D()(y)),
    }
    model = keras.Model(image, outputs)
    model.compile("sgd", {"mask": MSE, "kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True)})
    architecture = _keras_compiled.of_model(model)
    specs = input_specs(architecture, model_source(architecture), with_training=True)
    assert specs == {
        "x": "ArraySpec((batch, 64, 64, 3,))",
        "targets_1": "ArraySpec((batch,), 'int32', low=0, high=5)",
        "targets_2": "ArraySpec((batch, 32, 32, 1,))",
    }
