"""A program without what only the framework that wrote it understands."""

from __future__ import annotations

from compare.hlo import bindings
from compare.hlo.bindings import ir


def drop_copies(module: ir.Module) -> bool:
    """Drop `mhlo.copy`, whose value is its operand, in place; whether there was one.

    TensorFlow writes it where a variable is updated. No portable artifact can hold it, and neither XLA's
    MLIR passes nor TensorFlow itself accept it.
    """
    copies = [operation for operation in bindings.operations(module) if operation.name == "mhlo.copy"]
    for copy in copies:
        copy.results[0].replace_all_uses_with(copy.operands[0])
        copy.erase()
    return bool(copies)


def portable(artifact: bytes) -> bytes:
    """The program in a form that every XLA reads; a program that has it already comes back unchanged.

    Raises:
      UnreadableProgram: the bytes are no StableHLO.
    """
    module = bindings.parse(artifact)
    return bindings.serialize(module) if drop_copies(module) else artifact
