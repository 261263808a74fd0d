"""The training step compiled with the variables that it overwrites, and what fills its parameters."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from tf_reference import _binding, _private
from tf_reference._session import Session
from workloads._framework import STEP, Donation


def donated_step(session: Session, tensors: Sequence[tf.Tensor]) -> Donation:
    """The step as `jit_compile=True` compiles it; TensorFlow asks XLA to overwrite every variable that it updates.

    Raises:
      Unsupported: the workload does not train.
    """
    function = tf.function(session.pass_function(STEP), jit_compile=True)
    lower = function.experimental_get_compiler_ir(*tensors)
    layout = _private.layout(lower(stage="hlo_serialized"))
    concrete = function.get_concrete_function(*tensors)
    parameters, _ = _binding.bound_parameters(session, concrete, layout)
    names = _binding.result_names(sorted(concrete.structured_outputs), parameters, layout)
    return Donation(
        optimized=lower(stage="optimized_hlo_serialized"),
        parameters=parameters,
        results=_binding.results(names, layout),
        donated=tuple(sorted(set(layout.aliases.values()))),
    )
