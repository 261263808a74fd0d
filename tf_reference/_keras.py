"""The training step as Keras runs it: what `model.fit` does with each batch, compiled as `compile` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference._model import Model
from workloads.core.target import TargetError

KERAS, GRAPH, STEPS = "keras", "keras-graph", "keras-steps"
STEPS_PER_EXECUTION = 8
"""Batches that one call trains on in mode STEPS."""
_COMPILED: dict[str, dict[str, Any]] = {
    GRAPH: {"jit_compile": False},
    STEPS: {"jit_compile": True, "steps_per_execution": STEPS_PER_EXECUTION},
}
"""How the model is compiled for the modes that the twin's own `compile` does not say."""


def check(model: Model) -> None:
    """Raise TargetError unless a Keras model that is handed over can be trained, compiled by XLA."""
    if model.keras is None:
        return
    if model.step is None:
        raise TargetError("expected step beside Model.keras, found none: what Keras trains is held against it")
    if not getattr(model.keras, "compiled", False) or not model.keras.jit_compile:
        raise TargetError(
            "expected Model.keras after compile(optimizer=..., loss=..., jit_compile=True), found it otherwise: "
            "compile it so, with the optimizer of step"
        )


def modes(model: Model) -> list[str]:
    """The modes in which Keras trains a model; one without symbolic inputs is compiled in one way."""
    if model.keras is None:
        return []
    return [KERAS, *(_COMPILED if getattr(model.keras, "inputs", None) else ())]


def compile_for(model: Model, mode: str) -> Any:
    """The Keras model as a mode trains it: the same layers, variables, optimizer and loss."""
    if mode == KERAS:
        return model.keras
    compiled_model: Any = keras.Model(model.keras.inputs, model.keras.outputs)
    compiled_model.compile(optimizer=model.keras.optimizer, loss=model.keras.loss, **_COMPILED[mode])
    return compiled_model


def training_step(model: Model, mode: str = KERAS) -> Callable[..., Mapping[str, Any]]:
    """(*inputs, targets) -> {"loss": scalar}, updating the variables: one batch.

    With several steps per execution the data ends after one batch: the loop is the same, and leaves its others out.
    """
    keras_model = compile_for(model, mode)

    def step(*inputs: Any) -> Mapping[str, Any]:
        *features, targets = inputs
        logs = keras_model.train_on_batch(features[0] if len(features) == 1 else features, targets, return_dict=True)
        # Keras hands out a Python float, whatever the type that it was computed in.
        return {"loss": np.float32(logs["loss"])}

    def last_of_several(*inputs: Any) -> Mapping[str, Any]:
        # The loss is a mean over the batches since this.
        keras_model.reset_metrics()
        return _execute(keras_model, iter(_batch(inputs)))

    return last_of_several if mode == STEPS else step


def execution(model: Model, inputs: tuple[tf.Tensor, ...]) -> Callable[[], Mapping[str, Any]]:
    """STEPS_PER_EXECUTION steps on one batch, which a dataset repeats without end: one execution of `fit`."""
    keras_model, iterator = compile_for(model, STEPS), iter(_batch(inputs).repeat())
    return lambda: _execute(keras_model, iterator)


def _execute(keras_model: Any, iterator: Any) -> Mapping[str, Any]:
    """Do what `fit` does with every STEPS_PER_EXECUTION batches, without callbacks."""
    keras_model.make_train_function()
    return {"loss": keras_model.train_function(iterator)["loss"]}


def _batch(inputs: tuple[tf.Tensor, ...]) -> tf.data.Dataset:
    *features, targets = inputs
    return tf.data.Dataset.from_tensors((features[0] if len(features) == 1 else tuple(features), targets))
