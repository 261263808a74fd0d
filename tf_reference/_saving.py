"""A program of either framework as a SavedModel: its inputs are a signature's, its weights are variables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from workloads.protocol.framework import Program, Twin

SIGNATURE = "serving_default"


def save(program: Program, function: Callable[..., Any], twin: Twin, folder: Path) -> None:
    """Write it; TensorFlow runs it without Python, JAX or the code that it was made of.

    Args:
      program: names and shapes of its parameters and results.
      function: takes all parameters in order.
    """
    module = _Held(program, function, twin)
    tf.saved_model.save(module, str(folder), signatures={SIGNATURE: module.call})


class _Held(tf.Module):
    """The program with its weights."""

    def __init__(self, program: Program, function: Callable[..., Any], twin: Twin) -> None:
        super().__init__()
        self.held = {
            str(place): tf.Variable(twin.argument(parameter, twin.first_case, program.states), trainable=False)
            for place, parameter in enumerate(program.parameters)
            if parameter.kind != "input"
        }
        inputs = {place: parameter for place, parameter in enumerate(program.parameters) if parameter.kind == "input"}
        specs = [tf.TensorSpec(parameter.shape, parameter.dtype, parameter.name) for parameter in inputs.values()]

        def call(*arguments: tf.Tensor) -> dict[str, tf.Tensor]:
            values = dict(zip(inputs, arguments, strict=True)) | {
                int(place): value for place, value in self.held.items()
            }
            results = function(*(values[place] for place in range(len(values))))
            return {output.name: result for output, result in zip(program.results, results, strict=True)}

        self.call = tf.function(call, input_signature=specs, autograph=False)
