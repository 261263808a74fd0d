"""Writes the part of a port that is judged while places are left: drawn values replace the results of places.

Where the training alone is left, that is the whole forward pass. Where the whole cannot be called, or not be judged so,
it is each of the models in it, called for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.porting.drawn_arrays import data_of_step, input_specs
from compare.porting.drawn_inputs import drawn_input, tensor_spec
from compare.porting.identifiers import Names, identifier
from compare.porting.port_builders import (
    BUILD_JAX,
    BUILD_TF,
    Builder,
    Original,
    builders_text,
    imports_of_module,
    training_arguments,
)
from compare.porting.port_source import PortText, Sizes, port_name, port_text, sizes_text
from compare.porting.training_source import Training
from compare.porting.unwritten_places import Place
from compare.porting.written_classes import Written
from compare.porting.written_operations import MODULE
from workloads.protocol.architecture import Architecture, Graph, Tensor

_STRING = "string"
PORT = "rest.py"


@dataclass(frozen=True)
class StandIn:
    """A place with what it returns.

    Attributes:
      place: itself.
      tensor: that it returns.
    """

    place: Place
    tensor: Tensor


@dataclass(frozen=True)
class Part:
    """A model that is judged for itself: the whole, or one in it.

    Attributes:
      graph: of it.
      stands: what stands for the places in it.
    """

    graph: Graph
    stands: Sequence[StandIn]


def judged_parts(architecture: Architecture, source: Written) -> Sequence[Part]:
    """The models that can be judged while places are left, none of which lies in another of them.

    A model cannot where it takes strings, which JAX has no arrays of, or where a place in it is called more than once,
    gives several tensors or is no layer: then the models in it are tried.
    """
    parts: list[Part] = []
    for graph in sorted(architecture.graphs, key=lambda graph: (graph.model != "", graph.model.count("/"))):
        stands = _stand_ins(architecture, source, graph)
        if stands is not None and not any(_is_within(graph.model, part.graph.model) for part in parts):
            parts.append(Part(graph, stands))
    return parts


def _is_within(path: str, around: str) -> bool:
    return not around or path == around or path.startswith(f"{around}/")


def _stand_ins(architecture: Architecture, source: Written, graph: Graph) -> Sequence[StandIn] | None:
    """A value for each place in a model; None where it cannot be judged without them."""
    if any(graph.tensors[number].dtype == _STRING for number in graph.inputs.values()):
        return None
    if any(place.layer and _is_within(graph.model, place.layer) for place in source.places):
        return None
    stands: list[StandIn] = []
    for place in source.places:
        if place.layer and _is_within(place.layer, graph.model):
            tensor = _only_result(architecture, place)
            if tensor is None:
                return None
            stands.append(StandIn(place, tensor))
    return stands


def _only_result(architecture: Architecture, place: Place) -> Tensor | None:
    """The result of a layer's only call; None if it has several calls or results, or is no layer."""
    if not any(layer.path == place.layer and layer.module != MODULE for layer in architecture.source.layers):
        return None
    calls = [(graph, call) for graph in architecture.graphs for call in graph.calls if call.layer == place.layer]
    if len(calls) != 1 or len(calls[0][1].outputs) != 1:
        return None
    graph, call = calls[0]
    return graph.tensors[call.outputs[0]]


def source_without_call(
    architecture: Architecture, source: Written, training: Training, original: Original, sizes: Sizes
) -> str:
    """The port file of a model without a call: each of the models in it, and the training step of the whole."""
    parts, data = judged_parts(architecture, source), data_of_step(architecture)
    names, specs = Names(), dict[str, str]()
    for wanted_name, spec in _specs(architecture, source, parts).items():
        specs[names.of(wanted_name)] = spec
    for wanted_name, array in data.items():
        specs[names.of(wanted_name)] = array.spec
    arrays = "inputs of each model in it, then what the training step takes"
    builders = _tf(original, parts, len(data)), _jax(source, parts, training, len(data))
    return port_text(architecture, PortText(specs, arrays, original, *builders, with_training=True), sizes)


