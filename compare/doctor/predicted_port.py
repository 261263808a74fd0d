"""What `jaxport init` would write of a model, as the judges of the doctor take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads._inspection import Layer


@dataclass(frozen=True)
class PredictedPort:
    """What `jaxport init` would leave to be written; all else it writes.

    Attributes:
      places: a line for each, as `jaxport init` prints them: the name, the class, the source line and the reason.
      layers: the path of a layer that is left, or is inside of one that is -> the line.
    """

    places: tuple[str, ...] = ()
    layers: Mapping[str, str] = field(default_factory=dict)

    def line_of(self, layer: Layer) -> str:
        """The line of the place that a layer is a part of; "" where `jaxport init` writes the layer."""
        return self.layers.get(layer.path or layer.name, "")
