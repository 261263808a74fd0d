"""One step of one small LSTM cell: so little work that what it costs is how it is called."""

from workloads import _lstm
from workloads.core.spec import ArraySpec, Cost, Dimensions, Workload


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs values: f32[batch, features]; hidden and cell, the state of the step before: f32[batch, units]."""
    batch, units = dimensions["batch"], dimensions["units"]
    return {
        "values": ArraySpec((batch, dimensions["features"])),
        "hidden": ArraySpec((batch, units), scale=0.5),
        "cell": ArraySpec((batch, units)),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Weights of the cell, as `_lstm.weights`: kernels [features, 4 units] and [units, 4 units], bias [4 units]."""
    return _lstm.weights(dimensions["features"], dimensions["units"])


def cost(dimensions: Dimensions) -> Cost:
    """One step for every example; weights and states read once, states written once."""
    batch, features, units = dimensions["batch"], dimensions["features"], dimensions["units"]
    traffic = 4 * (_lstm.parameters(features, units) + batch * (features + 4 * units))
    return Cost(batch * _lstm.flops(features, units), traffic, "matrix products 2mnk each, 13 operations per unit")


WORKLOAD = Workload(
    name="lstm_cell",
    summary="one step of one small LSTM cell, forward and gradients",
    source="S8: the simple cell, where eager TensorFlow is slower by up to 40 times",
    tf="tf_reference.lstm_cell:build",
    jax="jaxport.lstm_cell:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    ranges={"batch": (1, 64)},
    sizes={
        "smoke": {"batch": 2, "features": 3, "units": 4},
        "default": {"batch": 8, "features": 16, "units": 16},
        "paper": {"batch": 8, "features": 16, "units": 16},
    },
)
