"""Finds the layers that a model holds, and those that it borrows from another model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compare.porting.class_text import WrittenClass
from compare.porting.safe_expressions import UnwritableError
from compare.porting.written_calls import ATTENTION_MASKS
from compare.porting.written_layers import parts_of
from workloads.protocol.architecture import Architecture, Graph
from workloads.protocol.transfer import SourceLayer


class HeldLayers:
    """The layers of an architecture, by the model that holds them.

    Args:
      layers: by path.
      graphs: of the models in it, by path.
      canonical: gives the first path of a layer that stands in several places.
      names: where modules stand, by the path of their layers; each module that is written adds its own.

    Attributes:
      masked: layers whose module takes a mask.
      wrapped: by layer, the one whose module has its module.
    """

    def __init__(
        self,
        architecture: Architecture,
        layers: Mapping[str, SourceLayer],
        graphs: Mapping[str, Graph],
        canonical: Callable[[str], str],
        names: Mapping[str, str],
    ) -> None:
        self._architecture, self._layers, self._graphs = architecture, layers, graphs
        self._canonical, self._names = canonical, names
        self.masked: set[str] = set()
        self.wrapped: dict[str, str] = {}

    def layers_in(self, path: str) -> list[SourceLayer]:
        """The layers that stand in one themselves."""
        return [layer for layer in self._layers.values() if layer.parent == path]

    def layers_below(self, path: str) -> list[SourceLayer]:
        """The layers in one, and those in these."""
        return [layer for other, layer in self._layers.items() if other.startswith(f"{path}/")]

    def is_masked(self, graph: Graph, path: str) -> bool:
        """Whether a model calls a layer with a mask."""
        calls = (call for call in graph.calls if self._canonical(call.layer) == path)
        return any(name in ATTENTION_MASKS for call in calls for name in call.keywords)

    def layers_called_by(self, graph: Graph) -> list[str]:
        """The layers that a model calls, in the order in which it lists them; the training step of the whole too."""
        paths_called = {self._canonical(call.layer) for call in graph.calls}
        own = self._architecture.compiled.own if self._architecture.compiled and not graph.model else None
        paths_called.update(own.uses if own else ())
        return [path for path in self._layers if path in paths_called]

    def layers_lent_to(self, path: str) -> list[SourceLayer]:
        """The layers in one that stand elsewhere first."""
        aliases = self._architecture.source.shared.items()
        return [self._layers[first] for alias, first in aliases if alias.rpartition("/")[0] == path]

    def layers_borrowed_by(self, graph: Graph) -> list[str]:
        """The layers that a model calls and another one holds."""
        paths_called = self.layers_called_by(graph)
        own = {path for path in paths_called if self._holder(path) == graph.model}
        return [path for path in paths_called if path not in own and not any(path.startswith(f"{one}/") for one in own)]

    def _holder(self, path: str) -> str:
        """The model that holds a layer: where that which has it first is never called, the first one that is."""
        home = self._layers[path].parent or ""
        is_left = any(
            home == unwritten_path or home.startswith(f"{unwritten_path}/") or not unwritten_path
            for unwritten_path in self._architecture.reasons
        )
        if not home or home in self._graphs or is_left or not self._layers[home].container:
            return home
        others = (
            again.rpartition("/")[0] for again, first in self._architecture.source.shared.items() if first == path
        )
        return next((other for other in others if other in self._graphs), home)

    def can_lend(self, owner: WrittenClass, graph: Graph, path: str) -> bool:
        """Whether a class makes the module of a layer before the model that borrows it, in the form that this needs."""
        is_made = any(path == held_path or path.startswith(f"{held_path}/") for held_path in owner.attributes)
        try:
            without, needed_modules = (
                parts_of(self._layers[path], self.layers_in, is_masked=is_masked).modules
                for is_masked in (False, self.is_masked(graph, path))
            )
        except UnwritableError:
            return False
        return is_made and [*needed_modules] == [""] and (needed_modules == without or path in self.masked)

    def place_from(self, path: str, target: str) -> str:
        """Where the module of a layer stands, seen from another one."""
        path = self.wrapped.get(path, path)
        place = self._names.get(path, path.replace("/", "."))
        return place.removeprefix(f"{target}.") if target else place

    def places_lent_to(self, owner: WrittenClass, graph: Graph, target: str) -> list[str]:
        """Where a class has what a model in it borrows: it may have borrowed that itself.

        Args:
          target: the path of the module of the class.
        """
        return [owner.attributes.get(path, self.place_from(path, target)) for path in self.layers_borrowed_by(graph)]
