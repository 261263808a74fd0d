"""Rules for operations that move blocks of elements: between space and depth or batch, and diagonals."""

from __future__ import annotations

from collections.abc import Mapping

from compare.porting.functions.rule_calls import Call, Rule
from compare.porting.functions.slices import index_text
from compare.porting.functions.written_values import tuple_text
from compare.porting.safe_expressions import UnwritableError


def _sequence(call: Call) -> str:
    axis, batch = int(call.attribute("seq_dim")), int(call.attribute("batch_dim", 0))
    return f"jaxport.indexing.reverse_sequence({call.array(0)}, {call.array(1)}, {axis}, {batch})"


def _depth_to_space(call: Call) -> str:
    block, x = _block(call), call.variable(0)
    split = f"{x}.reshape({x}.shape[0], {x}.shape[1], {x}.shape[2], {block}, {block}, -1)"
    sizes = f"{x}.shape[0], {x}.shape[1] * {block}, {x}.shape[2] * {block}, -1"
    return f"{split}.transpose(0, 1, 3, 2, 4, 5).reshape({sizes})"


def _space_to_depth(call: Call) -> str:
    block, x = _block(call), call.variable(0)
    rows, columns = f"{x}.shape[1] // {block}", f"{x}.shape[2] // {block}"
    split = f"{x}.reshape({x}.shape[0], {rows}, {block}, {columns}, {block}, {x}.shape[3])"
    return f"{split}.transpose(0, 1, 3, 2, 4, 5).reshape({x}.shape[0], {rows}, {columns}, -1)"


def _block(call: Call) -> int:
    if call.attribute("data_format", "NHWC") != "NHWC":
        raise UnwritableError("its channels are not last")
    return int(call.attribute("block_size"))


def _space_to_batch(call: Call) -> str:
    """Blocks go before the batch, the first of them slowest."""
    blocks, rank = call.integers(1), call.rank(0)
    pads = [[0, 0], *call.known_array(2).tolist(), *[[0, 0]] * (rank - len(blocks) - 1)]
    x, shape = call.variable(0), list(call.shape(0))
    sizes = [str(size) if size is not None else f"{x}.shape[{axis}]" for axis, size in enumerate(shape)]
    padded_text = x if not any(map(any, pads)) else f"jnp.pad({x}, {tuple_text([str(tuple(pad)) for pad in pads])})"
    split, front, outer, inner = [sizes[0]], [], [], []
    for axis, (block, size) in enumerate(zip(blocks, sizes[1:], strict=False)):
        total = sum(pads[axis + 1])
        split += [f"({size}{f' + {total}' if total else ''}) // {block}", str(block)]
        front.append(2 * axis + 2)
        outer.append(2 * axis + 1)
        inner.append(split[-2])
    rest = list(range(len(split), len(split) + rank - len(blocks) - 1))
    order = ", ".join(map(str, [*front, 0, *outer, *rest]))
    behind = sizes[len(blocks) + 1 :]
    block_sizes, whole = ", ".join([*split, *behind]), ", ".join(["-1", *inner, *behind])
    return f"{padded_text}.reshape({block_sizes}).transpose({order}).reshape({whole})"


def _batch_to_space(call: Call) -> str:
    blocks, rank = call.integers(1), call.rank(0)
    crops, x = call.known_array(2).tolist(), call.variable(0)
    sizes = [str(size) if size is not None else f"{x}.shape[{axis}]" for axis, size in enumerate(call.shape(0))]
    number = len(blocks)
    split = [*map(str, blocks), "-1", *sizes[1:]]
    order = [
        number,
        *(axis for index in range(number) for axis in (number + 1 + index, index)),
        *range(2 * number + 1, rank + number),
    ]
    products = [f"{size} * {block}" for size, block in zip(sizes[1:], blocks, strict=False)]
    result = (
        f"{x}.reshape({', '.join(split)}).transpose({', '.join(map(str, order))})"
        f".reshape({', '.join(['-1', *products, *sizes[number + 1 :]])})"
    )
    cut = [slice(None), *(slice(low, -high if high else None) for low, high in crops)]
    text = index_text(tuple(cut))
    return f"{result}[{text}]" if text else result


def _diagonal_of(call: Call) -> str:
    """Diag: a tensor of twice the rank, with these on its diagonal."""
    x, rank = call.variable(0), call.rank(0)
    return f"jnp.diag({x}.reshape(-1)).reshape({x}.shape + {x}.shape)" if rank > 1 else f"jnp.diag({x})"


def _diagonal_part_of(call: Call) -> str:
    x, half = call.variable(0), call.rank(0) // 2
    if half == 1:
        return f"jnp.diagonal({x})"
    sizes = ", ".join(f"{x}.shape[{axis}]" for axis in range(half))
    rows = " * ".join(f"{x}.shape[{axis}]" for axis in range(half))
    return f"jnp.diagonal({x}.reshape({rows}, {rows})).reshape({sizes})"


RULES: Mapping[str, Rule] = {
    "ReverseSequence": _sequence, "DepthToSpace": _depth_to_space, "SpaceToDepth": _space_to_depth,
    "SpaceToBatchND": _space_to_batch, "BatchToSpaceND": _batch_to_space, "Diag": _diagonal_of,
    "DiagPart": _diagonal_part_of,
}  # fmt: skip
