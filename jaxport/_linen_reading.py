"""A Flax Linen module of a user's file as plain data, its layers told as those of NNX that compute the same.

A Linen module has no variables before it is called: it is initialized on inputs of the model's shapes, which computes
nothing, and every module that takes part is noted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import flax
import jax
from flax import linen as nn

from jaxport._linen_variables import by_path
from jaxport._plain_attributes import plain_attributes
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Plain, Value
from workloads.protocol.transfer import Target, TargetModule, TargetVariable

KINDS = {"params": "Param", "batch_stats": "BatchStat"}
"""The class in NNX of what a collection holds."""

UNKNOWN_SIZE = 32
"""Taken where the model leaves a size of its input open; that of a batch is 1."""

FLAGS = {"train": False, "training": False, "deterministic": True, "is_training": False}
"""Arguments of a call for inference, unless a module fixes them."""

Shapes = Mapping[str, tuple[int, ...]]
Told = dict[str, Plain]


def of_linen(module: nn.Module, inputs: Sequence[Value]) -> Target:
    """The modules and variables of a Linen module.

    Args:
      inputs: of the model that it is a port of: it is called with such arrays, by position.

    Raises:
      Unsupported: it needs another argument, or two variables have one path.
    """
    modules, variables = _initialize(module, inputs)
    flat = by_path(variables)
    shapes = {path: tuple(variable.shape) for path, (_, variable) in flat.items()}
    return Target(
        modules=tuple(_target_module(path, module_called, shapes) for path, module_called in sorted(modules.items())),
        variables=tuple(
            TargetVariable(path, KINDS.get(collection, collection), tuple(variable.shape), str(variable.dtype))
            for path, (collection, variable) in sorted(flat.items())
        ),
        versions={"flax": flax.__version__, "jax": jax.__version__},
    )


def shapes(module: nn.Module, inputs: Sequence[Value]) -> Any:
    """The shapes of all variables of a Linen module, by collection.

    Raises:
      Unsupported: as `of_linen`.
    """
    return _initialize(module, inputs)[1]


def _initialize(module: nn.Module, inputs: Sequence[Value]) -> tuple[dict[str, nn.Module], Any]:
    """Every module that a call goes through, by path, and the shapes of all variables."""
    modules: dict[str, nn.Module] = {}

    def note(call: Callable[..., Any], arguments: Any, keywords: Any, context: nn.module.InterceptorContext) -> Any:
        modules.setdefault(".".join(context.module.path), context.module)
        return call(*arguments, **keywords)

    keywords: dict[str, Any] = dict(_flags(module, len(inputs)))
    arrays = [jax.ShapeDtypeStruct(_shape(value), value.dtype) for value in inputs]

    def initialize(*arrays: Any) -> Any:
        keys = {name: jax.random.key(index) for index, name in enumerate(("params", "dropout"))}
        with nn.intercept_methods(note):
            return module.init(keys, *arrays, **keywords)

    return modules, jax.eval_shape(initialize, *arrays)


def _shape(value: Value) -> tuple[int, ...]:
    batch, *others = value.shape or (None,)
    return (batch or 1, *(size or UNKNOWN_SIZE for size in others))


def _flags(module: nn.Module, inputs: int) -> dict[str, bool]:
    """The keyword arguments for inference that the call needs beside its inputs.

    Raises:
      Unsupported: it needs something else.
    """
    parameters = list(inspect.signature(type(module).__call__).parameters.values())[1:]
    needed_parameters = [
        parameter
        for parameter in parameters[inputs:]
        if parameter.default is parameter.empty and parameter.kind not in _VARIADIC
    ]
    unknown = [parameter.name for parameter in needed_parameters if parameter.name not in FLAGS]
    if unknown:
        raise Unsupported(
            f"expected {type(module).__name__} to be called with the {inputs} input{'s' * (inputs != 1)} of the model, "
            f"found that it needs {', '.join(unknown)} too: give it a default"
        )
    return {parameter.name: FLAGS[parameter.name] for parameter in needed_parameters}


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _target_module(path: str, module: nn.Module, shapes: Shapes) -> TargetModule:
    kind = _computing_class(module)
    own = {name.removeprefix(f"{path}." if path else ""): shape for name, shape in shapes.items() if _is_in(name, path)}
    attributes = dict(plain_attributes(_fields(module)))
    if kind not in _LAYERS or attributes.get("mask") is not None or getattr(module, "mask", None) is not None:
        return TargetModule(path, _name(type(module)), attributes)
    name, more = _LAYERS[kind]
    return TargetModule(path, f"nnx.{name}", {**attributes, **more(attributes, own)})


def _is_in(variable: str, path: str) -> bool:
    return not path or variable.startswith(f"{path}.")


def _fields(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for name in type(module).__dataclass_fields__:
        if name not in ("parent", "name"):
            yield name, getattr(module, name)


def _computing_class(module: nn.Module) -> type:
    """The class that is known and whose `__call__` it computes by; its own where there is none."""
    for kind in type(module).__mro__:
        if kind in _LAYERS:
            return kind
        if "__call__" in kind.__dict__:
            break
    return type(module)


def _name(kind: type) -> str:
    return f"linen.{kind.__name__}" if getattr(nn, kind.__name__, None) is kind else kind.__name__


# What NNX tells by attributes that Linen has not, by a module's attributes and the shapes of its variables.


def _dense(settings: Told, shapes: Shapes) -> Told:
    return {"in_features": shapes["kernel"][0], "out_features": settings["features"]}


def _conv(settings: Told, shapes: Shapes) -> Told:
    groups = settings.get("feature_group_count", 1)
    assert isinstance(groups, int)
    return {"in_features": shapes["kernel"][-2] * groups, "out_features": settings["features"]}


def _conv_transpose(settings: Told, shapes: Shapes) -> Told:
    place = -1 if settings.get("transpose_kernel") else -2
    return {"in_features": shapes["kernel"][place], "out_features": settings["features"]}


def _einsum(settings: Told, shapes: Shapes) -> Told:
    bias = shapes.get("bias")
    return {"kernel_shape": settings["shape"], "bias_shape": list(bias) if bias else None}


def _normalization_features(_: Told, shapes: Shapes) -> Told:
    shape = next((shapes[name] for name in ("scale", "bias", "mean") if name in shapes), None)
    return {"num_features": shape[-1]} if shape else {}


def _group_features(settings: Told, shapes: Shapes) -> Told:
    size, features = settings.get("group_size"), _normalization_features(settings, shapes)
    count = features.get("num_features")
    groups = count // size if isinstance(size, int) and isinstance(count, int) else settings.get("num_groups")
    return {**features, "num_groups": groups, "feature_axis": -1}


def _attention(settings: Told, shapes: Shapes) -> Told:
    query, key, out = (shapes[f"{name}.kernel"] for name in ("query", "key", "out"))
    return {
        "in_features": query[0],
        "in_kv_features": key[0],
        "qkv_features": query[-2] * query[-1],
        "num_kv_heads": key[-2],
        "out_features": out[-1],
    }


def _as_it_is(_: Told, __: Shapes) -> Told:
    return {}


_LAYERS: Mapping[type, tuple[str, Callable[[Told, Shapes], Told]]] = {
    nn.Dense: ("Linear", _dense),
    nn.Conv: ("Conv", _conv),
    nn.ConvTranspose: ("ConvTranspose", _conv_transpose),
    nn.Einsum: ("Einsum", _einsum),
    nn.Embed: ("Embed", _as_it_is),
    nn.BatchNorm: ("BatchNorm", _normalization_features),
    nn.LayerNorm: ("LayerNorm", _normalization_features),
    nn.GroupNorm: ("GroupNorm", _group_features),
    nn.InstanceNorm: ("InstanceNorm", _normalization_features),
    nn.RMSNorm: ("RMSNorm", _normalization_features),
    nn.MultiHeadDotProductAttention: ("MultiHeadAttention", _attention),
    nn.MultiHeadAttention: ("MultiHeadAttention", _attention),
    nn.Dropout: ("Dropout", _as_it_is),
}
"""By class, what computes the same in NNX; the others, recurrent cells above all, name their variables otherwise."""
