"""How the inputs of a model are drawn: by what reads them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compare.errors import RequestError
from compare.porting.safe_expressions import apart, tensors
from workloads.protocol.architecture import Architecture, Graph, Tensor, drawn_size
from workloads.protocol.transfer import SourceLayer

EMBEDDINGS = frozenset({"Embedding", "ReversibleEmbedding"})
"""Layers that look up tokens, of which they make integers."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class DrawnInput:
    """An input or target, and how it is drawn.

    Attributes:
      tensor: that it is.
      ends: between which values; None for a normal distribution.
      count: of the rows or classes that its values are numbers of; None where they are others.
      sizes: the shape that is drawn, where that of the tensor leaves sizes open.
    """

    tensor: Tensor
    ends: Ends | None = None
    count: int | None = None
    sizes: tuple[int | None, ...] | None = None

    @property
    def spec(self) -> str:
        """How it is drawn, as Python."""
        return tensor_spec(self.tensor if self.sizes is None else replace(self.tensor, shape=self.sizes), self.ends)


def drawn_input(architecture: Architecture, graph: Graph, number: int) -> DrawnInput:
    """How an input is drawn: rows of a table that it looks up, or the images that are rescaled."""
    tensor, reading = graph.tensors[number], list(_reading(architecture, graph, number))
    if "int" not in tensor.dtype and all(layer.class_name in EMBEDDINGS for layer in reading) and reading:
        # Keras casts them to integers: an Input of tokens without a dtype has that of floats.
        tensor = replace(tensor, dtype="int32")
    for layer in reading:
        rows, scale = layer.config.get("input_dim"), layer.config.get("scale")
        if layer.class_name in EMBEDDINGS and isinstance(rows, int):
            return DrawnInput(tensor, (0, rows), rows)
        tokens, bounds = layer.config.get("num_tokens"), layer.config.get("bin_boundaries")
        if layer.class_name == "CategoryEncoding" and isinstance(tokens, int):
            return DrawnInput(tensor, (0, tokens))
        if layer.class_name == "Discretization" and isinstance(bounds, list) and bounds:
            return DrawnInput(tensor, _over_all_bins(bounds))
        if layer.class_name == "Rescaling" and isinstance(scale, float) and 0 < scale < 0.1:
            return DrawnInput(tensor, (0, math.ceil(1 / scale)))
    name = next(name for name, graph_input in graph.inputs.items() if graph_input == number)
    sizes = {stage.name: stage.size for stage in architecture.pipeline if not graph.model}
    size = sizes.get(name)
    return DrawnInput(tensor) if size is None else DrawnInput(tensor, (0, size), size)


def tensor_spec(tensor: Tensor, ends: Ends | None = None) -> str:
    """How an array is drawn, as Python.

    Args:
      ends: between which values; None for a normal distribution.
    """
    sizes = list(tensor.shape)
    if any(size == 0 for size in sizes):
        raise RequestError(f"expected inputs that hold something, found one of shape {sizes}")
    names = ["batch", *(str(drawn_size(size, len(sizes))) for size in sizes[1:])][: len(sizes)]
    shape = f"({', '.join(names)}{',' * bool(sizes)})"
    dtype = "" if tensor.dtype == "float32" else f", {tensor.dtype!r}"
    return f"ArraySpec({shape}{dtype}{'' if ends is None else f', low={ends[0]!r}, high={ends[1]!r}'})"


def _over_all_bins(bounds: Sequence[Any]) -> Ends:
    """Ends between which values fall into every bin, the first and the last among them."""
    low, high = float(bounds[0]), float(bounds[-1])
    aside = max(1.0, (high - low) / len(bounds))
    return math.floor(low - aside), math.ceil(high + aside)


def _reading(architecture: Architecture, graph: Graph, number: int) -> Iterator[SourceLayer]:
    """The layers that read a tensor, those in models that are given it too."""
    layers = {layer.path: layer for layer in architecture.source.layers}
    inner = {part.model: part for part in architecture.graphs if part.model}
    for call in graph.calls:
        # In the order in which a model takes them, that of a dict by its keys.
        call_inputs, layer = tensors(apart(list(call.arguments))), layers.get(call.layer)
        if number not in call_inputs or layer is None:
            continue
        inner_inputs = list(inner[call.layer].inputs.values()) if call.layer in inner else []
        if len(inner_inputs) == len(call_inputs) and not inner[call.layer].traced:
            yield from _reading(architecture, inner[call.layer], inner_inputs[call_inputs.index(number)])
        elif layer.class_name == "Cast":
            yield from _reading(architecture, graph, call.outputs[0])
        else:
            yield layer
