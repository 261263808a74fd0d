"""reduce_sum(x + y * z): the TF documentation's own example of a fusion that writes no intermediate."""

from workloads.core.spec import ArraySpec, Cost, Dimensions, Workload


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs x, y and z: f32[side, side]."""
    shape = (dimensions["side"], dimensions["side"])
    return {"x": ArraySpec(shape), "y": ArraySpec(shape), "z": ArraySpec(shape)}


def cost(dimensions: Dimensions) -> Cost:
    """A product, a sum and an accumulation per element; three inputs read once."""
    elements = dimensions["side"] ** 2
    return Cost(3 * elements, 4 * (3 * elements + 1), "counted on the formula; traffic as if fused into one kernel")


WORKLOAD = Workload(
    name="sum_of_products",
    summary="reduce_sum(x + y * z)",
    source="S2: the TF/XLA user documentation's model_fn: three kernels without XLA, one with",
    tf="tf_reference.sum_of_products:build",
    jax="jaxport.sum_of_products:build",
    inputs=inputs,
    cost=cost,
    sizes={"smoke": {"side": 64}, "default": {"side": 2048}, "paper": {"side": 8192}},
)
