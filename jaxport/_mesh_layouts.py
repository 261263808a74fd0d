"""A training step whose weights and optimizer state are divided over a mesh: as FSDP, or tensor parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxport._binding import Source, parameter_sources
from jaxport._distributed_steps import Step
from jaxport._session import Session
from workloads.core import mesh_rules
from workloads.protocol.framework import STEP, Unsupported

FSDP, TENSOR = "fsdp", "tensor"
LAYOUTS = (FSDP, TENSOR)
"""The layouts, which `jaxport plan` also has, by the same rules."""


@dataclass(frozen=True)
class LaidOut:
    """A step, and how its arguments are divided: pytrees of shardings like the parameters and the state, a list."""

    step: Step
    parameters: Any
    state: Any
    inputs: Sequence[NamedSharding]


def laid_out(session: Session, mesh: Mesh, layout: str, specs: Sequence[PartitionSpec]) -> LaidOut:
    """One program for all devices, between whose divided arguments and results XLA finds what is exchanged.

    Raises:
      Unsupported: what is split does not divide.
    """
    model = session.model
    assert model.step is not None and model.init is not None
    parameters = session.parameters(session.twin.first_case)
    state = model.init(parameters)
    sources, _ = parameter_sources(session, STEP, (parameters, state))
    leaves = [*jax.tree.leaves(parameters), *jax.tree.leaves(state)]
    shapes = [tuple(leaf.shape) for leaf in leaves]
    shapes_by_name = {
        source.name: shape for source, shape in zip(sources, shapes, strict=False) if source.kind == "weight"
    }
    count, transformer = mesh.devices.size, mesh_rules.is_transformer(shapes_by_name)
    why = mesh_rules.why_undivided(shapes_by_name, count) if layout == TENSOR else ""
    if why:
        raise Unsupported(why)
    axes = [
        mesh_rules.largest_axis(shape, count)
        if layout == FSDP
        else _model_axis(source, shape, shapes_by_name, transformer)
        for source, shape in zip(sources, shapes, strict=False)
    ]
    shardings = [NamedSharding(mesh, _spec(mesh, axis)) for axis in axes]
    parameter_count = len(jax.tree.leaves(parameters))
    of_parameters = jax.tree.unflatten(jax.tree.structure(parameters), shardings[:parameter_count])
    of_state = jax.tree.unflatten(jax.tree.structure(state), shardings[parameter_count:])
    whole = NamedSharding(mesh, PartitionSpec())
    inputs = [NamedSharding(mesh, spec) if layout == FSDP else whole for spec in specs]
    step = jax.jit(
        model.step,
        in_shardings=(of_parameters, of_state, *inputs),
        out_shardings=(of_parameters, of_state, whole),
    )
    return LaidOut(step, of_parameters, of_state, inputs)


def _model_axis(
    source: Source, shape: Sequence[int], weights: dict[str, tuple[int, ...]], transformer: bool
) -> int | None:
    """The axis of a weight, or of a state that is as large as the weight it belongs to."""
    name = source.name if source.kind == "weight" else source.owner
    if len(weights.get(name, ())) != len(shape) or not shape:
        return None
    return mesh_rules.split_axis(name, shape, transformer)[0]


def _spec(mesh: Mesh, axis: int | None) -> PartitionSpec:
    (name,) = mesh.axis_names
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, name)
