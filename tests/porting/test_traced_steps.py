"""A train_step that its source does not say: it is traced, and what is written of it trains as it does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax.numpy as jnp
import keras
import models_with_steps as steps
import numpy as np
import pytest
import tensorflow
from filled_modules import filled, scope_of
from flax import nnx

from compare.porting.model_source import model_source
from compare.porting.training_source import Training, training_source
from compare.porting.written_classes import Written
from compare.weights.planning import plan
from jaxport import _module_reading
from jaxport._same_masks import drop_by_place
from jaxport.weights import variables_of
from tf_reference import _drawn_numbers, _keras_compiled, _keras_weights, _watched_tape

pytestmark = pytest.mark.usefixtures("remembered")

tf: Any = tensorflow
"""Without types, which know no symbols of Keras."""

Change = Callable[[str], str]

MODELS: Mapping[str, Callable[[], Any]] = {
    "an own formula": lambda: steps.small(steps.OwnFormula, loss=None),
    "gradients times two": lambda: steps.small(steps.Scaled),
    "logits": lambda: steps.small(steps.Scaled, loss="sparse_categorical_crossentropy", last="softmax"),
    "a norm of all gradients": lambda: steps.small(steps.Decayed),
    "no training": lambda: steps.small(steps.Still),
    "some of the weights": lambda: steps.small(steps.Half),
    "two updates": lambda: steps.small(steps.Twice),
    "a gradient in a gradient": lambda: steps.small(steps.Penalized, loss=None, norm=False),
    "an average": steps.averaged,
    "a teacher": steps.distiller,
    "two optimizers": steps.adversarial,
}


def written_of(model: Any) -> tuple[Written, Training]:
    architecture = _keras_compiled.of_model(model)
    written = model_source(architecture)
    return written, training_source(architecture, written)


def data_of(model: Any, number: int) -> tuple[Any, ...]:
    """Inputs and targets, as the step is traced for."""
    draws = np.random.default_rng(number)
    if isinstance(model, steps.Adversarial):
        return (draws.normal(size=(5, 4)).astype("float32"),)
    is_sparse = "sparse" in str(getattr(model, "loss", "")) or isinstance(model, steps.Distiller)
    targets = draws.integers(0, 2, 5).astype("int32") if is_sparse else draws.uniform(size=(5, 2)).astype("float32")
    return draws.normal(size=(5, 3)).astype("float32"), targets


def difference(model: Any, change: Change = lambda text: text) -> float:
    """The largest difference of losses and weights between two steps of Keras and of what is written and changed."""
    written, training = written_of(model)
    assert [place.description for place in written.places] == [] and training.unwritten == ()
    for number, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(number).uniform(0.1, 0.6, weight.shape))
    text = change(training.text)
    module = filled(written, written.text, model)
    scope: dict[str, Any] = {**scope_of(written, written.text), written.class_name: type(module)}
    exec(f"from __future__ import annotations\n{text}", scope)
    drop_by_place(module)
    made, trained = scope["make_optimizer"](), scope.get("TRAINED", nnx.Param)
    optimizer: Any = (
        {name: nnx.Optimizer(module, one, wrt=trained[name]) for name, one in made.items()}
        if isinstance(made, dict)
        else nnx.Optimizer(module, made, wrt=trained)
    )
    differences = []
    for number in range(2):
        x, *y = data_of(model, number)
        found = scope["train_step"](module, optimizer, (jnp.asarray(x),), jnp.asarray(y[0]) if y else ())
        data = tf.constant(x) if not y else (tf.constant(x), tf.constant(y[0]))
        with _drawn_numbers.drawn_by_place("float32"):
            wanted = _watched_tape.step_with_loss(partial(model.train_step, data))
        differences.append(abs(float(found) - float(wanted)))
    # Of NumPy: a difference that is no number is no small one.
    return float(np.max([*differences, *weight_differences(model, written, module)]))


def weight_differences(model: Any, written: Written, module: Any) -> list[float]:
    source, arrays = _keras_weights.of_model(model)
    wanted = plan(source, arrays, _module_reading.of_module(module), written.names, {}).arrays
    own = variables_of(module)
    return [float(np.abs(np.asarray(own[path][...]) - array).max()) for path, array in wanted.items()]


@pytest.mark.parametrize("name", MODELS)
def test_what_is_written_trains_as_the_original(name: str) -> None:
    assert difference(MODELS[name]()) < 2e-6


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("an own formula", "0.1 * jnp.mean", "0.2 * jnp.mean"),
        ("gradients times two", "gradient * 2.0", "gradient * 2.1"),
        ("logits", ".logits(x)", "(x)"),
        ("a norm of all gradients", "1e-06", "1e-02"),
        ("a norm of all gradients", "model.head.kernel[...]", "model.first.kernel[...]"),
        ("no training", "model.eval()", "model.train()"),
        ("some of the weights", "within(('first',))", "nnx.Param"),
        ("a gradient in a gradient", "0.5 * jnp.sum", "0.4 * jnp.sum"),
        ("an average", "0.9 * model.average.inner.kernel", "0.8 * model.average.inner.kernel"),
        ("a teacher", "    model.teacher.eval()\n", ""),
        ("two optimizers", "10.0 * jnp", "9.0 * jnp"),
    ],
)
def test_a_planted_error_trains_otherwise(name: str, old: str, new: str) -> None:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    assert difference(MODELS[name](), change) > 1e-4


def test_an_optimizer_takes_no_gradients_of_other_weights() -> None:
    old, new = "TRAINED['maker_optimizer']))(model)", "TRAINED['critic_optimizer']))(model)"
    with pytest.raises(ValueError, match="pytree structure error"):
        difference(steps.adversarial(), lambda text: text.replace(old, new))


class Counting(keras.Model):
    count = 0

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.count += 1
        if self.count % 1000:
            self.optimizer.apply([2 * one for one in tape.gradient(loss, self.trainable_variables)])
        return {}


class Clocked(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        factor = 2.0 + time.time()
        self.optimizer.apply([factor * one for one in tape.gradient(loss, self.trainable_variables)])
        return {}


class ByRate(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            loss *= tf.convert_to_tensor(self.optimizer.learning_rate)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables))
        return {}


class OneOtherwise(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        first, *others = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply([2 * first, *others])
        return {}


class ByHand(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        for weight, gradient in zip(self.trainable_variables, gradients, strict=True):
            weight.assign_sub(0.1 * gradient)
        return {}


class InBothModes(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            error = tf.reduce_mean(tf.square(self(x, training=True) - self(x, training=False)))
            loss = error + self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables))
        return {}


class OnlyReturning(keras.Model):
    def train_step(self, data: Any) -> Any:
        if len(data) == 2:
            return {}
        return super().train_step(data)


class Noisy(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply([one * np.random.uniform() for one in tape.gradient(loss, self.trainable_variables)])
        return {}


class NoisyByMethod(keras.Model):
    def factor(self) -> float:
        return float(np.random.uniform())

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply([one * self.factor() for one in tape.gradient(loss, self.trainable_variables)])
        return {}


def apply_gradients(model: Any, tape: Any, loss: Any, change: Callable[[Any], Any] = lambda each: each * 2.0) -> Any:
    """Give the optimizer of a model changed gradients: those of a plain step are not traced."""
    variables = model.trainable_variables
    model.optimizer.apply([change(each) for each in tape.gradient(loss, variables)], variables)
    return {}


class Sharp(keras.Model):
    """Sharpness-aware: weights move along the gradient before the second one is taken."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        variables = self.trainable_variables
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, variables)
        moves = [0.05 * each / tf.linalg.global_norm(gradients) for each in gradients]
        for weight, move in zip(variables, moves, strict=True):
            weight.assign_add(move)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, variables)
        for weight, move in zip(variables, moves, strict=True):
            weight.assign_sub(move)
        self.optimizer.apply(gradients, variables)
        return {}


