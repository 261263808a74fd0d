"""The module of Linen that computes what a module of NNX does: the same variables, under the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from compare.weights.rule import ANY_MODULE, Argument, Module
from workloads.protocol.inspection import Plain

Arguments = Mapping[str, Argument]


class NoLinenModuleError(LookupError):
    """There is no such module: why not."""


def linen_module(module: Module) -> Module:
    """The module of Linen, "nn.Dense", for one of NNX that a rule gives.

    Raises:
      NoLinenModuleError: there is none, or it is not written.
    """
    if module.class_name == ANY_MODULE:
        return replace(module, arguments={name: linen_module(inner) for name, inner in module.inner.items()})
    _check(module)
    class_name, convert = _CLASSES[module.class_name]
    arguments = convert({**module.constructed, **module.arguments})
    arguments = {name: value for name, value in arguments.items() if name not in _OF_NNX}
    return Module(class_name, arguments, module.advised)


def _check(module: Module) -> None:
    if module.class_name not in _CLASSES:
        names = [module.class_name, *(inner.class_name for inner in module.inner.values())]
        raise NoLinenModuleError(f"{' of '.join(names)} is not written in Linen")
    settings = module.settings
    heads = settings.get("num_kv_heads")
    if heads is not None and heads != settings.get("num_heads"):
        raise NoLinenModuleError(f"attention of Linen has as many heads of keys as of queries, and it has {heads}")
    if "attention_fn" in module.advised:
        raise NoLinenModuleError("attention with a mask and a dropout is not written in Linen")


_OF_NNX = frozenset({
    "in_features", "num_features", "in_kv_features", "num_kv_heads", "feature_axis", "bias_shape", "decode",
})  # fmt: skip
"""Arguments that Linen takes from its input, or has no use for."""


def _as_it_is(arguments: Arguments) -> Arguments:
    return arguments


def _with_features(arguments: Arguments) -> Arguments:
    """`features` first, under that name."""
    features = {"features": arguments["out_features"]} if "out_features" in arguments else {}
    return {**features, **{name: value for name, value in arguments.items() if name != "out_features"}}


def _einsum(arguments: Arguments) -> Arguments:
    has_bias = arguments["bias_shape"] is not None
    own: dict[str, Plain | Module] = {"shape": arguments["kernel_shape"], "use_bias": has_bias}
    return {**own, **{name: value for name, value in arguments.items() if name != "kernel_shape"}}


_CLASSES: Mapping[str, tuple[str, Callable[[Arguments], Arguments]]] = {
    "nnx.Linear": ("nn.Dense", _with_features),
    "nnx.Conv": ("nn.Conv", _with_features),
    "nnx.ConvTranspose": ("nn.ConvTranspose", _with_features),
    "nnx.Einsum": ("nn.Einsum", _einsum),
    "nnx.Embed": ("nn.Embed", _as_it_is),
    "nnx.BatchNorm": ("nn.BatchNorm", _as_it_is),
    "nnx.LayerNorm": ("nn.LayerNorm", _as_it_is),
    "nnx.GroupNorm": ("nn.GroupNorm", _as_it_is),
    "nnx.InstanceNorm": ("nn.InstanceNorm", _as_it_is),
    "nnx.RMSNorm": ("nn.RMSNorm", _as_it_is),
    "nnx.MultiHeadAttention": ("nn.MultiHeadDotProductAttention", _as_it_is),
    "nnx.Dropout": ("nn.Dropout", _as_it_is),
}
"""By the class of NNX, that of Linen, and its arguments."""
