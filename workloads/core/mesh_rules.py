"""Chooses the axis of a weight that is split over the devices of a mesh, by its name and shape."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

MEGATRON_RULES = (
    (re.compile(r"(?:^|/)(?:query|key|value)/kernel$"), 3, 1, "heads"),
    (re.compile(r"(?:^|/)(?:query|key|value)/bias$"), 2, 0, "heads"),
    (re.compile(r"(?:^|/)output/kernel$"), 3, 0, "heads"),
    (re.compile(r"(?:^|/)expand/kernel$"), 2, 1, "hidden features"),
    (re.compile(r"(?:^|/)expand/bias$"), 1, 0, "hidden features"),
    (re.compile(r"(?:^|/)contract/kernel$"), 2, 0, "hidden features"),
)
"""The rules of a Transformer block: name, rank and split axis, as in Megatron-LM (Shoeybi et al. 2019, section 3)."""

Shape = Sequence[int]


def split_axis(name: str, shape: Shape, transformer: bool) -> tuple[int | None, str]:
    """The axis of a weight that is split over a model-parallel mesh, and its meaning.

    Args:
      name: canonical path of the weight.
      transformer: whether the model is one by its names; else every weight of two axes and more is split along its
        last one.
    """
    if not transformer:
        return (len(shape) - 1, "features") if len(shape) > 1 else (None, "")
    for pattern, rank, axis, what in MEGATRON_RULES:
        if pattern.search(name) and len(shape) == rank:
            return axis, what
    return None, ""


def is_transformer(weights: Mapping[str, Shape]) -> bool:
    """Whether weights have the names and ranks of a Transformer's block."""
    return any(split_axis(name, shape, True)[0] is not None for name, shape in weights.items())


def why_undivided(weights: Mapping[str, Shape], count: int) -> str:
    """Why a model cannot be split over so many devices; "" where it can.

    Args:
      weights: shapes by canonical path.
    """
    transformer = is_transformer(weights)
    for name, shape in weights.items():
        axis, what = split_axis(name, shape, transformer)
        if axis is not None and shape[axis] % count:
            return (
                f"expected {what} that {count} divides, found {shape[axis]} of {name}: "
                "choose fewer devices, or another layout"
            )
    return ""


def largest_axis(shape: Shape, count: int) -> int | None:
    """The largest axis that so many devices divide; None where none does, or there are more devices than numbers."""
    fitting: Iterable[int] = [axis for axis, size in enumerate(shape) if size and not size % count]
    if math.prod(shape) < count:
        return None
    return max(fitting, key=lambda axis: shape[axis], default=None)
