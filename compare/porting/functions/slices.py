"""The masks of a StridedSlice as an index of Python's."""

from __future__ import annotations

from typing import Any

import numpy as np

from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.function_graph import Node

Index = tuple[Any, ...]


def indices(node: Node, begin: Any, end: Any, strides: Any) -> Index:
    """An index of slices, integers, None and Ellipsis.

    Raises:
      UnwritableError: strides are not known.
    """
    masks = {
        name: int(_number(node, f"{name}_mask")) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    parts: list[Any] = []
    for index, (low, high, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << index
        if masks["ellipsis"] & bit:
            parts.append(Ellipsis)
        elif masks["new_axis"] & bit:
            parts.append(None)
        elif masks["shrink_axis"] & bit:
            parts.append(low if isinstance(low, str) else int(low))
        else:
            if isinstance(step, str):
                raise UnwritableError("its strides are no constants")
            start = None if masks["begin"] & bit else _plain(low)
            stop = None if masks["end"] & bit else _plain(high)
            parts.append(slice(start, stop, None if step == 1 else int(step)))
    return tuple(parts)


def _number(node: Node, name: str) -> int:
    value = node.attributes.get(name, 0)
    return value if isinstance(value, int) else 0


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else int(np.asarray(value)[()])


def index_text(index: Index) -> str:
    """An index as Python writes it between brackets; "" where all of it takes everything.

    Args:
      index: of slices, integers, expressions, None and Ellipsis.
    """
    parts = [_part(part) for part in index]
    if all(part in (":", "...") for part in parts):
        return ""
    # Behind an ellipsis, which takes the axes before it, each slice says of which axis it is by those that follow.
    while parts[-1] == "..." or (parts[-1] == ":" and "..." not in parts):
        parts.pop()
    return ", ".join(parts)


def _part(part: Any) -> str:
    if part is Ellipsis:
        return "..."
    if not isinstance(part, slice):
        return str(part)
    ends = ["" if end is None else str(end) for end in (part.start, part.stop, part.step)]
    if ends[0] == "0" and (not ends[2] or not ends[2].startswith("-")):
        ends[0] = ""
    return ":".join(ends if ends[2] else ends[:2])
