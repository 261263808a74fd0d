"""One step of a small LSTM cell in JAX."""

import jax
from flax import nnx

from jaxport import Model
from jaxport._lstm import LSTMWeights, cell_step
from jaxport._nnx import Parameters, WeightMap, structure
from workloads.core.spec import Dimensions


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/lstm_cell.py: values [batch, features], hidden and cell [batch, units] -> the next two."""
    graph = structure(lambda: LSTMWeights(dimensions["features"], dimensions["units"], dtype))

    def forward(parameters: Parameters, values: jax.Array, hidden: jax.Array, cell: jax.Array) -> dict[str, jax.Array]:
        hidden, cell = cell_step(nnx.merge(graph, parameters), values, (hidden, cell))
        return {"hidden": hidden, "cell": cell}

    return Model(forward, _WEIGHTS.from_weights, _WEIGHTS.to_weights)


_WEIGHTS = WeightMap(
    {
        "lstm/kernel": ("kernel",),
        "lstm/recurrent_kernel": ("recurrent_kernel",),
        "lstm/bias": ("bias",),
    }
)
