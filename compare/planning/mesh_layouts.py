"""Layouts of a training step over devices: which axis of which array is split over which axis of a mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from compare.errors import RequestError
from compare.sides.replies import Sharding
from workloads.core import mesh_rules
from workloads.protocol.framework import WEIGHTS, Parameter, Program

LayoutName = Literal["data", "fsdp", "tensor", "data x tensor"]
LAYOUTS: tuple[LayoutName, ...] = ("data", "fsdp", "tensor", "data x tensor")
DATA, MODEL = "data", "model"

MEGATRON = (
    "attention is split by heads, the feed-forward layer by hidden features (Shoeybi et al. 2019); the rest is whole"
)
GENERIC = "no weight has the name of a Transformer's: every weight of two axes and more is split along its last one"


class Unfit(RequestError):
    """A layout that does not divide what it splits."""


@dataclass(frozen=True)
class Layout:
    """One layout on so many devices.

    Attributes:
      name: one of `LAYOUTS`.
      axes: of the mesh by name and size, the outermost first.
      note: what rule splits the weights, where there are several.
    """

    name: LayoutName
    axes: Mapping[str, int]
    note: str = ""


def layout(name: LayoutName, devices: int, island: int, program: Program) -> Layout:
    """A layout on a cluster; model parallel parts stay within an island of the fast link where it is mixed.

    Raises:
      Unfit: heads or features do not divide.
    """
    if name in ("data", "fsdp"):
        return Layout(name, {DATA: devices})
    note = MEGATRON if mesh_rules.is_transformer(_weights(program)) else GENERIC
    if name == "tensor":
        mesh_layout = Layout(name, {MODEL: devices}, note)
        _check(mesh_layout, program)
        return mesh_layout
    sizes = [size for size in range(min(island, devices // 2), 1, -1) if not devices % size]
    for size in sizes:
        mesh_layout = Layout(name, {DATA: devices // size, MODEL: size}, note)
        try:
            _check(mesh_layout, program)
        except Unfit:
            continue
        return mesh_layout
    raise Unfit(
        f"expected a divisor of {devices} that divides what is split, found none: change the model or the devices"
    )


def sharding(mesh_layout: Layout, program: Program, batch_axes: Mapping[str, int | None]) -> Sharding:
    """How every parameter and result of a training step is split.

    Args:
      batch_axes: by input, which of its axes are examples; None where none is.

    Raises:
      Unfit: the batch does not divide.
    """
    of_weights = {
        parameter.name: _of_weight(mesh_layout, parameter)
        for parameter in program.parameters
        if parameter.kind == "weight"
    }
    specs = [_of(mesh_layout, parameter, of_weights, batch_axes) for parameter in program.parameters]
    by_result = {
        (WEIGHTS if parameter.kind == "weight" else "state/") + parameter.name: spec
        for parameter, spec in zip(program.parameters, specs, strict=True)
        if parameter.kind in ("weight", "state")
    }
    results = [by_result.get(result.name, ("",) * len(result.shape)) for result in program.results]
    return Sharding(dict(mesh_layout.axes), tuple(map(tuple, specs)), tuple(map(tuple, results)))


def _of(
    mesh_layout: Layout,
    parameter: Parameter,
    of_weights: Mapping[str, Sequence[str]],
    batch_axes: Mapping[str, int | None],
) -> Sequence[str]:
    if parameter.kind == "weight":
        return of_weights[parameter.name]
    if parameter.kind == "state":
        owner = of_weights.get(parameter.owner, ())
        if len(owner) == len(parameter.shape):
            return owner
        return (
            _largest_axis(parameter.shape, mesh_layout.axes[DATA]) if mesh_layout.name == "fsdp" else _whole(parameter)
        )
    return _of_input(mesh_layout, parameter, batch_axes.get(parameter.name))


def _of_input(mesh_layout: Layout, parameter: Parameter, axis: int | None) -> Sequence[str]:
    if axis is None or DATA not in mesh_layout.axes:
        return _whole(parameter)
    size, count = parameter.shape[axis], mesh_layout.axes[DATA]
    if size % count:
        raise Unfit(f"expected a batch that {count} divides, found {size}: choose --batch")
    return _split(parameter.shape, axis, DATA)


def _of_weight(mesh_layout: Layout, parameter: Parameter) -> Sequence[str]:
    if mesh_layout.name == "fsdp":
        return _largest_axis(parameter.shape, mesh_layout.axes[DATA])
    if MODEL not in mesh_layout.axes:
        return _whole(parameter)
    axis, _ = mesh_rules.split_axis(parameter.name, parameter.shape, mesh_layout.note == MEGATRON)
    return _whole(parameter) if axis is None else _split(parameter.shape, axis, MODEL)


def _check(mesh_layout: Layout, program: Program) -> None:
    why = mesh_rules.why_undivided(_weights(program), mesh_layout.axes[MODEL])
    if why:
        raise Unfit(why)


def _weights(program: Program) -> dict[str, Sequence[int]]:
    return {parameter.name: parameter.shape for parameter in program.parameters if parameter.kind == "weight"}


def _largest_axis(shape: Sequence[int], count: int) -> Sequence[str]:
    """The largest axis that divides; whole where none does."""
    axis = mesh_rules.largest_axis(shape, count)
    return ("",) * len(shape) if axis is None else _split(shape, axis, DATA)


def _split(shape: Sequence[int], axis: int, over: str) -> Sequence[str]:
    return tuple(over if index == axis else "" for index in range(len(shape)))


def _whole(parameter: Parameter) -> Sequence[str]:
    return ("",) * len(parameter.shape)
