"""The arrays that a port is judged and trained with, by name: the inputs of its model, then what is to be predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compare.porting.drawn_inputs import DrawnInput, drawn_input
from compare.porting.identifiers import Names
from compare.porting.losses_by_name import takes_classes, takes_shares
from compare.porting.safe_expressions import tensors
from compare.porting.trained_outputs import trained_outputs
from compare.porting.written_classes import Written
from workloads.protocol.architecture import Architecture, Graph, Tensor, TracedStep

Arrays = Mapping[str, DrawnInput]


def input_specs(architecture: Architecture, source: Written, with_training: bool) -> dict[str, str]:
    """The inputs of the workload and how each is drawn, as Python.

    Args:
      with_training: whether targets are among them.
    """
    inputs, targets = inputs_and_targets(architecture, source, with_training)
    return {name: array.spec for name, array in {**inputs, **targets}.items()}


def inputs_and_targets(architecture: Architecture, source: Written, with_training: bool) -> tuple[Arrays, Arrays]:
    """The inputs of a model's call, and the targets of its training step.

    Args:
      with_training: whether there are targets.
    """
    graph = next(graph for graph in architecture.graphs if not graph.model)
    names = Names()
    inputs = {
        names.of(source.parameters[name]): drawn_input(architecture, graph, number)
        for name, number in graph.inputs.items()
    }
    drawn_targets = list(_targets(architecture, graph)) if with_training else []
    wanted_names = ["targets"] if len(drawn_targets) == 1 else [f"targets_{n + 1}" for n in range(len(drawn_targets))]
    return inputs, {names.of(name): array for name, array in zip(wanted_names, drawn_targets, strict=True)}


def data_of_step(architecture: Architecture) -> Arrays:
    """The inputs of the training step of a model without a call."""
    assert architecture.step is not None
    graph = architecture.step.graph
    tensors_taken = graph.tensors[: len(graph.inputs)]
    if len(tensors_taken) == 1:
        return {"data": DrawnInput(tensors_taken[0])}
    return {f"data_{number + 1}": DrawnInput(tensor) for number, tensor in enumerate(tensors_taken)}


def _targets(architecture: Architecture, graph: Graph) -> Iterator[DrawnInput]:
    own = architecture.compiled.own if architecture.compiled else None
    if own is not None and own.traced is not None:
        yield from _traced_targets(own.traced, [graph.tensors[number] for number in tensors(graph.outputs)])
        return
    for place, output in enumerate(trained_outputs(architecture)):
        loss, shape = output.loss, graph.tensors[output.tensor].shape
        if loss is None:
            continue
        sizes = architecture.drawn[place] if architecture.drawn else shape
        if takes_classes(loss):
            # An open number of classes is drawn as two.
            yield DrawnInput(Tensor(shape[:-1], "int32"), (0, sizes[-1] or 2), sizes[-1], sizes[:-1])
        else:
            yield DrawnInput(Tensor(shape, "float32"), (0, 1) if takes_shares(loss) else None, sizes=sizes)


def _traced_targets(step: TracedStep, outputs: Sequence[Tensor]) -> Iterator[DrawnInput]:
    """The targets of a step that was traced: between 0 and 1, or numbers of classes."""
    first = len(step.graph.inputs) - step.targets
    symbols = step.graph.tensors[first : first + step.targets]
    for symbol, output in zip(symbols, outputs, strict=False):
        if symbol.dtype == "int32":
            yield DrawnInput(symbol, (0, output.shape[-1] or 2), output.shape[-1])
        else:
            yield DrawnInput(symbol, (0, 1))
