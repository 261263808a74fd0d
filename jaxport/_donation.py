"""The training step compiled with its arguments donated, and what fills its parameters."""

from __future__ import annotations

from typing import Any

import jax

from jaxport import _binding
from jaxport._closures import exportable
from jaxport._modes import DONATED
from jaxport._session import Session
from workloads.protocol.framework import STEP, Donation


def donated_step(session: Session, function: Any) -> Donation:
    """The step as it was staged; arguments that it ignores are dropped by JAX."""
    with session.precision():
        arguments = session.arguments(STEP, session.twin.first_case)
        function = exportable(function, DONATED, arguments)
        lowered = function.lower(*arguments)
        exported_step = jax.export.export(function)(*arguments)
        sources, _ = _binding.parameter_sources(session, STEP, arguments)
        names = _binding.leaf_names(session, STEP, jax.eval_shape(function, *arguments))
    is_donated = [argument.donated for argument in jax.tree.leaves(lowered.args_info)]
    kept_indices = exported_step.module_kept_var_idx
    results = zip(names, exported_step.out_avals, strict=True)
    return Donation(
        optimized=lowered.compile().runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto(),
        parameters=tuple(sources[index].parameter(exported_step.in_avals[index]) for index in kept_indices),
        results=tuple(_binding.result(name, aval) for name, aval in results),
        donated=tuple(place for place, index in enumerate(kept_indices) if is_donated[index]),
    )
