"""The files around a written module: what hands both sides to the judges, the port file, and a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.errors import RequestError
from compare.porting.drawn_inputs import input_spec, tensor_spec
from compare.porting.identifiers import Names, identifier
from compare.porting.losses_by_name import takes_classes, takes_shares
from compare.porting.safe_expressions import tensors
from compare.porting.trained_outputs import trained_outputs
from compare.porting.training_source import Training
from compare.porting.written_classes import Written
from workloads._architecture import Architecture, Graph, Tensor, TracedStep, drawn_size
from workloads._precision import NARROW

WEIGHTS, RECEIPT = "weights.safetensors", "weights.receipt.json"
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
    """What the port is called in records."""
    return identifier(architecture.name, "model")


def sizes_text(architecture: Architecture, sizes: Sizes) -> str:
    """The sizes of a workload. A dimension names the narrow type that it computes in, if any: gates read it there."""
    types = {layer.compute_dtype for layer in architecture.source.layers}
    # In the order of their errors, where a model has both.
    narrow = next((name for name in NARROW if name in types), "")
    narrow_text = f', "{narrow}": 1' if narrow else ""
    batch, comment = judged_batch(architecture, sizes), f"  # computes in {narrow}" if narrow else ""
    return f'sizes={{"default": {{"batch": {batch}{narrow_text}}}}},{comment}'


def jax_source(source: Written, training: Training) -> str:
    """What hands the port over."""
    imports, arguments = training_arguments(training)
    return f'''"""The port as `jaxport run` takes it."""

from collections.abc import Mapping
from pathlib import Path

from model_jax import {source.class_name}
{imports}
import jaxport

RECEIPT = Path(__file__).parent / {RECEIPT!r}


def build(dimensions: Mapping[str, int], dtype: str) -> jaxport.Model:
    """The port in a float type."""
    return jaxport.ports.flax_port({source.class_name}, RECEIPT, dtype, inputs={len(source.parameters)}{arguments})
'''


def training_arguments(training: Training) -> tuple[str, str]:
    """The import of a training that was written, and the arguments that hand it over; nothing where there is none."""
    names = (
        ["TRAINED"] * training.is_filtered + ["loss"] * (not training.has_own_step) + ["make_optimizer", "train_step"]
    )
    values = {"loss": "loss", "optimizer": "make_optimizer()", "train_step": "train_step", "wrt": "TRAINED"}
    names_passed = {"optimizer", "train_step"} | ({"wrt"} if training.is_filtered else set())
    names_passed |= set() if training.has_own_step else {"loss"}
    arguments = "".join(f", {name}={text}" for name, text in values.items() if name in names_passed and training.text)
    imports = f"from training_jax import {', '.join(names)}\n" if training.text else ""
    return imports, arguments


@dataclass(frozen=True)
class Original:
    """Where a port finds its original.

    Attributes:
      reference: the path of a .keras file, or FILE.py:NAME, from the folder of the port.
      custom: FILE.py:NAME of every class that such a file names and Keras does not have, likewise.
    """

    reference: str
    custom: tuple[str, ...] = ()

    @property
    def constants(self) -> str:
        """Lines that name it, and the receipt of the port."""
        lines = f"ORIGINAL, RECEIPT = str(HERE / {self.reference!r}), HERE / {RECEIPT!r}"
        classes = "".join(f"str(HERE / {reference!r}), " for reference in self.custom)
        return f"{lines}\nCUSTOM = ({classes})" if classes else lines

    @property
    def arguments(self) -> str:
        """The first arguments of what hands it over."""
        return "ORIGINAL, RECEIPT, dtype" + (", custom=CUSTOM" if self.custom else "")


def tf_source(original: Original, source: Written, with_training: bool, says: str = "") -> str:
    """What hands the original over.

    Args:
      with_training: whether it is judged in training too.
      says: further lines of the docstring.
    """
    return f'''"""The original as `jaxport run` takes it.{says}"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tf_reference import Model, keras_port

HERE = Path(__file__).parent
{original.constants}


def build(dimensions: Mapping[str, int], dtype: str) -> Model:
    """The original in a float type."""
    return keras_port({original.arguments}, inputs={len(source.parameters)}, trained={with_training})
