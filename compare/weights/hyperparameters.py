"""Whether an attribute of a Flax module equals the one of a rule, in any of its notations."""

from __future__ import annotations

from compare.weights.activations import is_activation
from workloads.protocol.inspection import Plain

_FUNCTIONS_OF_MODULES = frozenset({"activation_fn", "gate_fn"})


def agrees(name: str, expected_value: Plain, actual: Plain, rank: int, param_dtype: Plain) -> bool:
    """Whether an attribute is the one that is wanted.

    Args:
      expected_value: by a rule: sizes are lists, one for each axis.
      actual: in a module: one size stands for all, None for 1.
      rank: axes of the input; 0 where that is not known.
      param_dtype: the dtype of the variables.
    """
    if name in _FUNCTIONS_OF_MODULES:
        return is_activation(expected_value, actual)
    if name == "dtype":
        # None takes the type of the variables and the input, which is one type in such a layer.
        return actual == expected_value or (actual is None and expected_value == param_dtype)
    if name == "padding":
        return _padding(actual) == expected_value
    if name == "axis" or name.endswith("_axes") or name == "feature_axis":
        return _axes(actual, rank) == _axes(expected_value, rank)
    if isinstance(expected_value, list):
        return _sizes(actual, len(expected_value)) == expected_value
    # In Python, True == 1.
    return isinstance(actual, bool) == isinstance(expected_value, bool) and actual == expected_value


def _padding(padding: Plain) -> Plain:
    if isinstance(padding, str):
        return padding.upper()
    flat = (
        [item for of_axis in padding for item in (of_axis if isinstance(of_axis, list) else [of_axis])]
        if isinstance(padding, list)
        else [padding]
    )
    return "VALID" if flat and all(item == 0 for item in flat) else padding


def _axes(value: Plain, rank: int) -> list[int]:
    items = value if isinstance(value, list) else [value]
    axes = [axis for axis in items if isinstance(axis, int)]
    return [axis - rank if rank and axis >= 0 else axis for axis in axes]


def _sizes(sizes: Plain, count: int) -> Plain:
    if sizes is None:
        return [1] * count
    if isinstance(sizes, int):
        return [sizes] * count
    return sizes
