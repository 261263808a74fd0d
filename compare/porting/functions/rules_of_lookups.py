"""Rules for lookups, scatters, segments and counts."""

from __future__ import annotations

from collections.abc import Mapping

from compare.porting.functions.rule_calls import Call, Rule
from compare.porting.safe_expressions import UnwritableError


def _gather(call: Call) -> str:
    axis = call.integers(2)[0] if len(call.values) > 2 else 0
    batch = int(call.attribute("batch_dims", 0))
    axis = axis % call.rank(0)
    batch = batch + call.rank(1) if batch < 0 else batch
    if not batch:
        return f"jnp.take({call.array(0)}, {call.array(1)}, {axis}, mode='clip')"
    function = f"lambda x, places: jnp.take(x, places, {axis - batch}, mode='clip')"
    for _ in range(batch):
        function = f"jax.vmap({function})"
    return f"{function}({call.array(0)}, {call.array(1)})"


def _gather_nd(call: Call) -> str:
    if call.attribute("batch_dims", 0):
        raise UnwritableError("its first axes are batches")
    return f"jaxport.indexing.gather_nd({call.array(0)}, {call.array(1)})"


def _scatter(call: Call) -> str:
    return f"jaxport.indexing.scatter_nd({call.array(0)}, {call.array(1)}, {call.numbers(2)})"


def _scatter_into(method: str) -> Rule:
    def rule(call: Call) -> str:
        return f"{call.array(0)}.at[tuple(jnp.moveaxis({call.array(1)}, -1, 0))].{method}({call.array(2)}, mode='drop')"

    return rule


def _one_hot(call: Call) -> str:
    axis = int(call.attribute("axis", -1))
    axis_text = f", axis={axis}" if axis != -1 else ""
    high, low = call.values[2], call.values[3]
    if high.is_known and low.is_known and (high.host, low.host) == (1, 0):
        return f"jax.nn.one_hot({call.array(0)}, {call.number(1)}, dtype={call.dtype()}{axis_text})"
    hot = f"jax.nn.one_hot({call.array(0)}, {call.number(1)}, dtype=bool{axis_text})"
    # TensorFlow gives no gradient to either value.
    on, off = (
        call.array(index) if call.values[index].is_known else f"jax.lax.stop_gradient({call.array(index)})"
        for index in (2, 3)
    )
    return f"jnp.where({hot}, {on}, {off})"


def _segments(method: str) -> Rule:
    def rule(call: Call) -> str:
        return f"jaxport.segments.{method}({call.array(0)}, {call.array(1)}, {call.number(2)})"

    return rule


def _sorted_segments(method: str) -> Rule:
    """Segments that are known: how many there are is in the last of them."""

    def rule(call: Call) -> str:
        segments = call.integers(1)
        count = segments[-1] + 1 if segments else 0
        return f"jaxport.segments.{method}({call.array(0)}, {call.array(1)}, {count})"

    return rule


def _counts(call: Call) -> str:
    """Bincount, and DenseBincount of a vector."""
    dense = call.node.type == "DenseBincount"
    if dense and (call.rank(0) != 1 or call.attribute("binary_output")):
        raise UnwritableError("it counts rows, or presence alone")
    if call.values[2].result.shape not in ((0,),) and 0 not in call.shape(2):
        raise UnwritableError("it has weights")
    return f"jnp.bincount({call.array(0)}.reshape(-1), length={call.number(1)}).astype({call.dtype()})"


def _search(side: str) -> Rule:
    def rule(call: Call) -> str:
        function = f"jax.vmap(lambda row, value: jnp.searchsorted(row, value, side={side!r}))"
        return f"{function}({call.array(0)}, {call.array(1)}).astype({call.dtype()})"

    return rule


def _in_top(call: Call) -> str:
    """Whether fewer than k classes are above the target; ties are within."""
    x, number = call.variable(0), call.operand(2)
    target_values = f"jnp.take_along_axis({x}, {call.array(1)}[:, None], -1)"
    return f"(jnp.sum({x} > {target_values}, -1) < {number}) & jnp.isfinite({target_values})[:, 0]"


def _buckets(call: Call) -> str:
    ends = ", ".join(repr(float(boundary)) for boundary in call.attribute("boundaries", []))
    x = call.variable(0)
    return f"jnp.searchsorted(jnp.array([{ends}], jnp.float32), {x}, side='right').astype({call.dtype()})"


RULES: Mapping[str, Rule] = {
    "Gather": _gather, "GatherV2": _gather, "GatherNd": _gather_nd, "ScatterNd": _scatter,
    "TensorScatterAdd": _scatter_into("add"), "TensorScatterUpdate": _scatter_into("set"),
    "TensorScatterSub": _scatter_into("subtract"), "TensorScatterMax": _scatter_into("max"),
    "TensorScatterMin": _scatter_into("min"), "OneHot": _one_hot, "UnsortedSegmentSum": _segments("segment_sum"),
    "UnsortedSegmentMax": _segments("segment_max"), "UnsortedSegmentMin": _segments("segment_min"),
    "SegmentSum": _sorted_segments("segment_sum"),
    "SegmentMean": _sorted_segments("segment_mean"),
    "Bincount": _counts, "DenseBincount": _counts, "LowerBound": _search("left"), "UpperBound": _search("right"),
    "Bucketize": _buckets, "InTopKV2": _in_top,
}  # fmt: skip
