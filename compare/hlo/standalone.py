"""One program on its own: what it takes and gives, and what StableHLO's reference interpreter makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import bindings, read_module
from compare.hlo.artifacts import hlo_of_file
from compare.hlo.bindings import BYTECODE, UnreadableProgram, ir
from compare.hlo.executing import check_bytecode
from compare.hlo.graph import Graph, Shape
from compare.hlo.inline import inline
from compare.hlo.overwriting import main_function
from compare.hlo.plain import without_bitcasts, without_shorthands
from compare.hlo.portable import make_portable, portable

INTERPRETED_OPERATIONS = 20_000_000
"""Scalar operations that the interpreter takes some ten seconds for: it runs element by element."""

_STANDARD = ("stablehlo.", "func.")
_DTYPES = {
    "pred": "bool", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "c64": "complex64",
}  # fmt: skip
# The interpreter's own values of these cannot be read: complex ones end the process.
_NOT_INTERPRETED = frozenset({"bf16", "c64", "c128"})


@dataclass(frozen=True)
class Signature:
    """Parameters and results of a program as (shape, NumPy's name of the dtype)."""

    parameters: tuple[tuple[tuple[int, ...], str], ...]
    results: tuple[tuple[tuple[int, ...], str], ...]


def artifact_of_file(data: bytes) -> bytes:
    """The portable StableHLO artifact of a program in a file: StableHLO bytecode, an HLO proto, or HLO text.

    Of an optimized module the fusions are taken apart: what is compiled again is what they compute.

    Raises:
      UnreadableProgram: none of them, text that leaves constants out, or a module that calls a library.
    """
    if data.startswith(BYTECODE):
        return portable(check_bytecode(data))
    proto, _ = inline(hlo_of_file(data))
    module = bindings.parse(bindings.bytecode_of_hlo(proto.SerializeToString()))
    make_portable(module)
    without_bitcasts(module)
    return _serialize(module)


def _serialize(module: ir.Module) -> bytes:
    try:
        return bindings.serialize(module)
    except ValueError as error:
        names = sorted(
            {operation.name for operation in bindings.operations(module) if not operation.name.startswith(_STANDARD)}
        )
        raise UnreadableProgram(
            f"expected HLO that StableHLO can express, found {', '.join(names) or error}: replay the original program"
        ) from error


def signature(artifact: bytes) -> Signature:
    """The parameters and results of the program.

    Raises:
      UnreadableProgram: the bytes are no StableHLO, or a parameter or result is no array that can be stored.
    """
    graph = read_module.read(bindings.hlo_of(bindings.parse(artifact)))
    parameters, results = (
        tuple(_array(graph.nodes[key].shape) for key in keys) for keys in (graph.parameters, graph.results)
    )
    return Signature(parameters, results)


def interpret(artifact: bytes, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The program's results by StableHLO's reference interpreter, which shares no code with XLA.

    An operation that the interpreter does not know may end the process: call it in one of its own.

    Raises:
      UnreadableProgram: it is too large, of a dtype whose values cannot be read back, or the interpreter
        says that it cannot run it.
    """
    module = bindings.parse(artifact)
    _check_interpretable(bindings.hlo_of(module))
    without_shorthands(module)
    with module.context as context:
        messages: list[str] = []
        context.attach_diagnostic_handler(lambda diagnostic: not messages.append(diagnostic.message))
        # Without this type, NumPy's unsigned integers would become signless ones.
        arguments = [
            ir.DenseElementsAttr.get(np.asarray(array, order="C").data, type=kind)
            for array, kind in zip(arrays, _parameter_types(module), strict=True)
        ]
        try:
            values = bindings.stablehlo("eval_module")(module, arguments)
        except ValueError as error:
            reason = messages[0] if messages else str(error)
            raise UnreadableProgram(f"expected a program that the interpreter runs, found {reason}") from error
        return [np.array(value) for value in values]


def _parameter_types(module: ir.Module) -> list[ir.Type]:
    return [argument.type for argument in main_function(module).regions[0].blocks[0].arguments]


def _check_interpretable(hlo: bytes) -> None:
    graph = read_module.read(hlo)
    dtypes = {node.shape.dtype for node in graph.walk()} & _NOT_INTERPRETED
    if dtypes:
        raise UnreadableProgram(f"expected dtypes that the interpreter hands back, found {', '.join(sorted(dtypes))}")
    operations = max(_elements(graph), bindings.hlo_cost(hlo).get("flops", 0))
    if operations > INTERPRETED_OPERATIONS:
        raise UnreadableProgram(
            f"expected up to {INTERPRETED_OPERATIONS:.0e} operations for the interpreter, found {operations:.0e}"
        )


def _elements(graph: Graph) -> int:
    return sum(node.shape.elements for node in graph.walk() if node.shape.is_array)


def _array(shape: Shape) -> tuple[tuple[int, ...], str]:
    if shape.dtype not in _DTYPES:
        raise UnreadableProgram(f"expected arrays as parameters and results, found {shape}")
    return shape.dimensions, _DTYPES[shape.dtype]
