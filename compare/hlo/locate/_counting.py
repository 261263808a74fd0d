"""How many elements an operation takes together, or spreads one over: what a mean divides by."""

from __future__ import annotations

import itertools
import math

from compare.hlo.locate._canonical import Computation


def counts(program: Computation, key: int) -> set[float]:
    """Numbers of elements that it adds up, over some of its axes or all."""
    node = program.node(key)
    sizes: list[int] = []
    if node.opcode == "reduce":
        sizes = [program.node(node.operands[0]).shape.dimensions[axis] for axis in node.attribute("dimensions", ())]
    elif node.opcode == "reduce-window":
        sizes = [
            int(dict(dimension).get("size", 1))
            for dimension in dict(node.attribute("window", ())).get("dimensions", ())
        ]
    elif node.opcode == "dot":
        sizes = _contracted_sizes(program, key)
    elif node.opcode == "broadcast" and key not in program.constants:
        # The gradient of a sum hands one number to all elements.
        before = max(program.node(node.operands[0]).shape.elements, 1)
        sizes = [node.shape.elements // before]
    return {
        float(math.prod(some)) for many in range(1, len(sizes) + 1) for some in itertools.combinations(sizes, many)
    }  # fmt: skip


def depths(program: Computation, key: int) -> set[float]:
    """Roots of how many numbers a product adds up for every element."""
    return {math.sqrt(math.prod(_contracted_sizes(program, key)))} if program.node(key).opcode == "dot" else set()


def _contracted_sizes(program: Computation, key: int) -> list[int]:
    node = program.node(key)
    axes = dict(node.attribute("dot_dimension_numbers", ())).get("lhs_contracting_dimensions", ())
    return [program.node(node.operands[0]).shape.dimensions[axis] for axis in axes]


def transform_lengths(program: Computation, key: int) -> set[float]:
    """The lengths of a Fourier transform, multiplied, and their root."""
    node = program.node(key)
    if node.opcode != "fft":
        return set()
    length = float(math.prod(node.attribute("fft_length", ())))
    return {length, math.sqrt(length)}


def squares(program: Computation, key: int) -> set[float]:
    """Numbers of elements whose squares it adds up."""
    node = program.node(key)
    if node.opcode != "reduce":
        return set()
    addend = program.node(program.original_of(node.operands[0]))
    is_square = addend.opcode == "multiply" and len({program.original_of(operand) for operand in addend.operands}) == 1
    return counts(program, key) if is_square else set()
