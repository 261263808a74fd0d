"""Whether an attribute of a Flax module is the one that a rule wants, however it was written."""

from __future__ import annotations

from compare.weights.activations import is_activation
from workloads._inspection import Plain

_FUNCTIONS_OF_MODULES = frozenset({"activation_fn", "gate_fn"})


def agrees(name: str, wanted: Plain, found: Plain, rank: int, kept: Plain) -> bool:
    """Whether an attribute is the one that is wanted.

    Args:
      name: of the attribute.
      wanted: by a rule: sizes are lists, one for each axis.
      found: in a module: one size stands for all, None for 1.
      rank: axes of the input; 0 where that is not known.
      kept: the dtype of the variables.
    """
    if name in _FUNCTIONS_OF_MODULES:
        return is_activation(wanted, found)
    if name == "dtype":
        # None is what the variables and the input have: for a layer of one type the same.
        return found == wanted or (found is None and wanted == kept)
    if name == "padding":
        return _padding(found) == wanted
    if name == "axis" or name.endswith("_axes") or name == "feature_axis":
        return _axes(found, rank) == _axes(wanted, rank)
    if isinstance(wanted, list):
        return _sizes(found, len(wanted)) == wanted
    # True is 1 to Python.
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def _padding(found: Plain) -> Plain:
    if isinstance(found, str):
        return found.upper()
    flat = (
        [item for each in found for item in (each if isinstance(each, list) else [each])]
        if isinstance(found, list)
        else [found]
    )
    return "VALID" if flat and all(item == 0 for item in flat) else found


def _axes(found: Plain, rank: int) -> list[int]:
    listed = found if isinstance(found, list) else [found]
    axes = [each for each in listed if isinstance(each, int)]
    return [each - rank if rank and each >= 0 else each for each in axes]


def _sizes(found: Plain, count: int) -> Plain:
    if found is None:
        return [1] * count
    if isinstance(found, int):
        return [found] * count
    return found