class RestByHand(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        variables = self.trainable_variables
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply([2.0 * each for each in tape.gradient(loss, variables[-2:])], variables[-2:])
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        for weight, gradient in zip(variables[:2], tape.gradient(loss, variables[:2]), strict=True):
            weight.assign_sub(0.1 * gradient)
        return {}


class OfGradients(keras.Model):
    """A penalty of the gradients of weights."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                error = self.compute_loss(y=y, y_pred=self(x, training=True))
            squares = [tf.reduce_sum(tf.square(each)) for each in inner.gradient(error, self.trainable_variables)]
            loss = error + 0.1 * tf.add_n(squares)
        return apply_gradients(self, tape, loss)


class ByGradientNorm(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        norm = tf.linalg.global_norm(tape.gradient(loss, self.trainable_variables))
        with tf.GradientTape() as tape:
            loss = norm * self.compute_loss(y=y, y_pred=self(x, training=True))
        return apply_gradients(self, tape, loss)


class NoiseOfEach(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        return apply_gradients(self, tape, loss, lambda each: each * (1.0 + 0.1 * tf.random.normal(())))


class NormOfEach(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        norms = iter([tf.norm(weight) for weight in self.trainable_variables])
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        return apply_gradients(self, tape, loss, lambda each: each * next(norms))


class ByMetric(keras.Model):
    def __init__(self, *inputs: Any, **keywords: Any) -> None:
        super().__init__(*inputs, **keywords)
        self.tracker: Any = keras.metrics.Mean(name="tracker")

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True)) * (1.0 + self.tracker.result())
        self.tracker.update_state(loss)
        return apply_gradients(self, tape, loss)


class CountingByMethod(keras.Model):
    _count = 0

    def _tick(self) -> float:
        self._count += 1
        return 1.0 if self._count < 1000 else 0.0

    def train_step(self, data: Any) -> Any:
        x, y = data
        factor = self._tick()
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        return apply_gradients(self, tape, loss, lambda each: each * factor)


class Ticks:
    def __init__(self) -> None:
        self.count = 0

    def tick(self) -> None:
        self.count += 1


class CountingByObject(keras.Model):
    def __init__(self, *inputs: Any, **keywords: Any) -> None:
        super().__init__(*inputs, **keywords)
        self.ticks = Ticks()

    def train_step(self, data: Any) -> Any:
        x, y = data
        self.ticks.tick()
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        factor = 1.0 if self.ticks.count < 1000 else 0.0
        return apply_gradients(self, tape, loss, lambda each: each * factor)


class CountingPrivately(CountingByMethod):
    """Where no source of a method says so."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        factor = getattr(self, "_" + "tick")()
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        return apply_gradients(self, tape, loss, lambda each: each * factor)


class OfOneWeight(keras.Model):
    def train_step(self, data: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(self.layers[-1].kernel))
        variables = self.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return {}


class Unwatched(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([weight.value for weight in self.layers[-1].trainable_variables])
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        return apply_gradients(self, tape, loss)


class Reentered(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        tape = tf.GradientTape(persistent=True)
        with tape:
            y_pred = self(x, training=True)
        with tape:
            loss = self.compute_loss(y=y, y_pred=y_pred)
        return apply_gradients(self, tape, loss)


class ByPosition(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, True))
        return apply_gradients(self, tape, loss)


class OfRanks(keras.Model):
    mean_squares = keras.losses.MeanSquaredError()

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.mean_squares(y[:, 0], self(x, training=True))
        return apply_gradients(self, tape, loss)


MORE_THAN_UPDATES = "uses the gradients of weights for more than updates by an optimizer"


@pytest.mark.parametrize(
    ("kind", "norm", "reason"),
    [
        (Sharp, True, MORE_THAN_UPDATES),
        (RestByHand, False, MORE_THAN_UPDATES),
        (OfGradients, False, MORE_THAN_UPDATES),
        (ByGradientNorm, True, MORE_THAN_UPDATES),
        (NoiseOfEach, True, "does something else with each gradient"),
        (NormOfEach, True, "does something else with each gradient"),
        (ByMetric, True, "computes with the result of a metric"),
        (CountingByMethod, True, "changes what Python keeps at .*self._count"),
        (CountingByObject, True, "changes self.ticks.count"),
        (CountingPrivately, True, "changes self._count"),
        (OfOneWeight, False, "with respect to first/kernel, which the loss does not reach"),
        (Unwatched, True, "watch_accessed_variables=False"),
        (Reentered, True, "enters a tf.GradientTape twice"),
        (ByPosition, True, "training by position"),
        (OfRanks, True, "targets and predictions of different ranks"),
    ],
)
def test_what_a_port_would_do_otherwise_is_a_place(kind: Any, norm: bool, reason: str) -> None:
    _, training = written_of(steps.small(kind, norm=norm))
    assert not training.text and len(training.unwritten) == 1
    assert re.search(reason, training.unwritten[0]), training.unwritten


class WithTargetsIfAny(keras.Model):
    def train_step(self, data: Any) -> Any:
        x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = 0.1 * tf.reduce_mean(tf.square(y_pred))
            if y is not None:
                loss += self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=weights)
        return apply_gradients(self, tape, loss)


class OneColumn(keras.Model):
    mean_squares = keras.losses.MeanSquaredError()

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.mean_squares(y[:, 0], self(x, training=True)[:, :1])
        return apply_gradients(self, tape, loss)


class WeightBefore(keras.Model):
    """A weight that is read before the tape is a constant in it."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        kernel = self.layers[-1].kernel
        old = tf.convert_to_tensor(kernel)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True)) + 0.1 * tf.reduce_sum(old * kernel)
        return apply_gradients(self, tape, loss)


class StatisticBefore(keras.Model):
    """A statistic that is read before the call that changes it."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        mean = tf.convert_to_tensor(self.get_layer("norm").moving_mean)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred) + tf.reduce_sum(mean * self.get_layer("first").bias)
        return apply_gradients(self, tape, loss)


class StatisticInside(keras.Model):
    """A statistic that is read in the tape, before the call that changes it."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            mean = tf.convert_to_tensor(self.get_layer("norm").moving_mean)
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred) + tf.reduce_sum(mean * self.get_layer("first").bias)
        return apply_gradients(self, tape, loss)


@pytest.mark.parametrize("kind", [WithTargetsIfAny, OneColumn, WeightBefore, StatisticBefore, StatisticInside])
def test_what_stands_where_it_matters_trains_as_the_original(kind: Any) -> None:
    assert difference(steps.small(kind)) < 2e-6


class OnInputs(keras.Model):
    """Takes the inputs alone, whatever else there is."""

    def train_step(self, data: Any) -> Any:
        x = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True)))
        return apply_gradients(self, tape, loss)


def test_a_step_that_reads_no_targets_is_trained_on_inputs_alone_and_a_note_says_so() -> None:
    _, training = written_of(steps.small(OnInputs))
    assert "targets\n" not in training.text
    assert any("inputs alone" in remark for remark in training.remarks)
    _, training = written_of(steps.small(WithTargetsIfAny))
    assert not any("inputs alone" in remark for remark in training.remarks)


REFUSED = {
    "something else in each call": lambda: steps.small(NoisyByMethod),
    "changes what Python keeps": lambda: steps.small(Counting),
    "reads the clock": lambda: steps.small(Clocked),
    "draws by Python or NumPy": lambda: steps.small(Noisy),
    "the variable sgd.*learning_rate, which is no weight of the model": lambda: steps.small(ByRate),
    "does something else with each gradient": lambda: steps.small(OneOtherwise),
    "gives no gradients to an optimizer": lambda: steps.small(OnlyReturning),
    "calls model in training and in inference": lambda: steps.small(InBothModes),
    "gradient of a gradient through a batch norm": lambda: steps.small(steps.Penalized, loss=None),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_no_compiled_step_would_do_again_is_a_place_with_its_reason(reason: str) -> None:
    _, training = written_of(REFUSED[reason]())
    assert not training.text and len(training.unwritten) == 1
    assert re.search(r"(test_traced_steps|models_with_steps)\.py:\d+", training.unwritten[0])
    assert re.search(reason, training.unwritten[0]), training.unwritten


def test_weights_that_are_updated_by_hand_alone_are_a_place() -> None:
    _, training = written_of(steps.small(ByHand))
    assert "gives no gradients to an optimizer" in training.unwritten[0]
