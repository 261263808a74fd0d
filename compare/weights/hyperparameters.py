"""Whether an attribute of a Flax module is the one that a rule wants, however it was written."""

from __future__ import annotations

from compare.weights.activations import is_activation
from workloads._inspection import Plain

_FUNCTIONS_OF_MODULES = frozenset({"activation_fn", "gate_fn"})


def agrees(name: str, wanted: Plain, actual: Plain, rank: int, kept: Plain) -> bool:
    """Whether an attribute is the one that is wanted.

    Args:
      name: of the attribute.
      wanted: by a rule: sizes are lists, one for each axis.
      actual: in a module: one size stands for all, None for 1.
      rank: axes of the input; 0 where that is not known.
      kept: the dtype of the variables.
    """
    if name in _FUNCTIONS_OF_MODULES:
        return is_activation(wanted, actual)
    if name == "dtype":
        # None is what the variables and the input have: for a layer of one type the same.
        return actual == wanted or (actual is None and wanted == kept)
    if name == "padding":
        return _padding(actual) == wanted
    if name == "axis" or name.endswith("_axes") or name == "feature_axis":
        return _axes(actual, rank) == _axes(wanted, rank)
    if isinstance(wanted, list):
        return _sizes(actual, len(wanted)) == wanted
    # True is 1 to Python.
    return isinstance(actual, bool) == isinstance(wanted, bool) and actual == wanted


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
    listed = value if isinstance(value, list) else [value]
    axes = [axis for axis in listed if isinstance(axis, int)]
    return [axis - rank if rank and axis >= 0 else axis for axis in axes]


def _sizes(sizes: Plain, count: int) -> Plain:
    if sizes is None:
        return [1] * count
    if isinstance(sizes, int):
        return [sizes] * count
    return sizes
