"""Programs whose cost is known: traffic of one shape, and matrix products. Any XLA compiles them.

Their inputs travel as one byte an element and are widened where they are used: a quarter of the bytes to send.
"""

from __future__ import annotations

import numpy as np

from compare.hlo import bindings
from workloads.protocol.framework import Parameter, Program, Result

DTYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}
"""Types of matrix products: XLA's name, and NumPy's."""

TF32 = "tf32"
"""Products of float32 whose factors a GPU may round to TensorFloat-32: those of "f32" keep all their bits."""

FACTOR = 3.0

ROW = 512
"""Elements that `read` adds up to one result: rows spread over threads in either XLA, and a thousandth is written.

One sum of everything stayed on one thread in TensorFlow; sums over columns were 20 times slower in JAX.
"""

# Its length divides no row: a sum of the wrong row shows.
_PATTERN = np.array([0, 1, 1, 0, 1, 0, 0], np.uint8)

_READ = """func.func @main(%a: {wide}) -> {narrow} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1]
    : ({wide}, tensor<f32>) -> {narrow}
  return %sums : {narrow}
}}"""

_COPY = """func.func @main(%a: {type}) -> {type} {{
  %negative = stablehlo.negate %a : {type}
  return %negative : {type}
}}"""

_TRIAD = """func.func @main(%a: {type}, %b: {type}) -> {type} {{
  %factor = stablehlo.constant dense<{factor}> : {type}
  %scaled = stablehlo.multiply %b, %factor : {type}
  %sum = stablehlo.add %a, %scaled : {type}
  return %sum : {type}
}}"""

_SUM = """func.func @main(%a: {type}, %b: {type}) -> {type} {{
  %sum = stablehlo.add %a, %b : {type}
  return %sum : {type}
}}"""

_PRODUCT = """func.func @main(%a: {type}, %b: {type}) -> {type} {{
  %product = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [{precision}, {precision}]
    : ({type}, {type}) -> {type}
  return %product : {type}
}}"""


def read(size_bytes: int) -> Program:
    """Sums of rows of an f32 array of about that size."""
    rows = max(1, size_bytes // (4 * ROW))
    text = _READ.format(wide=f"tensor<{rows}x{ROW}xf32>", narrow=f"tensor<{rows}xf32>")
    return _program(text, ("a",), (rows, ROW), (rows,))


def copy(size_bytes: int) -> Program:
    """-a, of an array of about half that size."""
    shape = (max(1, size_bytes // (4 * 2)),)
    return _program(_COPY.format(type=f"tensor<{shape[0]}xf32>"), ("a",), shape, shape)


def triad(size_bytes: int) -> Program:
    """`a + FACTOR * b`, of arrays of about a third of that size each; the size is in bytes."""
    shape = (max(1, size_bytes // (4 * 3)),)
    text = _TRIAD.format(type=f"tensor<{shape[0]}xf32>", factor=FACTOR)
    return _program(text, ("a", "b"), shape, shape)


def sum_of_two(elements: int) -> Program:
    """The sum of two f32 arrays of so many elements each."""
    shape = (elements,)
    return _program(_SUM.format(type=f"tensor<{elements}xf32>"), ("a", "b"), shape, shape)


def product(side: int, dtype: str) -> Program:
    """The product of two square matrices, `dtype[side, side]` as XLA writes it: 2 side**3 operations.

    The elements are 0 and 1, of which 2 of 7 are 1: sums below 2048 are whole numbers that f16 holds exactly.
    """
    shape = (side, side)
    narrow = dtype == TF32
    type_name = "f32" if narrow else dtype
    type_ = f"tensor<{side}x{side}x{type_name}>"
    text = _PRODUCT.format(type=type_, precision="DEFAULT" if narrow else "HIGHEST")
    return _program(text, ("a", "b"), shape, shape, DTYPES[type_name])


def _program(
    text: str, names: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...], dtype: str = "float32"
) -> Program:
    count = int(np.prod(shape))
    values = np.tile(_PATTERN, count // len(_PATTERN) + 1)[:count].reshape(shape)
    return Program(
        artifact=bindings.artifact(text),
        parameters=tuple(Parameter("state", name, shape, dtype) for name in names),
        results=(Result("result", result, dtype),),
        states={name: np.roll(values, shift) for shift, name in enumerate(names)},
    )
