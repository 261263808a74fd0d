"""The layers that a model holds and its call never reaches: a port of the call has no modules of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compare.porting.unwritten_places import Place
from workloads.protocol.architecture import UNKNOWN, Architecture

_WEIGHTS = ("Variable", "ResourceVariable")
"""Classes of weights, by which a call names an argument that is one."""

UNCALLED = "the call of the model does not use them"


def uncalled_layers(architecture: Architecture, places: Iterable[Place]) -> tuple[str, ...]:
    """The paths of layers whose own weights the call of the model does not use, as its graphs have it.

    These are layers that no call reaches, and models that compute with layers alone and keep weights beside them.
    There are none where an operation is given a weight, since the graph does not say whose it is.

    Args:
      places: that were not written: what such a layer holds counts as called.
    """
    if any(_has_weight((*call.arguments, call.keywords)) for graph in architecture.graphs for call in graph.calls):
        return ()
    layers_unwritten = {place.layer for place in places}
    reach = _Reached(architecture, layers_unwritten)
    reach.add("")
    own = architecture.compiled.own if architecture.compiled else None
    for path in own.uses if own else ():
        reach.add(path)
    # The calls of layers are all that such a model computes.
    of_layers = {graph.model for graph in architecture.graphs if graph.calls and not graph.traced} - layers_unwritten
    return tuple(
        layer.path
        for layer in architecture.source.layers
        if layer.path not in reach.paths or (layer.leaves and layer.path in of_layers)
    )


def _has_weight(argument: object) -> bool:
    """Whether an argument is, or holds, a weight that is handed over as it is."""
    if isinstance(argument, Mapping):
        return argument.get(UNKNOWN) in _WEIGHTS or any(map(_has_weight, argument.values()))
    return isinstance(argument, list | tuple) and any(map(_has_weight, argument))


class _Reached:
    """The layers that are called, found from the outermost call on."""

    def __init__(self, architecture: Architecture, layers_unwritten: set[str]) -> None:
        self.paths: set[str] = set()
        self._layers = {layer.path: layer for layer in architecture.source.layers}
        self._shared = architecture.source.shared
        self._calls = {
            graph.model: [call.layer for call in graph.calls]
            for graph in architecture.graphs
            if graph.model not in layers_unwritten
        }
        self._holders = {leaf.key: layer.path for layer in self._layers.values() for leaf in layer.leaves}

    def add(self, path: str) -> None:
        path = self._first(path)
        if path in self.paths:
            return
        self.paths.add(path)
        for inner in self._calls[path] if path in self._calls else self._paths_below(path):
            self.add(inner)
        layer = self._layers.get(path)
        for leaf in layer.leaves if layer else ():
            if leaf.tied:
                self.add(self._holders[leaf.tied])

    def _first(self, path: str) -> str:
        """The path that a layer stands under first."""
        for alias, first in self._shared.items():
            if path == alias or path.startswith(f"{alias}/"):
                return f"{first}{path[len(alias) :]}"
        return path

    def _paths_below(self, path: str) -> list[str]:
        """The paths of all layers within a layer: a call that is not known may use any of them."""
        below = f"{path}/" if path else ""
        return [other for other in (*self._layers, *self._shared) if other != path and other.startswith(below)]
