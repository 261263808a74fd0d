"""Keras' own train_step as the step of a twin: what `fit` traces, as a program that can be lowered and aligned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def keras_train_step(model: Any) -> Callable[..., Any]:
    """(*inputs, targets) -> loss, updating the variables: Keras' own `train_step`, as a step that can be traced.

    What it reads and updates beside weights and the optimizer's state are `model.metrics_variables`.
    """

    def step(*inputs: Any) -> Any:
        *features, targets = inputs
        # The metric is a mean over the batches since this.
        model.reset_metrics()
        return model.train_step((features[0] if len(features) == 1 else features, targets))["loss"]

    return step
