"""What of a port is judged while places are left: all but these, with drawn values that stand for what they return.

Where the training alone is left, that is the whole forward pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.porting.drawn_inputs import tensor_spec
from compare.porting.port_source import RECEIPT, Original, Sizes, input_specs, port_name, sizes_text
from compare.porting.unwritten_places import Place
from compare.porting.written_classes import Written
from compare.porting.written_operations import MODULE
from workloads._architecture import Architecture, Tensor

_STRING = "string"
PORT, BUILDS = "rest.py", {"tf": "build_rest_tf.py", "jax": "build_rest_jax.py"}


@dataclass(frozen=True)
class StandIn:
    """A place with what it returns.

    Attributes:
      place: itself.
      tensor: that it returns.
    """

    place: Place
    tensor: Tensor


def stand_ins(architecture: Architecture, written: Written) -> Sequence[StandIn] | None:
    """A value for each place; None where what is written cannot be judged without the places.

    That is so where a place is called more than once, gives several tensors or is no layer, and where the model takes
    strings, which JAX has no arrays of.

    Args:
      architecture: of the model.
      written: its module.
    """
    root = next((graph for graph in architecture.graphs if not graph.model), None)
    if root is not None and any(root.tensors[number].dtype == _STRING for number in root.inputs.values()):
        return None
    stands: list[StandIn] = []
    layers = {layer.path for layer in architecture.source.layers if layer.module != MODULE}
    for place in written.places:
        calls = [(graph, call) for graph in architecture.graphs for call in graph.calls if call.layer == place.layer]
        if len(calls) != 1 or len(calls[0][1].outputs) != 1 or place.layer not in layers:
            return None
        graph, call = calls[0]
        stands.append(StandIn(place, graph.tensors[call.outputs[0]]))
    return stands


def rest_texts(
    architecture: Architecture, written: Written, original: Original, sizes: Sizes, stands: Sequence[StandIn]
) -> Mapping[str, str]:
    """What is written of it, by the name of the file.

    Args:
      architecture: of the model.
      written: its module.
      original: where it is.
      sizes: that it is judged at.
      stands: the values that stand for its places.
    """
    return {
        PORT: _port(architecture, written, sizes, stands),
        BUILDS["tf"]: _tf(original, written, stands),
        BUILDS["jax"]: _jax(written, stands),
    }


def _port(architecture: Architecture, written: Written, sizes: Sizes, stands: Sequence[StandIn]) -> str:
    specs = input_specs(architecture, written, trained=False)
    left = "the places that are left" if stands else "the training"
    specs |= {f"instead_of_{number}": tensor_spec(stand.tensor) for number, stand in enumerate(stands, 1)}
    return port_text(
        architecture,
        sizes,
        specs,
        about=f"All of {port_name(architecture)} but {left}: this holds while `port.py` does not.",
        arrays="The arrays of one call: inputs of the model, then what stands for the result of each place.",
        summary=f"all but {len(stands)} of the layers" if stands else "the forward pass",
    )


def port_text(
    architecture: Architecture, sizes: Sizes, specs: Mapping[str, str], *, about: str, arrays: str, summary: str
) -> str:
    """The port file of what is judged of a model.

    Args:
      architecture: of the model.
      sizes: that it is judged at.
      specs: of its inputs, by name.
      about: what the file says of itself.
      arrays: what it says of its inputs.
      summary: of the workload.
    """
    told = " ".join(f"{name!r}: {spec}," for name, spec in specs.items())
    return f'''"""{about}"""

from collections.abc import Mapping
from pathlib import Path

from workloads import ArraySpec, Workload, drawn_weights

HERE = Path(__file__).parent


def inputs(dimensions: Mapping[str, int]) -> dict[str, ArraySpec]:
    """{arrays}"""
    batch = dimensions["batch"]
    return {{{told}}}


port = Workload(
    name={f"{port_name(architecture)}_rest"!r},
    summary={summary!r},
    inputs=inputs,
    weights=lambda dimensions: drawn_weights(HERE / {RECEIPT!r}),
    {sizes_text(architecture, sizes)}
    tf="{BUILDS["tf"]}:build",
    jax="{BUILDS["jax"]}:build",
)
'''


def _tf(original: Original, written: Written, stands: Sequence[StandIn]) -> str:
    places = "".join(f"{stand.place.layer!r}, " for stand in stands)
    return f'''"""All of the original but its places that are left, as `jaxport run` takes it."""

from collections.abc import Mapping
from pathlib import Path

from tf_reference import Model, keras_rest

HERE = Path(__file__).parent
{original.constants}
PLACES = ({places})


def build(dimensions: Mapping[str, int], dtype: str) -> Model:
    """The original in a float type."""
    return keras_rest({original.arguments}, inputs={len(written.parameters)}, places=PLACES)
'''


def _jax(written: Written, stands: Sequence[StandIn]) -> str:
    places = "".join(f"({stand.place.owner}, {stand.place.method_name!r}), " for stand in stands)
    count = len(written.parameters)
    classes = ", ".join(sorted({written.class_name, *(stand.place.owner for stand in stands)}))
    return f'''"""All of the port but its places that are left, as `jaxport run` takes it."""

from collections.abc import Mapping
from pathlib import Path

from model_jax import {classes}
import jaxport

RECEIPT = Path(__file__).parent / {RECEIPT!r}
PLACES = ({places})


def build(dimensions: Mapping[str, int], dtype: str) -> jaxport.Model:
    """The port in a float type."""
    return jaxport.ports.flax_rest({written.class_name}, RECEIPT, dtype, inputs={count}, places=PLACES)
'''
