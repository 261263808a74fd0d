"""x + y over f32[100, 100]: the smallest HLO module, one instruction between parameters and root."""

from workloads.core.spec import ArraySpec, Cost, Dimensions, Workload


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs x and y: f32[side, side]."""
    shape = (dimensions["side"], dimensions["side"])
    return {"x": ArraySpec(shape), "y": ArraySpec(shape)}


def cost(dimensions: Dimensions) -> Cost:
    """One sum per element; two matrices read, one written."""
    elements = dimensions["side"] ** 2
    return Cost(elements, 4 * 3 * elements, "counted on the formula")


WORKLOAD = Workload(
    name="add",
    summary="x + y, f32[100, 100]",
    source="S4: the add program that the lecture reads as its first HLO module",
    tf="tf_reference.add:build",
    jax="jaxport.add:build",
    inputs=inputs,
    cost=cost,
    sizes={"smoke": {"side": 10}, "default": {"side": 100}, "paper": {"side": 100}},
)
