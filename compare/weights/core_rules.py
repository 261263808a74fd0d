"""Rules of dense layers, embeddings and layers around others."""

from __future__ import annotations

from dataclasses import replace

from compare.weights.rule import (
    Counterpart,
    MissingLeafError,
    Module,
    Rule,
    attributes_of_call,
    dtypes,
    flag,
    present,
    same,
    shape_if_any,
    shape_of,
)
from workloads.protocol.transfer import SourceLayer

KERNEL_AND_BIAS = (("kernel", "kernel"), ("bias", "bias"))


def _dense(layer: SourceLayer) -> Counterpart:
    kernel = shape_of(layer, "kernel")
    sizes = {"in_features": kernel[0], "out_features": kernel[1]} if len(kernel) == 2 else {}
    module = Module("nnx.Linear", {**sizes, "use_bias": flag(layer, "use_bias"), **dtypes(layer)})
    return Counterpart(
        module, carried=present(layer, same(*KERNEL_AND_BIAS)), unchecked=attributes_of_call(layer, "activation")
    )


def _einsum_dense(layer: SourceLayer) -> Counterpart:
    bias = shape_if_any(layer, "bias")
    module = Module(
        "nnx.Einsum",
        {
            "einsum_str": layer.config.get("equation"),
            "kernel_shape": list(shape_of(layer, "kernel")),
            "bias_shape": list(bias) if bias else None,
            **dtypes(layer),
        },
    )
    return Counterpart(
        module, carried=present(layer, same(*KERNEL_AND_BIAS)), unchecked=attributes_of_call(layer, "activation")
    )


def _embedding(layer: SourceLayer) -> Counterpart:
    table = shape_of(layer, "embeddings")
    sizes = {"num_embeddings": table[0], "features": table[1]} if len(table) == 2 else {}
    return Counterpart(
        Module("nnx.Embed", {**sizes, **dtypes(layer)}),
        carried=same(("embeddings", "embedding")),
        unchecked=attributes_of_call(layer, "mask_zero"),
    )


def _untied_embedding(layer: SourceLayer) -> Counterpart:
    tied_counterpart = _embedding(layer)
    assert tied_counterpart.module is not None
    return replace(
        tied_counterpart,
        module=replace(tied_counterpart.module, class_name="jaxport.layers.ReversibleEmbed"),
        carried=(*tied_counterpart.carried, *same(("reverse_embeddings", "reverse_embeddings"))),
    )


def _time_distributed(layer: SourceLayer) -> Counterpart:
    return Counterpart(function="the module in it, which takes any leading axes", steps={"layer": ""})


def _prelu(layer: SourceLayer) -> Counterpart:
    shape = list(shape_of(layer, "alpha"))
    module = Module("jaxport.layers.PReLU", {"shape": shape, "param_dtype": layer.variable_dtype})
    return Counterpart(module, carried=same(("alpha", "alpha")))


def _layer_scale(layer: SourceLayer) -> Counterpart:
    # Keras gives its one weight no name: it is numbered as it comes.
    gamma = next(iter(layer.leaves), None)
    if gamma is None:
        raise MissingLeafError("gamma")
    module = Module("jaxport.layers.LayerScale", {"features": gamma.shape[0], "param_dtype": layer.variable_dtype})
    return Counterpart(module, carried=same((gamma.name, "gamma")))


CORE = (
    Rule("layer_scale", ("LayerScale",), _layer_scale),
    Rule("dense", ("Dense",), _dense, {"quantization_config": (None,), "lora_rank": (None,)}),
    Rule("einsum_dense", ("EinsumDense",), _einsum_dense, {"quantization_config": (None,), "lora_rank": (None,)}),
    Rule(
        "embedding", ("Embedding", "ReversibleEmbedding"), _embedding,
        {"quantization_config": (None,), "lora_rank": (None,), "tie_weights": (True,)},
    ),
    Rule(
        "reversible_embedding", ("ReversibleEmbedding",), _untied_embedding,
        {"quantization_config": (None,), "lora_rank": (None,), "tie_weights": (False,)},
    ),
    Rule("prelu", ("PReLU",), _prelu),
    Rule("time_distributed", ("TimeDistributed",), _time_distributed),
)  # fmt: skip
