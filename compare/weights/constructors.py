"""The call that makes a module as a rule wants it, as Python that an engineer would write: defaults are left out."""

from __future__ import annotations

from collections.abc import Mapping

from compare.weights.activations import ACTIVATIONS
from compare.weights.rule import Module
from workloads.protocol.inspection import Plain

_DEFAULTS: Mapping[str, Plain] = {
    "axis": -1, "reduction_axes": -1, "feature_axes": -1, "feature_axis": -1, "feature_group_count": 1,
    "use_bias": True, "use_scale": True, "bias_shape": None, "param_dtype": "float32", "normalize_qk": False,
    "dropout_rate": 0.0, "reverse": False, "keep_order": False, "time_major": False, "residual": False,
    "reset_after": True, "activation_fn": "tanh", "gate_fn": "sigmoid", "merge_fn": "_concatenate",
    "broadcast_dims": [], "input_rate": 0.0, "state_rate": 0.0,
}  # fmt: skip
"""The default of an argument of that name in every module; `feature_axis` is no argument."""

_ONES = frozenset({"strides", "input_dilation", "kernel_dilation"})
_WITHOUT_RANDOM = frozenset(
    {
        "nnx.RNN",
        "jaxport.stateful.StatefulRNN",
        "jaxport.layers.Attention",
        "jaxport.layers.PReLU",
        "jaxport.layers.StackedCells",
        "jaxport.layers.Normalization",
        "jaxport.layers.LayerScale",
        "jaxport.normalization.BatchNorm",
    }
)
"""Classes that draw nothing."""

_WITHOUT_DEFAULTS = frozenset({"jaxport.layers.Attention", "jaxport.normalization.BatchNorm"})
"""Classes of which every argument has to be given."""


LINEN = "nn."
"""The prefix of Linen's classes, whose constructors take no `rngs`."""


def constructor_text(module: Module) -> str:
    """The call that makes a module, one of NNX of `rngs`: "nnx.Linear(in_features=8, out_features=3, rngs=rngs)"."""
    inner = [f"{name}={constructor_text(submodule)}" for name, submodule in module.inner.items()]
    settings = {**module.constructed, **module.settings, **module.advised}
    param_dtype = settings.get("param_dtype", "float32")
    whole = module.class_name in _WITHOUT_DEFAULTS
    arguments = {name: value for name, value in settings.items() if whole or not _is_default(name, value, param_dtype)}
    arguments_text = [f"{name}={_value(name, value)}" for name, value in arguments.items()]
    draws = not (module.class_name in _WITHOUT_RANDOM or module.class_name.startswith(LINEN))
    random = ["rngs=rngs"] if draws else []
    return f"{module.class_name}({', '.join([*inner, *arguments_text, *random])})"


def _is_default(name: str, value: Plain, param_dtype: Plain) -> bool:
    if name == "dtype":
        return value == param_dtype == "float32"
    if name in _ONES:
        return isinstance(value, list) and all(size == 1 for size in value)
    return name in _DEFAULTS and _DEFAULTS[name] == value


def _value(name: str, value: Plain) -> str:
    if name in ("dtype", "param_dtype"):
        return f"jnp.{value}"
    if name in ("activation_fn", "gate_fn"):
        return ACTIVATIONS[str(value)].function
    if name == "attention_fn":
        return f"jaxport.sequences.{value}"
    if name == "merge_fn":
        return f"jaxport.sequences.{value}" if value in ("average", "apart") else f"jnp.{value}"
    return repr(_with_tuples(value))


def _with_tuples(value: Plain) -> object:
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value
