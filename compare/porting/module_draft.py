"""A module on its way: what is read of the model, and what is written of the module so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from compare.porting.class_text import WrittenClass
from compare.porting.held_layers import HeldLayers
from compare.porting.identifiers import Names, identifier, snake
from compare.porting.penalties import Penalties
from compare.porting.read_attributes import ReadAttributes
from compare.porting.safe_expressions import apart, tensors
from compare.porting.styles import Style
from compare.porting.unwritten_places import Place
from compare.porting.written_blocks import Blocks
from workloads.protocol.architecture import TUPLE, Architecture, Graph
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import SourceLayer


class Draft:
    """The shared state of a module's classes.

    Attributes:
      architecture: of the model.
      style: of the classes.
      layers: by path; each notes which of its attributes are read.
      graphs: of the model and of those in it, by path.
      places: that are left, of the classes that are written.
      remarks: what a reader should know.
      constants: that the module reads from a file, by name.
      penalties: of activities.
      blocks: the classes that are written.
      held: the layers that each model has as attributes.
    """

    def __init__(self, architecture: Architecture, style: Style) -> None:
        self.architecture, self.style = architecture, style
        self.layers = {
            layer.path: replace(layer, config=ReadAttributes(layer.config)) for layer in architecture.source.layers
        }
        self.graphs = {graph.model: _with_listed_outputs(graph) for graph in architecture.graphs}
        self.places: list[Place] = []
        self.remarks: list[str] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.penalties = Penalties(architecture)
        self.blocks = Blocks(architecture, self.layers, self.penalties, Names())
        self.held = HeldLayers(architecture, self.layers, self.graphs, self.blocks.canonical, self.blocks.names)

    def leave(self, owner: WrittenClass, layer: SourceLayer, reason: str) -> None:
        """Leave the call of a layer to be written, as a method of a class."""
        attribute = owner.attributes[layer.path] = owner.names.of(identifier(layer.step, snake(layer.class_name)))
        owner.places.append(self.place_of(layer, attribute, reason, owner.name))

    def place_of(self, layer: SourceLayer, method: str, reason: str, owner: str) -> Place:
        """The place of a layer that is not written.

        Args:
          method: that stands for its call.
          reason: why it is not written.
        """
        line = self.architecture.lines.get(layer.path, "")
        return Place(layer.path, layer.class_name, method, line, reason, bool(layer.leaves), owner)


def _with_listed_outputs(graph: Graph) -> Graph:
    """A graph of a model in another that returns a tensor, or a tuple of such: no names, and no None."""
    flat = [output for output in apart(graph.outputs) if output is not None]
    outputs_listed: Plain = flat[0] if len(flat) == 1 else {TUPLE: flat}
    # What was traced returns its tensors in the order of its own nest.
    keeps_order = not graph.traced or tensors(outputs_listed) == tensors(graph.outputs)
    return replace(graph, outputs=outputs_listed) if graph.model and keeps_order else graph