'''


def port_source(architecture: Architecture, source: Written, with_training: bool, sizes: Sizes) -> str:
    """The port file.

    Args:
      with_training: whether it is judged in training too.
    """
    specs = input_specs(architecture, source, with_training)
    then = ", then what is to be predicted" if with_training else ""
    return port_text(architecture, specs, sizes, with_training, f"inputs of the model{then}")


def port_text(
    architecture: Architecture, specs: Mapping[str, str], sizes: Sizes, with_training: bool, arrays: str
) -> str:
    """The port file.

    Args:
      with_training: whether it is judged in training too.
    """
    training = f"    training=Training(synthetic=examples, steps={sizes.steps}),\n" if with_training else ""
    examples = f'''
def examples(dimensions: Mapping[str, int]) -> Mapping[str, Any]:
    """Batches drawn at random: put your own in their place."""
    return drawn_examples(inputs(dimensions), {_BATCHES})

'''
    return f'''"""{port_name(architecture)}: what both sides compute. Judge it with `jaxport run port.py`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workloads import ArraySpec, Training, Workload, drawn_examples, drawn_weights

HERE = Path(__file__).parent


def inputs(dimensions: Mapping[str, int]) -> dict[str, ArraySpec]:
    """The arrays of one call: {arrays}."""
    batch = dimensions["batch"]
    return {{
        {" ".join(f"{name!r}: {spec}," for name, spec in specs.items())}
    }}

{examples if with_training else ""}
port = Workload(
    name={port_name(architecture)!r},
    summary={"written by jaxport init"!r},
    inputs=inputs,
    weights=lambda dimensions: drawn_weights(HERE / {RECEIPT!r}),
    {sizes_text(architecture, sizes)}
{training}    tf="build_tf.py:build",
    jax="build_jax.py:build",
)
'''


def usage(folder: Path, architecture: Architecture, source: Written, sizes: Sizes) -> tuple[str, ...]:
    """Three lines of Python that load a port and call it; none where the model has no call."""
    graph = next((graph for graph in architecture.graphs if not graph.model), None)
    if graph is None:
        return ()
    tensors = [graph.tensors[number] for number in graph.inputs.values()]
    batch = judged_batch(architecture, sizes)
    arguments = ", ".join(f"jnp.zeros({_sizes(tensor, batch)}, {tensor.dtype!r})" for tensor in tensors)
    name, weights = source.class_name, str(folder / WEIGHTS)
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


def input_specs(architecture: Architecture, source: Written, with_training: bool) -> dict[str, str]:
    """The inputs of the workload and how each is drawn, as Python.

    Args:
      with_training: whether targets are among them.
    """
    graph = next(graph for graph in architecture.graphs if not graph.model)
    names, specs = Names(), dict[str, str]()
    for name, number in graph.inputs.items():
        wanted_name = source.parameters[name]
        specs[names.of(wanted_name)] = input_spec(architecture, graph, number)
    for wanted_name, spec in _targets(architecture, graph).items() if with_training else ():
        specs[names.of(wanted_name)] = spec
    return specs


def _targets(architecture: Architecture, graph: Graph) -> Mapping[str, str]:
    own = architecture.compiled.own if architecture.compiled else None
    if own is not None and own.traced is not None:
        return _traced_targets(own.traced, [graph.tensors[number] for number in tensors(graph.outputs)])
    outputs = trained_outputs(architecture)
    shapes = architecture.drawn or [graph.tensors[output.tensor].shape for output in outputs]
    losses = [(output.loss, shape) for output, shape in zip(outputs, shapes, strict=True) if output.loss is not None]
    specs: dict[str, str] = {}
    for place, (loss, shape) in enumerate(losses):
        name = "targets" if len(losses) == 1 else f"targets_{place + 1}"
        if takes_classes(loss):
            specs[name] = tensor_spec(Tensor(shape[:-1], "int32"), (0, shape[-1] or 2))
        else:
            specs[name] = tensor_spec(Tensor(shape, "float32"), (0, 1) if takes_shares(loss) else None)
    return specs


def _traced_targets(step: TracedStep, outputs: Sequence[Tensor]) -> Mapping[str, str]:
    """The targets of a step that was traced: between 0 and 1, or numbers of classes."""
    first = len(step.graph.inputs) - step.targets
    symbols = step.graph.tensors[first : first + step.targets]
    specs: dict[str, str] = {}
    for place, (symbol, output) in enumerate(zip(symbols, outputs, strict=False)):
        ends = (0, output.shape[-1] or 2) if symbol.dtype == "int32" else (0, 1)
        specs["targets" if step.targets == 1 else f"targets_{place + 1}"] = tensor_spec(symbol, ends)
    return specs
