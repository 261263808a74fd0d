"""Reads the exchanges of a compiled program between devices: its collectives, their bytes and their devices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from compare import protobufs
from compare.hlo import compiled, read_module
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Graph, Node, Shape
from workloads.protocol.distributing import Collective

KINDS = (
    *("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all"),
    *("collective-permute", "collective-broadcast"),
)
"""Opcodes; each may be started and waited for apart, "all-reduce-start" and "all-reduce-done"."""

_SCATTERING = "all-reduce-scatter"
"""How a TPU's compiler calls the fusion that it makes a reduce-scatter of."""

Groups = tuple[tuple[int, ...], ...]

_BITS = re.compile(r"\d+")

# Of xla_data.proto: three ways in which an instruction lists its groups beside the plain one.
_CLASSES = protobufs.classes(
    "jaxport.replica_groups",
    {
        "Group": "1 replica_ids int64*",
        "DeviceList": "1 replica_groups Group*, 2 iota Iota",
        "Iota": "1 groups int64, 2 devices int64, 3 reshape int64*, 4 transpose int32*",
        "MeshList": "1 mesh Mesh, 2 axes AxisRef*",
        "Mesh": "1 axes MeshAxis*, 2 device_ids int64*, 3 order MeshOrder",
        "MeshOrder": "1 reshape int64*, 2 transpose int32*",
        "MeshAxis": "1 name string, 2 size int64",
        "AxisRef": "1 axis int64, 2 part AxisPart",
        "AxisPart": "1 before int64, 2 size int64",
    },
)


def collectives(module: bytes) -> tuple[Collective, ...]:
    """The collectives of a module, in its order; one inside a loop counts once.

    A TPU's compiler makes a reduce-scatter of an all-reduce inside a fusion, and writes one collective into several
    fusions that compute while it goes on: a channel counts once.

    Args:
      module: a serialized HloModuleProto, optimized: before, what is exchanged is not decided.

    Raises:
      UnreadableProgram: the bytes are no HLO.
    """
    return tuple(_collectives(module))


def _collectives(module: bytes) -> Iterator[Collective]:
    channels: set[int] = set()
    for graph in compiled.computations(read_module.read(module), set()):
        for node in graph:
            channel = node.attribute("channel_id")
            if not kind_of(node.opcode) or channel in channels:
                continue
            channels |= {channel} if channel else set()
            yield _collective(graph, node)


def kind_of(opcode: str) -> str:
    """The kind of collective that an instruction is or starts; empty where it is none."""
    kind = opcode.removesuffix("-start")
    return kind if kind in KINDS else ""


def _collective(graph: Graph, node: Node) -> Collective:
    shapes, kind = [graph.nodes[operand].shape for operand in node.operands], kind_of(node.opcode)
    if kind == "all-reduce" and graph.name.startswith(_SCATTERING):
        kind = "reduce-scatter"
    return Collective(kind, len(shapes), sum(map(array_bytes, shapes)), groups_of(node), node.source)


def whole_array(collective: Collective, devices: int) -> Collective:
    """The collective with the bytes of its whole array, and every device in a group.

    That array is what an all-reduce sums, what an all-gather gives, what a reduce-scatter takes, and what an all-to-all
    or a permute hands on.

    Raises:
      UnreadableProgram: its groups hold other devices than the program's.
    """
    if collective.kind == "collective-permute":
        return collective
    groups = collective.groups or (tuple(range(devices)),)
    if sorted(device for group in groups for device in group) != list(range(devices)):
        raise UnreadableProgram(
            f"expected replica groups of {devices} devices, found {str(groups)[:80]}: report this form of XLA"
        )
    parts = len(groups[0]) if collective.kind == "all-gather" else 1
    return replace(collective, bytes=collective.bytes * parts, groups=groups)


def array_bytes(shape: Shape) -> int:
    """Bytes of an array, its elements side by side."""
    if shape.dtype == "pred":
        return shape.elements
    bits = _BITS.search(shape.dtype)
    return math.ceil(shape.elements * int(bits[0]) / 8) if bits else 0


def groups_of(node: Node) -> Groups:
    """Numbers of the devices that exchange with each other; empty where all do."""
    plain = node.attribute("replica_groups")
    if plain:
        return tuple(dict(group).get("replica_ids", ()) for group in plain)
    if field := node.attribute("collective_device_list"):
        read = _CLASSES["DeviceList"].FromString(field)
        groups = tuple(tuple(group.replica_ids) for group in read.replica_groups)
        return groups or _of_iota(read.iota)
    if field := node.attribute("iota_collective_device_list"):
        return _of_iota(_CLASSES["Iota"].FromString(field))
    if field := node.attribute("mesh_axes_replica_group_list"):
        return _of_mesh(_CLASSES["MeshList"].FromString(field))
    pairs = node.attribute("source_target_pairs") or ()
    return tuple((dict(pair).get("source", 0), dict(pair).get("target", 0)) for pair in pairs)


def _of_iota(iota: Any) -> Groups:
    """Devices numbered through a shape, its axes in another order, cut into groups."""
    if not iota.groups:
        return ()
    return _rows(_arrange(iota.groups * iota.devices, iota).reshape(iota.groups, iota.devices))


def _arrange(count: int, order: Any) -> np.ndarray:
    numbers = np.arange(count).reshape(tuple(order.reshape) or -1)
    return numbers.transpose(tuple(order.transpose)) if order.transpose else numbers


def _of_mesh(mesh_list: Any) -> Groups:
    """Devices that differ in the named axes of a mesh alone; an axis may be named by a part of it."""
    sizes = [axis.size for axis in mesh_list.mesh.axes]
    ids = mesh_list.mesh.device_ids
    numbers = np.array(ids) if ids else _arrange(math.prod(sizes), mesh_list.mesh.order)
    cut: list[int] = []
    named_axes: list[int] = []
    for index, size in enumerate(sizes):
        refs = [ref for ref in mesh_list.axes if ref.axis == index]
        for ref in refs:
            before, own = (ref.part.before, ref.part.size) if ref.part.size else (1, size)
            named_axes.append(len(cut) + 1)
            cut += [before, own, size // (before * own)]
        cut += [] if refs else [size]
    others = [index for index in range(len(cut)) if index not in named_axes]
    return _rows(
        numbers.reshape(cut).transpose(*others, *named_axes).reshape(-1, math.prod(cut[index] for index in named_axes))
    )


def _rows(numbers: np.ndarray) -> Groups:
    return tuple(tuple(int(number) for number in row) for row in numbers)
