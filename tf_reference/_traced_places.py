"""Where every operation of a traced function comes from: the user's line, and whether a layer of Keras made it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tf_reference._graph_nodes import Place
from tf_reference._sources import callees, users_line

_LAYERS = ("/keras/src/layers/", "/tf_keras/src/layers/")
_CALL = ("/layers/layer.py", "/engine/base_layer.py")
"""Through these a layer of the user's is called as well."""


def places(graph: Any) -> dict[tuple[str, str], Place]:
    """By function and node, where it comes from; "" is the graph itself.

    Args:
      graph: the FuncGraph of a ConcreteFunction.
    """
    return dict(_places(graph, "", "", set()))


def _places(graph: Any, function: str, caller: str, seen_names: set[str]) -> Iterator[tuple[tuple[str, str], Place]]:
    for operation in graph.get_operations():
        frames = list(operation.traceback or ())
        line = users_line(frames)
        yield (function, operation.name), (line or caller, _in_layer(frames, line))
        for name, callee in callees(graph, operation):
            if name not in seen_names:
                seen_names.add(name)
                yield from _places(callee, name, line or caller, seen_names)


def _in_layer(frames: Iterable[Any], line: str) -> bool:
    """Whether the innermost code that is not a framework's machinery is a layer of Keras."""
    after = True
    in_layer = False
    for frame in frames:
        if line and users_line([frame]):
            after, in_layer = True, False
        elif after and any(part in frame.filename for part in _LAYERS):
            in_layer = in_layer or not frame.filename.endswith(_CALL)
    return in_layer
