"""Predicts what `jaxport init` would write of a model."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from workloads.protocol.architecture import Piped
from workloads.protocol.inspection import Layer


@dataclass(frozen=True)
class PredictedPort:
    """The parts that `jaxport init` would leave unwritten; it writes all others.

    Attributes:
      places: a line for each, as `jaxport init` prints them: the name, the class, the source line and the reason.
      layers: the path of a layer that is left, or is inside of one that is -> the line.
      read: the paths of all layers that the port is of.
      pipeline: the inputs of the port that the original's input pipeline makes.
    """

    places: tuple[str, ...] = ()
    layers: Mapping[str, str] = field(default_factory=dict)
    read: Set[str] = frozenset()
    pipeline: tuple[Piped, ...] = ()

    def line_of(self, layer: Layer) -> str:
        """The line of the place that a layer is a part of; "" where `jaxport init` writes the layer."""
        return self.layers.get(layer.path or layer.name, "")

    def is_ahead(self, layer: Layer) -> bool:
        """Whether a layer stays in the input pipeline: the port starts behind it."""
        return bool(self.pipeline and layer.path) and layer.path not in self.read

    def is_looked_up(self, name: str) -> bool:
        """Whether an input of the original is what its input pipeline looks up."""
        return any(name in stage.of for stage in self.pipeline)
