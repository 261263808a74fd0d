"""The same of matrix products, reductions, indices, loops and branches."""

from __future__ import annotations

from collections.abc import Mapping

from hlo_rule_examples import ADD, INDEX, MAX, Example, lines

DOT = "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
BATCHES = "dot(a, b), lhs_contracting_dims={2}, rhs_contracting_dims={2}"
CONV = "window={size=2x2}, dim_labels=b01f_01io->"

PRODUCTS: Mapping[str, Example] = {
    "transposes in products": Example(
        lines(
            "x = f32[4,3] parameter(0)",
            "b = f32[4,5] parameter(1)",
            "a = f32[3,4] transpose(x), dimensions={1,0}",
            f"r = f32[3,5] {DOT}",
        ),
        lines("a = f32[3,4] parameter(0)", "b = f32[4,5] parameter(1)", f"r = f32[3,5] {DOT}"),
        whole=True,
        more=(
            # What is free on the left comes out in another order.
            lines(
                "x = f32[3,4,2] parameter(0)",
                "b = f32[4,5] parameter(1)",
                "a = f32[2,4,3] transpose(x), dimensions={2,1,0}",
                "r = f32[2,3,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            ),
        ),
    ),
    "batches sorted": Example(
        lines(
            "a = f32[2,3,4] parameter(0)",
            "b = f32[3,2,4] parameter(1)",
            f"r = f32[3,2] {BATCHES}, lhs_batch_dims={{1,0}}, rhs_batch_dims={{0,1}}",
        ),
        lines(
            "a = f32[2,3,4] parameter(0)",
            "b = f32[3,2,4] parameter(1)",
            f"r = f32[2,3] {BATCHES}, lhs_batch_dims={{0,1}}, rhs_batch_dims={{1,0}}",
        ),
        whole=True,
    ),
    "products without size 1": Example(
        lines("a = f32[1,4] parameter(0)", "b = f32[4,5] parameter(1)", f"r = f32[1,5] {DOT}"),
        lines("a = f32[3,1] parameter(0)", "b = f32[1,5] parameter(1)", f"r = f32[3,5] {DOT}"),
        whole=True,
    ),
    "rows of products": Example(
        lines(
            "x = f32[2,3,4] parameter(0)", "b = f32[4,5] parameter(1)", "a = f32[6,4] reshape(x)", f"r = f32[6,5] {DOT}"
        ),
        lines(
            "x = f32[3,2,4] parameter(0)", "b = f32[8,5] parameter(1)", "a = f32[3,8] reshape(x)", f"r = f32[3,5] {DOT}"
        ),
        whole=True,
    ),
    "transposes in convolutions": Example(
        lines(
            "i = f32[1,2,4,4] parameter(0)",
            "k = f32[2,2,2,3] parameter(1)",
            "x = f32[1,4,4,2] transpose(i), dimensions={0,2,3,1}",
            f"r = f32[1,3,3,3] convolution(x, k), {CONV}b01f",
        ),
        lines(
            "x = f32[1,4,4,2] parameter(0)",
            "k = f32[2,2,2,3] parameter(1)",
            f"r = f32[1,3,3,3] convolution(x, k), {CONV}b01f",
        ),
        whole=True,
        more=(
            lines(
                "x = f32[1,4,4,2] parameter(0)",
                "w = f32[3,2,2,2] parameter(1)",
                "k = f32[2,2,2,3] transpose(w), dimensions={2,3,1,0}",
                f"r = f32[1,3,3,3] convolution(x, k), {CONV}b01f",
            ),
        ),
    ),
    "results of convolutions": Example(
        lines(
            "x = f32[1,4,4,2] parameter(0)",
            "k = f32[2,2,2,3] parameter(1)",
            f"r = f32[1,3,3,3] convolution(x, k), {CONV}bf01",
        ),
        lines(
            "x = f32[1,4,4,2] parameter(0)",
            "k = f32[2,2,2,3] parameter(1)",
            f"r = f32[1,3,3,3] convolution(x, k), {CONV}b01f",
        ),
        whole=True,
    ),
}

ZERO = "z = f32[] constant(0)"
REDUCTIONS: Mapping[str, Example] = {
    "reduced dimensions sorted": Example(
        lines("x = f32[2,3,4] parameter(0)", ZERO, "r = f32[3] reduce(x, z), dimensions={2,0}, to_apply=add"),
        lines("x = f32[2,3,4] parameter(0)", ZERO, "r = f32[3] reduce(x, z), dimensions={0,2}, to_apply=add"),
        computations=ADD,
        whole=True,
    ),
    "reductions of one": Example(
        lines("x = f32[2,1] parameter(0)", ZERO, "r = f32[2] reduce(x, z), dimensions={1}, to_apply=add"),
        lines("x = f32[1,2] parameter(0)", ZERO, "r = f32[1] reduce(x, z), dimensions={1}, to_apply=add"),
        computations=ADD,
    ),
    "reductions without size 1": Example(
        lines("x = f32[3,1,4] parameter(0)", ZERO, "r = f32[3,1] reduce(x, z), dimensions={2}, to_apply=max"),
        lines("x = f32[3,4] parameter(0)", ZERO, "r = f32[3] reduce(x, z), dimensions={1}, to_apply=max"),
        computations=MAX,
    ),
    "windows of one": Example(
        lines("x = f32[3,4] parameter(0)", ZERO, "r = f32[3,4] reduce-window(x, z), window={size=1x1}, to_apply=max"),
        lines(
            "x = f32[3,4] parameter(0)",
            ZERO,
            "r = f32[2,4] reduce-window(x, z), window={size=1x1 stride=2x1}, to_apply=max",
        ),
        computations=MAX,
    ),
    "transposes in reductions": Example(
        lines(
            "x = f32[2,3,4] parameter(0)",
            ZERO,
            "y = f32[4,3,2] transpose(x), dimensions={2,1,0}",
            "r = f32[4,2] reduce(y, z), dimensions={1}, to_apply=add",
        ),
        # Two dimensions that change places would be added up in another order.
        lines(
            "x = f32[2,3,4] parameter(0)",
            ZERO,
            "y = f32[4,3,2] transpose(x), dimensions={2,1,0}",
            "r = f32[4] reduce(y, z), dimensions={1,2}, to_apply=add",
        ),
        computations=ADD,
        whole=True,
    ),
}

TABLE = "x = f32[5,3] parameter(0)"
CORNER = "slice_sizes={2,1}, offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1,0}"
ROWS = "slice_sizes={1,3}, offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}"
INDEXING: Mapping[str, Example] = {
    "indices as they were": Example(
        lines(TABLE, INDEX, "j = s64[4] convert(i)", f"r = f32[4,3] gather(x, j), {ROWS}, index_vector_dim=1"),
        lines(
            TABLE,
            "i = u32[4] parameter(1)",
            "j = s64[4] convert(i)",
            f"r = f32[4,3] gather(x, j), {ROWS}, index_vector_dim=1",
        ),
    ),
    "index vectors of one": Example(
        lines(TABLE, "i = s32[4,1] parameter(1)", f"r = f32[4,3] gather(x, i), {ROWS}, index_vector_dim=1"),
        lines(TABLE, INDEX, f"r = f32[4,3] gather(x, i), {ROWS}, index_vector_dim=1"),
        more=(lines(TABLE, "i = s32[1,4] parameter(1)", f"r = f32[4,3] gather(x, i), {ROWS}, index_vector_dim=0"),),
    ),
    "one index": Example(
        lines(TABLE, "i = s32[1] parameter(1)", f"r = f32[1,3] gather(x, i), {ROWS}, index_vector_dim=1"),
        lines(TABLE, INDEX, f"r = f32[4,3] gather(x, i), {ROWS}, index_vector_dim=1"),
        more=(
            lines(
                TABLE,
                "i = s32[2] parameter(1)",
                f"r = f32[2] gather(x, i), {CORNER}, index_vector_dim=0",
            ),
        ),
    ),
    "clamps dropped": Example(
        lines(
            TABLE,
            INDEX,
            "a = s32[] constant(0)",
            "lo = s32[4] broadcast(a), dimensions={}",
            "b = s32[] constant(4)",
            "hi = s32[4] broadcast(b), dimensions={}",
            "j = s32[4] clamp(lo, i, hi)",
            f"r = f32[4,3] gather(x, j), {ROWS}, index_vector_dim=1",
        ),
        lines(
            TABLE,
            INDEX,
            "a = s32[] constant(0)",
            "lo = s32[4] broadcast(a), dimensions={}",
            "b = s32[] constant(3)",
            "hi = s32[4] broadcast(b), dimensions={}",
            "j = s32[4] clamp(lo, i, hi)",
            f"r = f32[4,3] gather(x, j), {ROWS}, index_vector_dim=1",
        ),
        more=(
            lines(
                TABLE,
                "i = s32[] parameter(1)",
                "a = s32[] constant(0)",
                "j = s32[] maximum(i, a)",
                "r = f32[1,3] dynamic-slice(x, j, a), dynamic_slice_sizes={1,3}",
            ),
            lines(
                TABLE,
                "i = s32[] parameter(1)",
                "a = s32[] constant(7)",
                "r = f32[1,2] dynamic-slice(x, a, i), dynamic_slice_sizes={1,2}",
            ),
        ),
    ),
    "constant starts": Example(
        lines(
            TABLE,
            "a = s32[] constant(2)",
            "b = s32[] constant(0)",
            "r = f32[2,3] dynamic-slice(x, a, b), dynamic_slice_sizes={2,3}",
        ),
        lines(
            TABLE,
            "i = s32[] parameter(1)",
            "b = s32[] constant(0)",
            "r = f32[2,3] dynamic-slice(x, i, b), dynamic_slice_sizes={2,3}",
        ),
    ),
    "whole updates": Example(
        lines(
            TABLE,
            "u = f32[5,3] parameter(1)",
            "i = s32[] parameter(2)",
            "r = f32[5,3] dynamic-update-slice(x, u, i, i)",
        ),
        lines(
            TABLE,
            "u = f32[4,3] parameter(1)",
            "i = s32[] parameter(2)",
            "r = f32[5,3] dynamic-update-slice(x, u, i, i)",
        ),
    ),
}
