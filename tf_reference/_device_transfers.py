"""What a graph of TensorFlow's exchanges between devices: its collective operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tf_reference._sources import callees, users_line
from workloads._distributing import Collective

_KINDS = ("Collective", "Nccl")
_SETTING_UP = ("CollectiveInitializeCommunicator", "CollectiveAssignGroup")
"""They exchange no array."""


def transfers(graph: Any) -> list[Collective]:
    """The collective operations of a traced function and of all that it calls, those of one device alone.

    Every device has the same; of a group only its size stands in the graph.

    Args:
      graph: the FuncGraph of a ConcreteFunction.
    """
    collectives = list(_of_all(graph, "", set()))
    first = next((device for device, _ in collectives), "")
    return [collective for device, collective in collectives if device == first]


def _of_all(graph: Any, caller: str, seen_names: set[str]) -> Iterator[tuple[str, Collective]]:
    for operation in graph.get_operations():
        line = users_line(list(operation.traceback or ())) or caller
        if operation.type.startswith(_KINDS) and operation.type not in _SETTING_UP:
            tensor = operation.inputs[0]
            size = tensor.dtype.size * (tensor.shape.num_elements() or 0)
            yield operation.device, Collective(operation.type, 1, size, source=line)
        for name, callee in callees(graph, operation):
            if name not in seen_names:
                seen_names.add(name)
                yield from _of_all(callee, line, seen_names)
