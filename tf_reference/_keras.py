"""The training step as Keras runs it: what `model.fit` does with each batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tf_reference._model import Model
from workloads._target import TargetError


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


def training_step(model: Model) -> Callable[..., Mapping[str, Any]]:
    """(*inputs, targets) -> {"loss": scalar}, updating the variables: one `train_on_batch`."""

    def step(*inputs: Any) -> Mapping[str, Any]:
        *features, targets = inputs
        given = features[0] if len(features) == 1 else features
        logs = model.keras.train_on_batch(given, targets, return_dict=True)
        # Keras hands out a Python float, whatever the type that it was computed in.
        return {"loss": np.float32(logs["loss"])}

    return step
