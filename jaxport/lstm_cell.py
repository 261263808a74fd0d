"""One step of a small LSTM cell in JAX."""

from collections.abc import Mapping
from typing import Any

import jax
from flax import nnx

from jaxport import Model
from jaxport._lstm import LSTMWeights, cell_step
from workloads._spec import Dimensions


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/lstm_cell.py: values [batch, features], hidden and cell [batch, units] -> the next two."""
    weights = nnx.eval_shape(lambda: LSTMWeights(dimensions["features"], dimensions["units"], dtype))
    graph, _ = nnx.split(weights, nnx.Param)

    def forward(parameters: nnx.State, values: jax.Array, hidden: jax.Array, cell: jax.Array) -> dict[str, jax.Array]:
        hidden, cell = cell_step(nnx.merge(graph, parameters), values, (hidden, cell))
        return {"hidden": hidden, "cell": cell}

    return Model(forward, _from_weights, _to_weights)


_PATHS = {
    "lstm/kernel": ("kernel",),
    "lstm/recurrent_kernel": ("recurrent_kernel",),
    "lstm/bias": ("bias",),
}


def _from_weights(weights: Mapping[str, jax.Array]) -> nnx.State:
    return nnx.from_flat_state({_PATHS[name]: nnx.Param(array) for name, array in weights.items()})


def _to_weights(parameters: nnx.State) -> dict[str, Any]:
    flat = dict(nnx.to_flat_state(parameters))
    return {name: flat[path].get_value() for name, path in _PATHS.items()}