def rest_source(
    architecture: Architecture, source: Written, original: Original, sizes: Sizes, parts: Sequence[Part]
) -> str:
    """The port file of what is written of a model."""
    name, stands = port_name(architecture), [stand for part in parts for stand in part.stands]
    if any(part.graph.model for part in parts):
        about = f"The models in {name}, each called for itself: this holds while the whole is left."
        summary = f"{len(parts)} of the models in it" + (f" without {len(stands)} of their layers" if stands else "")
    else:
        what_is_left = "the places that are left" if stands else "the training"
        about = f"All of {name} but {what_is_left}: this holds while `port.py` does not."
        summary = f"all but {len(stands)} of the layers" if stands else "the forward pass"
    specs = " ".join(f"{spec_name!r}: {spec}," for spec_name, spec in _specs(architecture, source, parts).items())
    return f'''"""{about}"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloads import ArraySpec, Workload, drawn_weights

HERE = Path(__file__).parent
{original.constants}


def inputs(dimensions: Mapping[str, int]) -> dict[str, ArraySpec]:
    """The arrays of one call: inputs of each model, then what stands for the result of each place in it."""
    batch = dimensions["batch"]
    return {{{specs}}}


{builders_text(_tf(original, parts), _jax(source, parts))}


port = Workload(
    name={f"{name}_rest"!r},
    summary={summary!r},
    inputs=inputs,
    weights=lambda dimensions: drawn_weights(RECEIPT),
    {sizes_text(architecture, sizes)}
    tf="{PORT}:{BUILD_TF}",
    jax="{PORT}:{BUILD_JAX}",
)
'''


def _specs(architecture: Architecture, source: Written, parts: Sequence[Part]) -> Mapping[str, str]:
    """How each input is drawn, as Python: those of a model, then what its places return."""
    names, specs, count = Names(), dict[str, str](), 0
    for part in parts:
        inputs = _inputs(architecture, part.graph) if part.graph.model else input_specs(architecture, source, False)
        for wanted_name, spec in inputs.items():
            specs[names.of(wanted_name)] = spec
        for stand in part.stands:
            count += 1
            specs[names.of(f"instead_of_{count}")] = tensor_spec(stand.tensor)
    return specs


def _inputs(architecture: Architecture, graph: Graph) -> Mapping[str, str]:
    names, one = Names(), len(graph.inputs) == 1
    return {
        names.of(identifier(graph.model if one else f"{graph.model}_{name}", "x")): drawn_input(
            architecture, graph, number
        ).spec
        for name, number in graph.inputs.items()
    }


def _tf(original: Original, parts: Sequence[Part], step_inputs: int = 0) -> Builder:
    argument_text = f", step_inputs={step_inputs}" if step_inputs else ""
    text = ""
    for part in parts:
        places = "".join(f"{stand.place.layer!r}, " for stand in part.stands)
        text += f"({part.graph.model!r}, {len(part.graph.inputs)}, ({places})), "
    lines = ('# A model, "" the whole; how many inputs it takes; the places in it.', f"parts = ({text})")
    return Builder(
        ("from tf_reference import keras_rest",),
        f"keras_rest({original.arguments}, parts=parts{argument_text})",
        lines,
    )


def _jax(source: Written, parts: Sequence[Part], training: Training | None = None, step_inputs: int = 0) -> Builder:
    imports, arguments = training_arguments(training) if training else ((), "")
    arguments = f", step_inputs={step_inputs}{arguments}" if training else ""
    text, classes = "", {source.class_name}
    for part in parts:
        model = part.graph.model
        places = "".join(f"({stand.place.owner}, {stand.place.method_name!r}), " for stand in part.stands)
        path = source.names.get(model, model.replace("/", ".")) if model else ""
        text += f"({model!r}, {path!r}, {len(part.graph.inputs)}, ({places})), "
        classes |= {stand.place.owner for stand in part.stands}
    lines = (
        '# A model, "" the whole; where it stands; how many inputs it takes; the methods that are left in it.',
        f"parts = ({text})",
    )
    return Builder(
        (*imports_of_module(sorted(classes)), *imports),
        f"jaxport.ports.flax_rest({source.class_name}, RECEIPT, dtype, parts=parts{arguments})",
        lines,
    )
