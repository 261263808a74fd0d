"""Whether two traces of a function compute the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workloads.protocol.function_graph import Body, FunctionGraph

Found = tuple[FunctionGraph, Mapping[str, np.ndarray]]
"""A trace and its constants."""


def differ(one: Found, other: Found) -> bool:
    """Whether two traces differ in more than names, lines, and how exact constants are."""
    (left, of_left), (right, of_right) = one, other
    if left.returned != right.returned or [*map(_outline, left.bodies)] != [*map(_outline, right.bodies)]:
        return True
    return of_left.keys() != of_right.keys() or any(
        not np.array_equal(np.asarray(of_left[key], array.dtype), array, equal_nan=array.dtype.kind in "fc")
        for key, array in of_right.items()
    )


def _outline(body: Body) -> Any:
    """A body without names, lines, and the additions of a trace in another float type."""
    nodes = [
        (
            node.type,
            node.inputs,
            [(result.dtype, result.shape) for result in node.results],
            {name: value for name, value in node.attributes.items() if not name.endswith(":follows")},
            node.bodies,
            node.constant,
        )
        for node in body.nodes
    ]
    return nodes, body.inputs, body.outputs, [effect.type for effect in body.effects]
