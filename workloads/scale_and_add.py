"""a * x + y: fusing halves the memory traffic, from 3 reads and 2 writes to 2 and 1."""

from workloads.core.spec import ArraySpec, Cost, Dimensions, Workload


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs a: f32[]; x and y: f32[length]."""
    vector = ArraySpec((dimensions["length"],))
    return {"a": ArraySpec(()), "x": vector, "y": vector}


def cost(dimensions: Dimensions) -> Cost:
    """A product and a sum per element; two vectors read, one written."""
    length = dimensions["length"]
    return Cost(2 * length, 4 * (3 * length + 1), "S3: 2 reads and 1 write per element once fused")


WORKLOAD = Workload(
    name="scale_and_add",
    summary="a * x + y",
    source="S3: scaling and adding vectors, the talks' example of memory traffic",
    tf="tf_reference.scale_and_add:build",
    jax="jaxport.scale_and_add:build",
    inputs=inputs,
    cost=cost,
    sizes={"smoke": {"length": 1024}, "default": {"length": 2**22}, "paper": {"length": 2**28}},
)
