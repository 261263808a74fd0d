"""The outputs of a model as its training sees them: the place of each in what is returned, its loss and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compare.porting.losses_by_name import Operands
from compare.porting.safe_expressions import UnwritableError, tensors
from workloads.protocol.architecture import TUPLE, Architecture, Compiled, Described, Graph


@dataclass(frozen=True)
class TrainedOutput:
    """One output.

    Attributes:
      tensor: its number.
      dtype: of it.
      place: the subscripts that reach it in what is returned: "", "[0]", "['classes']".
      of: the expressions of its target and of itself.
      loss: that it was compiled with; None without one, and then it has no target.
      weight: what the loss is multiplied with.
      metrics: of it.
      mask: the variable of the mask that it carries; "" without one.
    """

    tensor: int
    dtype: str
    place: str
    of: Operands
    loss: Described | None
    weight: float = 1.0
    metrics: tuple[Described, ...] = ()
    mask: str = ""


def trained_outputs(architecture: Architecture) -> Sequence[TrainedOutput]:
    """Every output, in the order of Keras: a dict by its sorted keys.

    Raises:
      UnwritableError: it returns what is no tensor.
    """
    graph = next(graph for graph in architecture.graphs if not graph.model)
    compiled = architecture.compiled or Compiled()
    places = list(_places(graph.outputs, ""))
    losses = _losses(compiled, len(places))
    if len(losses) != len(places):
        raise UnwritableError("it returns what is no tensor")
    several = sum(loss is not None for loss in losses) > 1
    outputs: list[TrainedOutput] = []
    masks = dict(zip((tensor for tensor, _ in graph.masks), mask_names(graph), strict=True))
    for index, (tensor, place) in enumerate(places):
        target = sum(loss is not None for loss in losses[:index])
        of = Operands(f"targets[{target}]" if several else "targets", f"predictions{place}")
        weight = compiled.weights[index] if compiled.weights else 1.0
        metrics = compiled.metrics[index] if compiled.metrics else ()
        mask, dtype = masks.get(tensor, ""), graph.tensors[tensor].dtype
        outputs.append(TrainedOutput(tensor, dtype, place, of, losses[index], weight, metrics, mask))
    return outputs


def mask_names(graph: Graph) -> Sequence[str]:
    """The variables of the masks that results carry, in the order in which a module returns them."""
    return ["mask"] if len(graph.masks) == 1 else [f"mask_{number}" for number in range(1, len(graph.masks) + 1)]


def only(outputs: Sequence[TrainedOutput]) -> TrainedOutput:
    """The output of a model that returns one array.

    Raises:
      UnwritableError: it returns several.
    """
    if len(outputs) != 1:
        raise UnwritableError("its own code takes a loss of all outputs at once")
    return outputs[0]


def _losses(compiled: Compiled, count: int) -> Sequence[Described | None]:
    """By output; a train_step of the user's own may have them alone."""
    own = [term.loss for term in compiled.own.terms if term.loss is not None] if compiled.own else []
    if own and count == 1 and not any(compiled.losses):
        return own[:1]
    return compiled.losses or (None,) * count


def _places(nest: Any, place: str) -> Iterator[tuple[int, str]]:
    """The number of each tensor in a nest, and the subscripts that reach it."""
    if isinstance(nest, dict) and "dict" in nest:
        for key, part in sorted(nest["dict"]):
            yield from _places(part, f"{place}[{key!r}]")
        return
    if isinstance(nest, dict) and TUPLE in nest:
        nest = nest[TUPLE]
    if isinstance(nest, list):
        for index, part in enumerate(nest):
            yield from _places(part, f"{place}[{index}]")
        return
    yield from ((number, place) for number in tensors(nest))
