"""exp(x - max) / sum, row by row: a kernel written by hand in TensorFlow, three primitives that XLA fuses."""

from workloads.core.spec import ArraySpec, Cost, Dimensions, Workload


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs scores: f32[rows, classes], standard normal times 4, so that a few classes have most of a row."""
    return {"scores": ArraySpec((dimensions["rows"], dimensions["classes"]), scale=4.0)}


def cost(dimensions: Dimensions) -> Cost:
    """A comparison, a difference, an exponential, a sum and a quotient per element; each read and written once."""
    elements = dimensions["rows"] * dimensions["classes"]
    return Cost(5 * elements, 4 * 2 * elements, "counted on the formula; traffic as if fused into one kernel")


WORKLOAD = Workload(
    name="softmax",
    summary="softmax of rows, composed of primitives, and as the operation whose kernel was written by hand",
    source="S8: softmax composed of primitives instead of a kernel of its own",
    tf="tf_reference.softmax:build",
    jax="jaxport.softmax:build",
    inputs=inputs,
    cost=cost,
    ranges={"rows": (1, 64), "classes": (1, 64)},
    sizes={
        "smoke": {"rows": 8, "classes": 16},
        "default": {"rows": 512, "classes": 1024},
        "paper": {"rows": 1024, "classes": 10000},
    },
)
