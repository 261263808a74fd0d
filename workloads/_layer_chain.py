"""Chains of equal layers, compiled in blocks of so many: how large a block has to be is measured of it.

`block` is the number of layers of each compiled function, and 0 compiles none: what `jaxport crossing blocks`
asks of any port.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workloads.core.spec import ArraySpec, Dimensions, Workload

BLOCK, LAYERS = "block", "layers"


def _inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    return {"x": ArraySpec((dimensions["batch"], dimensions["width"]))}


def _dense_weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Kernels small beside the residual connection, so that a chain of any length neither grows nor vanishes."""
    width = dimensions["width"]
    specs: dict[str, ArraySpec] = {}
    for layer in range(dimensions[LAYERS]):
        specs[f"layer{layer}/gamma"] = ArraySpec((width,), low=0.5, high=1.5)
        specs[f"layer{layer}/beta"] = ArraySpec((width,), scale=0.1)
        specs[f"layer{layer}/kernel"] = ArraySpec((width, width), scale=0.5 * width**-0.5)
        specs[f"layer{layer}/bias"] = ArraySpec((width,), scale=0.1)
    return specs


def _elementwise_weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    vector = (dimensions["width"],)
    parts = {"scale": ArraySpec(vector, scale=0.5), "shift": ArraySpec(vector, scale=0.1)}
    return {f"layer{layer}/{part}": spec for layer in range(dimensions[LAYERS]) for part, spec in parts.items()}


def _chain(name: str, summary: str, weights: Callable[[Dimensions], Mapping[str, ArraySpec]]) -> Workload:
    return Workload(
        name=f"{name}_chain",
        summary=summary,
        source="S17: which blocks to compile; larger blocks win",
        tf=f"tf_reference._layer_chain:build_{name}",
        jax=f"jaxport._layer_chain:build_{name}",
        inputs=_inputs,
        weights=weights,
        sizes={"default": {"batch": 32, "width": 64, LAYERS: 16, BLOCK: 0}},
    )


CHAINS = {
    workload.name: workload
    for workload in (
        _chain("elementwise", "16 residual layers of elementwise operations, which fuse across layers",
               _elementwise_weights),
        _chain("dense", "16 residual layers of layer normalization, dense and relu", _dense_weights),
    )
}  # fmt: skip
"""By name."""
