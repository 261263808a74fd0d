"""Chains of layers in JAX, compiled in blocks: the twins of workloads/_layer_chain.py."""

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp

from jaxport import Model
from jaxport._small_operations import dense, layer_norm
from workloads.core.spec import Dimensions

Weights = Mapping[str, jax.Array]
Layer = Callable[[Weights, jax.Array], jax.Array]
Chain = Callable[[Sequence[Weights], jax.Array], jax.Array]


def in_blocks(layers: Sequence[Layer], block: int) -> Chain:
    """The layers one after the other, `block` of them in each compiled function; 0 compiles none.

    Each takes its own weights: a compiled function that was given those of all layers would take longer to call.
    """

    def chain(part: Sequence[Layer]) -> Chain:
        def call(weights: Sequence[Weights], x: jax.Array) -> jax.Array:
            for layer, own in zip(part, weights, strict=True):
                x = layer(own, x)
            return x

        return call

    if not block:
        return chain(layers)
    starts = range(0, len(layers), block)
    compiled = [jax.jit(chain(layers[start : start + block])) for start in starts]

    def call(weights: Sequence[Weights], x: jax.Array) -> jax.Array:
        for start, function in zip(starts, compiled, strict=True):
            x = function(weights[start : start + block], x)
        return x

    return call


def build_elementwise(dimensions: Dimensions, dtype: str) -> Model:
    """X [batch, width] -> [batch, width]."""

    def layer(weights: Weights, x: jax.Array) -> jax.Array:
        return x + jnp.tanh(x * weights["scale"] + weights["shift"])

    return _chain(layer, ("scale", "shift"), dimensions)


def build_dense(dimensions: Dimensions, dtype: str) -> Model:
    """X [batch, width] -> [batch, width]."""

    def layer(weights: Weights, x: jax.Array) -> jax.Array:
        return x + dense(layer_norm(x, weights["gamma"], weights["beta"]), weights["kernel"], weights["bias"])

    return _chain(layer, ("gamma", "beta", "kernel", "bias"), dimensions)


def _chain(layer: Layer, parts: Sequence[str], dimensions: Dimensions) -> Model:
    """Equal layers, whose parameters are a list: one entry a layer."""
    numbers = range(dimensions["layers"])

    def by_layer(weights: Mapping[str, jax.Array]) -> list[dict[str, jax.Array]]:
        return [{part: weights[f"layer{number}/{part}"] for part in parts} for number in numbers]

    def by_path(parameters: Sequence[Weights]) -> dict[str, jax.Array]:
        return {f"layer{number}/{part}": parameters[number][part] for number in numbers for part in parts}

    return Model(in_blocks([layer] * len(numbers), dimensions["block"]), by_layer, by_path)
