"""A program with shardings on its parameters and results, as `jax.jit` writes them for arrays that are laid out so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.hlo.bindings import ir
from compare.hlo.overwriting import main_function

Spec = Sequence[str]
"""By axis of an array, the axis of the mesh that it is split over; "" where it is whole."""

MESH = "mesh"
_SHARDING, _PARTITIONS = "sdy.sharding", "mhlo.num_partitions"


def annotate(module: ir.Module, axes: Mapping[str, int], parameters: Sequence[Spec], results: Sequence[Spec]) -> None:
    """Write shardings into a module, in place. What lies between is the partitioner's to choose.

    Args:
      axes: of the mesh by name, the outermost first: devices in order fill the innermost first.
    """
    count = 1
    for size in axes.values():
        count *= size
    with module.context, ir.Location.unknown():
        sizes = ", ".join(f'"{name}"={size}' for name, size in axes.items())
        mesh = ir.Operation.parse(f"sdy.mesh @{MESH} = <[{sizes}]>")
        ir.InsertionPoint.at_block_begin(module.body).insert(mesh)
        main = main_function(module)
        main.attributes["arg_attrs"] = _with_shardings(main, "arg_attrs", parameters)
        main.attributes["res_attrs"] = _with_shardings(main, "res_attrs", results)
        thirty_two = ir.IntegerType.get_signless(32)
        module.operation.attributes[_PARTITIONS] = ir.IntegerAttr.get(thirty_two, count)


def _with_shardings(main: ir.Operation, name: str, specs: Sequence[Spec]) -> ir.ArrayAttr:
    existing = [{} for _ in specs]
    if name in main.attributes:
        existing = [
            {attribute.name: attribute.attr for attribute in ir.DictAttr(own)}
            for own in ir.ArrayAttr(main.attributes[name])
        ]
    attribute_sets = [
        attributes | {_SHARDING: ir.Attribute.parse(_sharding_text(spec))}
        for attributes, spec in zip(existing, specs, strict=True)
    ]
    return ir.ArrayAttr.get([ir.DictAttr.get(attributes) for attributes in attribute_sets])


def _sharding_text(spec: Spec) -> str:
    axes = ", ".join('{"' + axis + '"}' if axis else "{}" for axis in spec)
    return f"#sdy.sharding<@{MESH}, [{axes}]>"
