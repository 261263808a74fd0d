"""Places that hold layers: all but their calls is written, with its weights; models in them are written whole."""

from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from filled_modules import called, distance, drawn, filled, written_of

from compare.porting import rest_source
from compare.porting.port_builders import Original
from compare.porting.port_source import Sizes
from compare.porting.training_source import training_source
from compare.porting.writing_ports import texts
from tf_reference import _keras_compiled, _keras_weights
from workloads.protocol.framework import Unsupported

pytestmark = pytest.mark.usefixtures("remembered")
L = keras.layers


class Noisy(L.Layer):
    """A call that draws, around layers, a model and a weight of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.tail = L.Dense(4), keras.Sequential([L.Dense(3), L.BatchNormalization()], name="tail")

    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(name="scale", shape=(4,))

    def call(self, x: Any) -> Any:
        noise = 0.0 * tf.random.gamma(tf.shape(x), 1.0)
        return self.tail(self.first(x * self.scale + noise))


class Pair(keras.Model):
    """Two models that train against each other: there is no call."""

    def __init__(self, maker: Any = None) -> None:
        super().__init__()
        self.maker = maker or keras.Sequential([keras.Input((3,)), L.Dense(4, activation="tanh")], name="maker")
        self.judge = keras.Sequential([keras.Input((4,)), L.Dense(1)], name="judge")

    def train_step(self, data: Any) -> Any:
        return {"loss": tf.reduce_mean(self.judge(self.maker(data)))}


def filled_call(text: str, class_name: str, line: str) -> str:
    """The text with the call of a class written, as an engineer would."""
    start = text.index(f"class {class_name}(")
    at = text.index("raise NotImplementedError(", start)
    end = text.index("\n", at) if "\n" in text[at:] else len(text)
    return f"{text[:at]}{line}{text[end:]}"


def test_only_the_call_of_a_place_is_left() -> None:
    x = keras.Input((4,))
    model = called(keras.Model(x, L.Dense(2)(Noisy()(x))), drawn((5, 4)))
    written = written_of(model)
    (place,) = written.places
    assert place.owner == "Noisy" and place.method_name == "__call__" and "RandomGamma" in place.reason
    call = "x, = inputs; return self.tail(self.first(x * self.scale[...]))"
    text = filled_call(written.text, "Noisy", call)
    module = filled(written, text, model)
    given = drawn((5, 4))
    assert distance(module(jnp.asarray(given)), model(given)) < 3e-6


def test_the_weights_of_a_place_that_are_not_carried_are_seen() -> None:
    x = keras.Input((4,))
    model = called(keras.Model(x, L.Dense(2)(Noisy()(x))), drawn((5, 4)))
    written = written_of(model)
    text = written.text.replace("self.first = ", "self.second = ", 1)
    with pytest.raises(AssertionError):
        filled(written, text, model)


def test_models_of_a_model_without_a_call_are_written_whole_and_judged() -> None:
    model = Pair()
    model.compile("sgd")
    architecture = _keras_compiled.of_model(model)
    written, training, found = texts(architecture, Original("my_tf.py:build"), Sizes())
    assert [each.layer for each in written.places] == [""] and training.unwritten
    assert [each.graph.model for each in rest_source.judged_parts(architecture, written)] == ["maker", "judge"]
    assert '"maker": ArraySpec((batch, 3))' in found["rest.py"] and "port.py" not in found
    module = filled(written, written.text, model)
    given = drawn((5, 3))
    assert distance(module.judge(module.maker(jnp.asarray(given))), model.judge(model.maker(given))) < 3e-6
    assert training_source(architecture, written).unwritten == training.unwritten


EMPTY = """
import keras
class Empty(keras.Model):
    pass
def build():
    return Empty()
"""


def test_a_model_of_which_nothing_is_built_is_refused(tmp_path: Any) -> None:
    (tmp_path / "model.py").write_text(EMPTY)
    with pytest.raises(Unsupported, match="never called"):
        _keras_weights.model(_keras_weights.Given(f"{tmp_path / 'model.py'}:build"), tmp_path)


def judged(maker: Any) -> list[tuple[str, list[str]]]:
    """The models that are judged of a pair, each with the places that values stand for."""
    maker(np.zeros((1, 3), "float32"))
    architecture = _keras_compiled.of_model(Pair(maker))
    parts = rest_source.judged_parts(architecture, texts(architecture, Original("my_tf.py:build"), Sizes())[0])
    return [(part.graph.model, [stand.place.layer for stand in part.stands]) for part in parts]


def test_a_value_stands_for_a_place_in_a_part() -> None:
    x = keras.Input((3,))
    maker = keras.Model(x, Noisy()(L.Dense(4)(x)), name="maker")
    (made, places), judge = judged(maker)
    assert made == "maker" and len(places) == 1 and places[0].startswith("maker/noisy")
    assert judge == ("judge", [])


def test_a_part_whose_place_is_called_twice_is_not_judged_and_the_models_in_it_are() -> None:
    x, noisy = keras.Input((3,)), Noisy()
    body = keras.Sequential([keras.Input((3,)), L.Dense(4)], name="body")
    y = body(x)
    assert judged(keras.Model(x, noisy(y) + noisy(L.Dense(4)(y)), name="maker")) == [("judge", []), ("maker/body", [])]
