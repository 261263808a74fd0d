"""The training step compiled with the variables that it overwrites, and what fills its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tf_reference import _binding
from tf_reference._lowering import lower
from tf_reference._session import Session
from workloads.protocol.framework import Donation


def donated_step(session: Session, function: Any, tensors: Sequence[tf.Tensor]) -> Donation:
    """The step staged with `jit_compile=True`; TensorFlow asks XLA to overwrite every variable that it updates.

    Args:
      session: the twin in float32.
      tensors: the inputs of one call.
    """
    of_step = lower(function, tensors)
    layout = of_step.layout
    parameters, _ = _binding.bound_parameters(session, of_step.concrete, layout)
    names = _binding.result_names(sorted(of_step.concrete.structured_outputs), parameters, layout)
    return Donation(
        optimized=of_step.stage(stage="optimized_hlo_serialized"),
        parameters=parameters,
        results=_binding.results(names, layout),
        donated=tuple(sorted(set(layout.aliases.values()))),
    )
