"""Collects the facts for the README of a port, of a model or of a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.porting import training_script
from compare.porting.class_text import shape_text
from compare.porting.port_builders import WEIGHTS, Original
from compare.porting.port_source import Sizes, port_name
from compare.porting.safe_expressions import tensors
from compare.porting.training_source import Training
from compare.porting.written_classes import Written
from workloads.protocol.architecture import Architecture, Tensor, drawn_size


@dataclass(frozen=True)
class PortFacts:
    """The facts about a written port.

    Attributes:
      name: of the port.
      what: the kind of code that it is.
      original: its path, or FILE.py:NAME, from the folder of the port.
      subject: the class or function.
      module: the file of that.
      inputs: names and types of what it takes; "" of a model without a call.
      outputs: types of what it returns; "" where they are not said here.
      loading: lines of Python, run in the folder, after which it can be called.
      obstacle: why there is no script that trains it; "" where there is one.
      steps: of training that are judged; None where it is not trained.
    """

    name: str
    what: str
    original: str
    subject: str
    module: str
    inputs: str
    outputs: str
    loading: Sequence[str]
    obstacle: str
    steps: int | None = None


def facts_of_model(
    architecture: Architecture, source: Written, training: Training, original: Original, sizes: Sizes
) -> PortFacts:
    """The facts about the port of a Keras model."""
    name = source.class_name
    inputs, outputs = _signature(architecture, source)
    return PortFacts(
        name=port_name(architecture),
        what="A Flax Linen port" if source.linen else "A Flax NNX port",
        original=original.reference,
        subject=name,
        module="model_jax.py",
        inputs=inputs,
        outputs=outputs,
        loading=_linen_loading(architecture, source) if source.linen else _loading(name),
        obstacle=training_script.find_obstacle(architecture, source, training),
        steps=sizes.steps if training.text else None,
    )


def _loading(name: str) -> Sequence[str]:
    return (
        "import jaxport",
        "from flax import nnx",
        f"from model_jax import {name}",
        f'model = jaxport.weights.load({name}(rngs=nnx.Rngs(0)), "{WEIGHTS}")',
        "model.eval()",
    )


def _linen_loading(architecture: Architecture, source: Written) -> Sequence[str]:
    (graph,) = (graph for graph in architecture.graphs if not graph.model)
    tensors_read = [graph.tensors[number] for number in graph.inputs.values()]
    # `init` calls the module, so that sizes which the input leaves open have to survive its pooling.
    shapes = [
        tuple(drawn_size(size, len(tensor.shape)) if axis else size or 1 for axis, size in enumerate(tensor.shape))
        for tensor in tensors_read
    ]
    inputs = ", ".join(
        f"jnp.zeros({shape}, {tensor.dtype!r})" for shape, tensor in zip(shapes, tensors_read, strict=True)
    )
    return (
        "import jax",
        "import jax.numpy as jnp",
        "import jaxport",
        f"from model_jax import {source.class_name}",
        f"model = {source.class_name}()",
        f"shapes = jax.eval_shape(model.init, jax.random.key(0), {inputs})",
        f'variables = jaxport.weights.load(shapes, "{WEIGHTS}")',
    )


def _signature(architecture: Architecture, source: Written) -> tuple[str, str]:
    graph = next((graph for graph in architecture.graphs if not graph.model), None)
    if graph is None:
        return "", ""
    inputs = [f"{source.parameters[name]} {_type(graph.tensors[number])}" for name, number in graph.inputs.items()]
    outputs = [_type(graph.tensors[number]) for number in tensors(graph.outputs)]
    return ", ".join(inputs), ", ".join(outputs)


def _type(tensor: Tensor) -> str:
    return f"{tensor.dtype}{shape_text(tensor.shape)}"
