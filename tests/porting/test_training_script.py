"""`train.py` of a written port: the arrays and optimizers that it has, and models that have none."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import keras
import pytest
import tensorflow as tf

from compare.porting import training_script
from compare.porting.identifiers import class_identifier
from compare.porting.port_builders import Original
from compare.porting.port_source import Sizes
from compare.porting.styles import LINEN, NNX, Style
from compare.porting.writing_ports import texts
from tf_reference import _keras_compiled

L = keras.layers
Files = Mapping[str, str]


def two() -> keras.Model:
    """Two inputs, one of them tokens, and two outputs."""
    a, b = keras.Input((4,), name="a"), keras.Input((None,), dtype="int32", name="b")
    h = L.Concatenate()([a, L.GlobalAveragePooling1D()(L.Embedding(7, 2, name="table")(b))])
    outputs = [L.Dense(2, "softmax", name="classes")(h), L.Dense(1, name="value")(h)]
    model = keras.Model([a, b], outputs, name="two")
    model.compile("sgd", ["sparse_categorical_crossentropy", "mse"])
    return model


class Pair(keras.Model):
    """Two models with an optimizer each, and no call."""

    def __init__(self) -> None:
        super().__init__()
        self.maker = keras.Sequential([keras.Input((3,)), L.Dense(4)], name="maker")
        self.judge = keras.Sequential([keras.Input((4,)), L.Dense(1)], name="judge")

    def compile(self, first: Any, second: Any) -> None:
        """Keep both."""
        super().compile()
        self.first, self.second = first, second

    def train_step(self, x: Any) -> Any:
        """Train each on its own loss."""
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.judge(self.maker(x))))
        weights = self.maker.trainable_weights
        self.first.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.judge(self.maker(x)) - 1.0))
        weights = self.judge.trainable_weights
        self.second.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


def pair() -> keras.Model:
    """Trained by two optimizers."""
    model = Pair()
    model.compile(keras.optimizers.SGD(0.1), keras.optimizers.Adam(0.1))
    return model


def stateful() -> keras.Model:
    """The batches of which are in an order."""
    x = keras.Input((5, 2), batch_size=3)
    model = keras.Model(x, L.Dense(1)(L.LSTM(4, stateful=True, name="memory")(x)))
    model.compile("adam", "mse")
    return model


def plain() -> keras.Model:
    """Not compiled."""
    x = keras.Input((4,))
    return keras.Model(x, L.Dense(2)(x))


def files_of(make: Callable[[], keras.Model]) -> Files:
    return texts(_keras_compiled.of_model(make()), Original("my_tf.py:build"), Sizes())[2]


def obstacle_of(make: Callable[[], keras.Model]) -> str:
    architecture = _keras_compiled.of_model(make())
    source, training, _ = texts(architecture, Original("my_tf.py:build"), Sizes())
    return training_script.find_obstacle(architecture, source, training)


@pytest.mark.parametrize(
    ("make", "lines"),
    [
        (
            two,
            (
                '    "a": ArraySpec(("n", 4)),',
                '    "b": ArraySpec(("n", "b_1"), "int32", low=0, high=7),',
                '    "targets_1": ArraySpec(("n",), "int32", low=0, high=2),',
                '    "targets_2": ArraySpec(("n", 1)),',
                '    return train_step(model, optimizer, (batch["a"], batch["b"]), '
                '(batch["targets_1"], batch["targets_2"]))',
            ),
        ),
        (
            pair,
            (
                'EXAMPLES = {"data": ArraySpec(("n", 3))}',
                '    return train_step(model, optimizer, (batch["data"],), ())',
                "    return model, {name: nnx.Optimizer(model, one, wrt=TRAINED[name]) "
                "for name, one in make_optimizer().items()}",
            ),
        ),
    ],
)
def test_the_script_has_the_arrays_and_optimizers_of_the_model(
    make: Callable[[], keras.Model], lines: tuple[str, ...]
) -> None:
    script = files_of(make)[training_script.SCRIPT].splitlines()
    assert [line for line in lines if line not in script] == []
    assert len(script) < 120


def test_a_model_that_a_loop_over_examples_does_not_train_has_no_script_and_says_why() -> None:
    assert training_script.SCRIPT not in {**files_of(stateful), **files_of(plain)}
    assert obstacle_of(plain) == "the original is not compiled"
    reason = "memory (LSTM) keeps a state from one batch to the next, so their order is yours"
    assert obstacle_of(stateful) == reason
    assert obstacle_of(two) == ""


def names_of(text: str) -> set[str]:
    """What a file imports or assigns to, wherever that is in it."""
    nodes = list(ast.walk(ast.parse(text)))
    imported = {one.asname or one.name for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names}
    return imported | {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def named(name: str) -> keras.Model:
    """Compiled, with dropout and statistics."""
    x = keras.Input((4,))
    model = keras.Model(x, L.Dropout(0.5)(L.BatchNormalization()(x)), name=name)
    model.compile("adam", "mse")
    return model


@pytest.mark.parametrize("style", [NNX, LINEN])
def test_a_class_has_no_name_that_a_file_has_for_something_else(style: Style) -> None:
    models = [named("small"), *[pair()] * (style == NNX)]
    every = set[str]()
    for model in models:
        source, _, files = texts(_keras_compiled.of_model(model), Original("my_tf.py:build"), Sizes(), style)
        every |= {name for text in files.values() for name in names_of(text)} - {source.class_name, "Maker", "Judge"}
    capitals = {name for name in every if name[0].isupper()}
    assert {"Path", "Any", "Workload"} <= capitals
    assert [name for name in capitals if class_identifier(name) == name] == []


def test_a_model_called_as_what_the_script_imports_is_trained_by_its_class() -> None:
    script = files_of(lambda: named("path"))[training_script.SCRIPT]
    assert "from pathlib import Path" in script and "from model_jax import ModelPath" in script
