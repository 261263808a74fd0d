"""Arguments of a call on the wire: one entry a leaf, arrays beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from compare.sides.replies import Scalar, Size
from workloads.core.spec import Arrays, ArraySpec
from workloads.protocol.recompiling import Named

Container = Literal["dict", "list", "tuple"]


class CallLeaf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value in the arguments of a call.

    `path` starts with the name of the argument; `inside` are the kinds of the structures that the rest of it leads
    through. An array lies under `array`; a NumPy scalar has `dtype`, one of a signature `dtype` and `shape`.
    """

    path: tuple[str, ...]
    inside: tuple[Container, ...]
    kind: Literal["array", "numpy", "python", "signature"]
    value: Scalar = None
    array: str = ""
    dtype: str = ""
    shape: tuple[Size | str, ...] = ()


Leaves = tuple[CallLeaf, ...]


def pack(arguments: Named, prefix: str = "") -> tuple[Leaves, dict[str, np.ndarray]]:
    """The leaves, and the arrays, under names that start with the prefix."""
    arrays: dict[str, np.ndarray] = {}
    leaves = [leaf for name, value in arguments.items() for leaf in _leaves(value, (name,), (), prefix, arrays)]
    return tuple(leaves), arrays


def _leaves(
    value: Any, path: tuple[str, ...], inside: tuple[Container, ...], prefix: str, arrays: dict[str, np.ndarray]
) -> list[CallLeaf]:
    if isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        kind: Container = "dict" if isinstance(value, Mapping) else "list" if isinstance(value, list) else "tuple"
        return [
            leaf for key, child in items for leaf in _leaves(child, (*path, str(key)), (*inside, kind), prefix, arrays)
        ]
    if isinstance(value, np.ndarray):
        name = f"{prefix}{len(arrays)}"
        arrays[name] = value
        return [CallLeaf(path, inside, "array", array=name)]
    if isinstance(value, np.generic):
        return [CallLeaf(path, inside, "numpy", value.item(), dtype=value.dtype.name)]
    if isinstance(value, ArraySpec):
        return [CallLeaf(path, inside, "signature", dtype=value.dtype, shape=value.shape)]
    return [CallLeaf(path, inside, "python", value)]


def unpack(leaves: Sequence[CallLeaf], arrays: Arrays) -> dict[str, Any]:
    """The arguments by name.

    Raises:
      ValueError: the leaves do not make a structure.
    """
    if any(not leaf.path or len(leaf.inside) != len(leaf.path) - 1 for leaf in leaves):
        raise ValueError("expected the path of a leaf with a kind for each structure that it leads through")
    return _build([(leaf.path, leaf.inside, leaf) for leaf in leaves], "dict", arrays)


_Placed = tuple[tuple[str, ...], tuple[Container, ...], CallLeaf]


def _build(leaves_placed: Sequence[_Placed], kind: Container, arrays: Arrays) -> Any:
    groups: dict[str, list[_Placed]] = {}
    for path, inside, leaf in leaves_placed:
        groups.setdefault(path[0], []).append((path[1:], inside, leaf))
    children = {key: _group_value(group, arrays) for key, group in groups.items()}
    if kind == "dict":
        return children
    return list(children.values()) if kind == "list" else tuple(children.values())


def _group_value(group: Sequence[_Placed], arrays: Arrays) -> Any:
    path, inside, leaf = group[0]
    if not path:
        return _value(leaf, arrays)
    return _build([(path, inside[1:], leaf) for path, inside, leaf in group], inside[0], arrays)


def _value(leaf: CallLeaf, arrays: Arrays) -> Any:
    match leaf.kind:
        case "array":
            return arrays[leaf.array]
        case "numpy":
            return np.asarray(leaf.value, leaf.dtype)[()]
        case "signature":
            return ArraySpec(leaf.shape, leaf.dtype)
    return leaf.value
