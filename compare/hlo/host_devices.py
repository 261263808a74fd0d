"""A program that is partitioned over several CPU devices of this process, and run on whole arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compare.hlo import bindings
from compare.hlo.bindings import UnreadableProgram, ir
from compare.hlo.sharded import Spec


def run_partitioned(
    bytecode: bytes,
    annotate: Callable[[ir.Module], None],
    axes: Mapping[str, int],
    parameters: Sequence[Spec],
    results: Sequence[Spec],
    arguments: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """One call on as many CPU devices as the mesh has; every shard of a result is looked at.

    Only a worker may, whose XLA_FLAGS made the devices before JAX was imported.

    Args:
      axes: of the mesh, the outermost first.

    Raises:
      UnreadableProgram: XLA refuses the program, there are too few devices, or copies of one part differ.
    """
    jax = importlib.import_module("jax")
    count = int(np.prod(list(axes.values())))
    devices = jax.local_devices(backend="cpu")[:count]
    if len(devices) < count:
        raise UnreadableProgram(f"expected {count} CPU devices, found {len(devices)}: set XLA_FLAGS before JAX starts")
    mesh = jax.sharding.Mesh(np.array(devices).reshape(tuple(axes.values())), tuple(axes))
    with jax.enable_x64(True):
        device_arrays = [
            jax.device_put(array, _sharding(mesh, spec)) for array, spec in zip(arguments, parameters, strict=True)
        ]
        program = bindings.load_partitioned(bytecode, annotate, devices)
        shards = program.execute_sharded(device_arrays).disassemble_into_single_device_arrays()
        return [_whole(mesh, spec, parts) for spec, parts in zip(results, shards, strict=True)]


def _sharding(mesh: Any, spec: Spec) -> Any:
    jax = importlib.import_module("jax")
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*(axis or None for axis in spec)))


def _whole(mesh: Any, spec: Spec, shards: Sequence[Any]) -> np.ndarray:
    """The array that the shards are parts of. Devices that hold the same part must hold the same values."""
    first = np.asarray(shards[0])
    extents = dict(zip(mesh.axis_names, mesh.devices.shape, strict=True))
    shape = tuple(size * (extents[axis] if axis else 1) for size, axis in zip(first.shape, spec, strict=True))
    whole = np.empty(shape, first.dtype)
    first_parts: dict[str, np.ndarray] = {}
    places = _sharding(mesh, spec).devices_indices_map(shape)
    for device, shard in zip(mesh.devices.flat, shards, strict=True):
        part, where = np.asarray(shard), places[device]
        before = first_parts.setdefault(str(where), part)
        if before.tobytes() != part.tobytes():
            raise UnreadableProgram(f"expected equal copies of a result, found others on device {device.id}")
        whole[where] = part
    return whole
