"""A program whose results may overwrite its parameters, as the program of a training step does on a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compare.hlo import bindings
from compare.hlo.bindings import ir
from compare.hlo.portable import make_portable

ALIASED, DONATED = "tf.aliasing_output", "jax.buffer_donor"
"""Attributes of a parameter: the result that overwrites it, and whether any may. XLA reads both."""


def main_function(module: ir.Module) -> ir.Operation:
    """The function that is the program."""
    (main,) = [
        operation
        for operation in bindings.operations(module)
        if operation.name == "func.func" and ir.StringAttr(operation.attributes["sym_name"]).value == "main"
    ]
    return main


def overwriting(artifact: bytes, results: Mapping[int, int]) -> bytes:
    """The program in a form that every XLA reads, with parameters that results overwrite.

    One that says so of any parameter already comes back as it is.

    Args:
      results: by the position of a parameter, that of the result; both have one shape and dtype.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)
    make_portable(module)
    with module.context:
        main = main_function(module)
        count = len(main.regions[0].blocks[0].arguments)
        attributes = _of_parameters(main, count)
        if not any({ALIASED, DONATED} & own.keys() for own in attributes):
            for parameter, result in results.items():
                attributes[parameter][ALIASED] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), result)
            main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(own) for own in attributes])
    return bindings.serialize(module)


def _of_parameters(main: ir.Operation, count: int) -> list[dict[str, Any]]:
    if "arg_attrs" not in main.attributes:
        return [{} for _ in range(count)]
    return [
        {attribute.name: attribute.attr for attribute in ir.DictAttr(own)}
        for own in ir.ArrayAttr(main.attributes["arg_attrs"])
    ]
