"""The files around a written module: the port file, which hands both sides to the judges, and a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compare.errors import RequestError
from compare.porting.drawn_arrays import input_specs
from compare.porting.identifiers import identifier
from compare.porting.input_pipeline import pipeline_docstring
from compare.porting.port_builders import (
    BUILD_JAX,
    BUILD_TF,
    WEIGHTS,
    Builder,
    Original,
    builders_text,
    module_builder,
    original_builder,
)
from compare.porting.port_folders import PORT
from compare.porting.training_source import Training
from compare.porting.written_classes import Written
from workloads.core.precision import NARROW
from workloads.protocol.architecture import Architecture, Tensor, drawn_size

_BATCHES = 4
BATCH = 4
"""Examples of a call that is judged."""


@dataclass(frozen=True)
class Sizes:
    """How large a port is judged.

    Attributes:
      batch: examples of a call, where the model leaves that open; None is `BATCH`.
      steps: of training.
    """

    batch: int | None = None
    steps: int = 10


def judged_batch(architecture: Architecture, sizes: Sizes) -> int:
    """How many examples a call is judged with: the states of stateful layers are made for one number.

    Raises:
      RequestError: the user wants another number.
    """
    stateful = ((layer, leaf) for layer in architecture.source.layers for leaf in layer.leaves if leaf.is_state)
    layer, state = next(stateful, (None, None))
    if layer is None or state is None:
        return sizes.batch or BATCH
    # A layer in the model may be given another number of examples than the model.
    whole = next((graph for graph in architecture.graphs if not graph.model), None)
    batches = [whole.tensors[number].shape[0] for number in whole.inputs.values()] if whole else []
    batch = next((size for size in batches if size is not None), state.shape[0])
    if sizes.batch not in (None, batch):
        raise RequestError(
            f"expected --batch {batch}, which the state of {layer.subject} is made for, found {sizes.batch}: "
            "leave --batch out"
        )
    return batch


def port_name(architecture: Architecture) -> str:
    """The name of the port in records."""
    return identifier(architecture.name, "model")


def sizes_text(architecture: Architecture, sizes: Sizes) -> str:
    """The sizes of a workload. A dimension names the narrow type that it computes in, if any: gates read it there."""
    types = {layer.compute_dtype for layer in architecture.source.layers}
    # In the order of their errors, where a model has both.
    narrow = next((name for name in NARROW if name in types), "")
    narrow_text = f', "{narrow}": 1' if narrow else ""
    batch, comment = judged_batch(architecture, sizes), f"  # computes in {narrow}" if narrow else ""
    return f'sizes={{"default": {{"batch": {batch}{narrow_text}}}}},{comment}'


def port_source(
    architecture: Architecture, source: Written, training: Training, original: Original, sizes: Sizes
) -> str:
    """The port file."""
    with_training = bool(training.text)
    specs = input_specs(architecture, source, with_training)
    then = ", then what is to be predicted" if with_training else ""
    builders = original_builder(original, source, with_training), module_builder(source, training)
    text = PortText(specs, f"inputs of the model{then}", original, *builders, with_training)
    return port_text(architecture, text, sizes)


@dataclass(frozen=True)
class PortText:
    """The text of a port file besides names and sizes.

    Attributes:
      specs: how each input is drawn, as Python.
      arrays: what the inputs are.
      original: where the port finds it.
      tf: what builds it.
      jax: what builds the port.
      with_training: whether it is judged in training too.
    """

    specs: Mapping[str, str]
    arrays: str
    original: Original
    tf: Builder
    jax: Builder
    with_training: bool


def port_text(architecture: Architecture, text: PortText, sizes: Sizes) -> str:
    """The port file."""
    examples = f'''
def examples(dimensions: Mapping[str, int]) -> Mapping[str, Any]:
    """Batches drawn at random: put your own in their place."""
    return drawn_examples(inputs(dimensions), {_BATCHES})

'''
    training = f"    training=Training(synthetic=examples, steps={sizes.steps}),\n" if text.with_training else ""
    name, says = port_name(architecture), pipeline_docstring(architecture.pipeline)
    return f'''"""{name}: what both sides compute. Judge it with `jaxport run {PORT}`.{says}"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workloads import ArraySpec, Training, Workload, drawn_examples, drawn_weights

HERE = Path(__file__).parent
{text.original.constants}


def inputs(dimensions: Mapping[str, int]) -> dict[str, ArraySpec]:
    """The arrays of one call: {text.arrays}."""
    batch = dimensions["batch"]
    return {{
        {" ".join(f"{input_name!r}: {spec}," for input_name, spec in text.specs.items())}
    }}

{examples if text.with_training else ""}
{builders_text(text.tf, text.jax)}


port = Workload(
    name={name!r},
    summary={"written by jaxport init"!r},
    inputs=inputs,
    weights=lambda dimensions: drawn_weights(RECEIPT),
    {sizes_text(architecture, sizes)}
{training}    tf="{PORT}:{BUILD_TF}",
    jax="{PORT}:{BUILD_JAX}",
)
'''


def usage(folder: Path, architecture: Architecture, source: Written, sizes: Sizes) -> tuple[str, ...]:
    """Lines of Python that load a port and call it; none where the model has no call."""
    graph = next((graph for graph in architecture.graphs if not graph.model), None)
    if graph is None:
        return ()
    tensors = [graph.tensors[number] for number in graph.inputs.values()]
    batch = judged_batch(architecture, sizes)
    arguments = ", ".join(f"jnp.zeros({_sizes(tensor, batch)}, {tensor.dtype!r})" for tensor in tensors)
    name, weights = source.class_name, str(folder / WEIGHTS)
    if source.linen:
        return (
            f"import jax, jax.numpy as jnp, jaxport, sys; sys.path.insert(0, {str(folder)!r})",
            f"from model_jax import {name}; model, inputs = {name}(), ({arguments},)",
            f"variables = jaxport.weights.load(jax.eval_shape(model.init, jax.random.key(0), *inputs), {weights!r})",
            "print(model.apply(variables, *inputs))",
        )
    return (
        f"import jax.numpy as jnp, jaxport, sys; from flax import nnx; sys.path.insert(0, {str(folder)!r})",
        f"from model_jax import {name}; model = jaxport.weights.load({name}(rngs=nnx.Rngs(0)), {weights!r})",
        f"model.eval(); print(model({arguments}))",
    )


def _sizes(tensor: Tensor, batch: int) -> tuple[int, ...]:
    return (batch, *(drawn_size(size, len(tensor.shape)) for size in tensor.shape[1:]))[: len(tensor.shape)]


TEST = '''"""The port against the original: run it with `pytest`."""

from typing import Any


def test_the_port_computes_what_the_original_does(port: Any) -> None:
    port("port.py", parity_only=True)
'''
