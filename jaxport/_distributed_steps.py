"""A training step on several devices in JAX: one program, by hand, or one part of the batch after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxport._model import Model, Parts
from workloads.protocol.distributing import ALONE, SUMMED
from workloads.protocol.framework import Unsupported

AXIS = "data"

Step = Callable[..., tuple[Any, Any, Any]]


def parts_of(model: Model) -> Parts:
    """The step in two parts.

    Raises:
      Unsupported: the twin hands over none.
    """
    if model.parts is None:
        raise Unsupported("expected Model.parts, found none: hand over gradients and update apart")
    return model.parts


def spmd(model: Model, mesh: Mesh, specs: Sequence[PartitionSpec]) -> Step:
    """One program for all devices, in which XLA inserts the exchanges."""
    whole = NamedSharding(mesh, PartitionSpec())
    input_shardings = (whole, whole, *(NamedSharding(mesh, spec) for spec in specs))
    assert model.step is not None
    return jax.jit(model.step, in_shardings=input_shardings, out_shardings=(whole, whole, whole))


def by_hand(parts: Parts, mesh: Mesh, specs: Sequence[PartitionSpec]) -> Step:
    """Each device computes on its part of the batch, and the code states what is averaged.

    JAX's own check that results are the same everywhere is off, as one must turn it off where a gradient is written by
    hand: jaxport looks at every copy.
    """

    def step(parameters: Any, state: Any, *inputs: Any) -> tuple[Any, Any, Any]:
        local = parts.gradients(parameters, state, *inputs)
        gradients, loss, statistics = jax.lax.pmean(local, AXIS)
        parameters, state = parts.update(parameters, state, gradients, statistics)
        return parameters, state, loss

    whole = PartitionSpec()
    sharded_step = jax.shard_map(
        step, mesh=mesh, in_specs=(whole, whole, *specs), out_specs=(whole, whole, whole), check_vma=False
    )
    return jax.jit(sharded_step)


def handed_over(model: Model, mesh: Mesh) -> Step:
    """The twin's own distributed step.

    Raises:
      Unsupported: it hands over none.
    """
    if model.sharded is None:
        raise Unsupported("expected Model.sharded, found none: hand over a distributed step")
    step = model.sharded(mesh)
    return step if hasattr(step, "lower") else jax.jit(step)


def in_turn(parts: Parts, strategy: str) -> Callable[..., tuple[Any, Any, Any]]:
    """The replicas' computation on one device: right, or with a mistake that judges must detect."""
    gradients, update = jax.jit(parts.gradients), jax.jit(parts.update)

    def step(divide: Any, parameters: Any, state: Any, *inputs: Any) -> tuple[Any, Any, Any]:
        by_part = [gradients(parameters, state, *part) for part in divide(inputs)]
        mean, loss, statistics = jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]) / len(leaves), *by_part)
        if strategy == SUMMED:
            mean = jax.tree.map(lambda leaf: leaf * len(by_part), mean)
        if strategy == ALONE:
            mean, _, statistics = by_part[0]
        return (*update(parameters, state, mean, statistics), loss)

    return step


def spec_of(axis: int | None) -> PartitionSpec:
    """The partition of an input that is divided along an axis; None if every device has all of it."""
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, AXIS)
