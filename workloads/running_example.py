"""mean(x**2 * 3 + y): four kernels in eager mode, one once it is fused."""

from workloads.core.spec import ArraySpec, Cost, Dimensions, Workload


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs x and y: f32[side, side]."""
    shape = (dimensions["side"], dimensions["side"])
    return {"x": ArraySpec(shape), "y": ArraySpec(shape)}


def cost(dimensions: Dimensions) -> Cost:
    """A square, a product, a sum and an accumulation per element; both inputs read once."""
    elements = dimensions["side"] ** 2
    return Cost(4 * elements, 4 * (2 * elements + 1), "counted on the formula; traffic as if fused into one kernel")


WORKLOAD = Workload(
    name="running_example",
    summary="mean(x**2 * 3 + y)",
    source='S1: the running example of the lecture "TensorFlow XLA" and of the talk on making TF faster on GPUs',
    tf="tf_reference.running_example:build",
    jax="jaxport.running_example:build",
    inputs=inputs,
    cost=cost,
    ranges={"side": (1, 64)},
    sizes={"smoke": {"side": 64}, "default": {"side": 2048}, "paper": {"side": 16384}},
)
