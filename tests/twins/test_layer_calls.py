"""The calls of Keras layers that are noted while a model is called."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from tf_reference._layer_calls import layer_calls


@keras.saving.register_keras_serializable("tests")
class Refusing(keras.layers.Layer):
    """Takes nothing: a model may try it and go on."""

    def call(self, x: Any) -> Any:
        raise ValueError("not this")


def test_a_layer_that_raised_is_around_none_that_is_called_after_it() -> None:
    refusing, dense = Refusing(name="refusing"), keras.layers.Dense(2, name="dense")

    def model(x: Any) -> Any:
        try:
            return refusing(x)
        except ValueError:
            return dense(x)

    noted, _ = layer_calls(model, [tf.ones((1, 3))], with_gradients=False)
    assert [call.path for call in noted.calls] == ["dense"]
