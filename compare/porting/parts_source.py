"""What of a port is judged while the call of the whole is left: the models in it, each called for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.porting.drawn_inputs import input_spec
from compare.porting.identifiers import Names, identifier
from compare.porting.port_source import RECEIPT, Original, Sizes, port_name
from compare.porting.rest_source import BUILDS, PORT, port_text
from compare.porting.written_classes import Written
from workloads._architecture import Architecture, Graph


def parts(architecture: Architecture, written: Written) -> Sequence[Graph]:
    """The models in a model that can be judged for themselves: those in none of them, without a place.

    Args:
      architecture: of a model whose own call is left.
      written: its module.
    """
    paths = [graph.model for graph in architecture.graphs]
    left = [place.layer for place in written.places]

    def within(path: str, around: str) -> bool:
        return path.startswith(f"{around}/")

    return [
        graph
        for graph in architecture.graphs
        if not any(within(graph.model, other) for other in paths)
        and not any(path == graph.model or within(path, graph.model) for path in left)
    ]


def parts_texts(
    architecture: Architecture, written: Written, original: Original, sizes: Sizes, graphs: Sequence[Graph]
) -> Mapping[str, str]:
    """What is written of them, by the name of the file.

    Args:
      architecture: of the model.
      written: its module.
      original: where it is.
      sizes: that they are judged at.
      graphs: of the models that are judged.
    """
    name = port_name(architecture)
    return {
        PORT: port_text(
            architecture,
            sizes,
            _specs(architecture, graphs),
            about=f"The models in {name}, each called for itself: this holds while the call of the whole is left.",
            arrays="The inputs of each model, one after the other.",
            summary=f"the {len(graphs)} models in it",
        ),
        BUILDS["tf"]: _tf(original, graphs),
        BUILDS["jax"]: _jax(written, graphs),
    }


def _specs(architecture: Architecture, graphs: Sequence[Graph]) -> dict[str, str]:
    names, specs = Names(), dict[str, str]()
    for graph in graphs:
        for name, number in graph.inputs.items():
            wanted = names.of(identifier(graph.model if len(graph.inputs) == 1 else f"{graph.model}_{name}", "x"))
            specs[wanted] = input_spec(architecture, graph, number)
    return specs


def _tf(original: Original, graphs: Sequence[Graph]) -> str:
    parts = "".join(f"({graph.model!r}, {len(graph.inputs)}), " for graph in graphs)
    return f'''"""The models in the original, as `jaxport run` takes them."""

from collections.abc import Mapping
from pathlib import Path

from tf_reference import Model, keras_parts

HERE = Path(__file__).parent
{original.constants}
PARTS = ({parts})


def build(dimensions: Mapping[str, int], dtype: str) -> Model:
    """The models in a float type."""
    return keras_parts({original.arguments}, parts=PARTS)
'''


def _jax(written: Written, graphs: Sequence[Graph]) -> str:
    paths = {graph.model: written.names.get(graph.model, graph.model.replace("/", ".")) for graph in graphs}
    parts = "".join(f"({graph.model!r}, {paths[graph.model]!r}, {len(graph.inputs)}), " for graph in graphs)
    return f'''"""The models in the port, as `jaxport run` takes them."""

from collections.abc import Mapping
from pathlib import Path

from model_jax import {written.class_name}
import jaxport

RECEIPT = Path(__file__).parent / {RECEIPT!r}
PARTS = ({parts})


def build(dimensions: Mapping[str, int], dtype: str) -> jaxport.Model:
    """The port in a float type."""
    return jaxport.ports.flax_parts({written.class_name}, RECEIPT, dtype, parts=PARTS)
'''
