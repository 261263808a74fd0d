"""Writes the penalties of regularizers: those of weights read the module, those of activities the results of calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compare.porting.identifiers import comment_text
from compare.porting.linen_training import variable_text
from compare.porting.safe_expressions import UnwritableError, literal
from compare.porting.written_classes import Written
from compare.weights.all_rules import rules_of
from compare.weights.matching import join_path
from compare.weights.transforms import IDENTITY, Identity, Permute, Reshape, Split, Transform, Transpose
from workloads.protocol.architecture import Architecture, Graph, Penalty
from workloads.protocol.transfer import SourceLayer

ADDED = "penalty"
"""The variable of a method that sums the penalties of activities."""

OF_INNER = "added"
"""The variable of what a model in it adds."""

_JUDGED_TYPE = "float32"
_OF_ELEMENTS = ("L1", "L2", "L1L2")
"""Regularizers that are sums over the elements of an array."""

_REARRANGED = (Identity, Reshape, Transpose, Split, Permute)
"""Layers that leave every element as it is."""


def penalty_expression(penalty: Penalty, array: str) -> str:
    """The penalty of a regularizer for an array; "" if its factors are 0.

    Raises:
      UnwritableError: the regularizer is not written here.
    """
    regularizer, config = penalty.regularizer, penalty.regularizer.config
    if not regularizer.own:
        raise _unwritable(penalty)
    if regularizer.class_name == "OrthogonalRegularizer":
        arguments = f"{literal(config.get('factor'))}, {literal(config.get('mode'))}"
        return f"jaxport.losses.orthogonality({array}, {arguments})"
    if regularizer.class_name not in _OF_ELEMENTS:
        raise _unwritable(penalty)
    sums = {"l1": f"jnp.sum(jaxport.elementwise.absolute({array}))", "l2": f"jnp.sum(jnp.square({array}))"}
    return " + ".join(f"{literal(config[name])} * {text}" for name, text in sums.items() if config.get(name))


def weight_penalty(penalty: Penalty, architecture: Architecture, source: Written) -> str:
    """The penalty of a weight's regularizer, as the loss reads the module; "" if its factors are 0.

    A sum over elements is that over the variables that the weight becomes, in whatever order these have them.

    Raises:
      UnwritableError: it is not written here, or the module has no such weight.
    """
    if penalty.layer in source.uncalled:
        raise UnwritableError(f"{penalty.layer} has a regularizer, and the call of the model never reaches it")
    variables, transform = weight_variables(penalty.layer, penalty.leaf, architecture, source)
    of_elements = penalty.regularizer.class_name in _OF_ELEMENTS and isinstance(transform, _REARRANGED)
    if transform != IDENTITY and not of_elements:
        raise _unwritable(penalty)
    read = variable_text if source.linen else lambda variable: f"model.{in_python(variable)}[...]"
    texts = (penalty_expression(penalty, read(variable)) for variable in variables)
    return " + ".join(text for text in texts if text)


def in_python(path: str) -> str:
    """The path of a variable as Python reaches it: what is in a list by its number."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path)


def weight_variables(
    path: str, leaf: str, architecture: Architecture, source: Written
) -> tuple[Sequence[str], Transform]:
    """The variables of the module that a weight becomes, and how.

    Raises:
      UnwritableError: the module has no such weight.
    """
    layers = {layer.path: layer for layer in architecture.source.layers}
    layer, key = layers[path], f"{path}/{leaf}" if path else leaf
    if layer.container or key in source.names:
        return [source.names.get(key, key.replace("/", "."))], IDENTITY
    rules, _ = rules_of(layer)
    ways = rules[0].counterpart(layer).carried if rules else ()
    way = next((way for way in ways if way.leaf == leaf), None)
    if way is None:
        raise UnwritableError(f"{key} is no variable of the module")
    return [_path(layer, variable, layers, source) for variable in way.variables], way.transform


def _path(layer: SourceLayer, variable: str, layers: Mapping[str, SourceLayer], source: Written) -> str:
    """The path of a variable in the module: what a layer is made of may stand apart."""
    part, _, rest = variable.partition(".")
    apart = source.names.get(f"{layer.path}/{part}") if rest else None
    return f"{apart}.{rest}" if apart else join_path(_place(layer, layers, source), variable)


def _place(layer: SourceLayer, layers: Mapping[str, SourceLayer], source: Written) -> str:
    """Where the module of a layer stands: one in a wrapper where the rule of that has it."""
    if layer.path in source.names:
        return source.names[layer.path]
    around = layers.get(layer.parent or "")
    rules = rules_of(around)[0] if around is not None and around.path and not around.container else ()
    steps = rules[0].counterpart(around).steps if rules and around is not None else {}
    if around is not None and layer.step in steps:
        return join_path(_place(around, layers, source), steps[layer.step])
    return layer.path.replace("/", ".")


def check_activities(architecture: Architecture, source: Written) -> None:
    """Check that the call of the module sums every penalty of an activity.

    Raises:
      UnwritableError: one is missing.
    """
    paths_counted = (*source.penalized, *source.uncalled)
    for penalty in activity_penalties(architecture).values():
        if penalty.layer not in paths_counted:
            raise _unwritable(penalty)
    for path in adding_calls(architecture):
        if path not in paths_counted:
            raise UnwritableError(f"{path} adds a loss in its call, and is called inside of a wrapper or a traced call")


def adding_calls(architecture: Architecture) -> Sequence[str]:
    """The paths of the user's own layers and models that add a loss in their call."""
    return [graph.model for graph in architecture.graphs if graph.traced is not None and graph.traced.adds]


def activity_penalties(architecture: Architecture) -> Mapping[str, Penalty]:
    """The penalties of what layers return, by the path of the layer."""
    return {penalty.layer: penalty for penalty in architecture.penalties if not penalty.leaf}


def _unwritable(penalty: Penalty) -> UnwritableError:
    return UnwritableError(f"{penalty.layer} has the regularizer {penalty.regularizer.class_name}")


@dataclass
class Penalties:
    """The penalties of activities while the classes of a module are written.

    A method that sums them is `penalized`, and a model that calls another one with penalties adds what it gives. Where
    a call is written in another way, as that of a layer inside of a wrapper, they are lost, and the loss is left.

    Attributes:
      architecture: of the model.
      summed: by the path of a model, the layers in it whose penalties its method `penalized` sums.
      lost: the paths of layers and models of which some call does not count.
    """

    architecture: Architecture
    summed: dict[str, set[str]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        compiled = self.architecture.compiled
        self._of = activity_penalties(self.architecture) if compiled and not compiled.obstacle else {}
        self._adding = adding_calls(self.architecture) if compiled and not compiled.obstacle else ()

    @property
    def names(self) -> Sequence[str]:
        """The variables of a method that no argument may be called by."""
        return (ADDED, OF_INNER) if self._of or self._adding else ()

    def add_of_call(self, graph: Graph) -> bool:
        """Whether the call of a layer or model of the user's own adds to the loss itself, which then counts."""
        if graph.model in self._adding:
            self.summed.setdefault(graph.model, set()).add(graph.model)
        return graph.model in self._adding

    def lines(self, graph: Graph, path: str, outputs: Mapping[int, str]) -> list[str]:
        """The lines behind a call of a layer.

        Args:
          graph: that the call is in.
          outputs: the variables of what it returned, by the number of the tensor.
        """
        penalty, lines = self._of.get(path), list[str]()
        if penalty is None:
            return lines
        try:
            for number, name in outputs.items():
                tensor = graph.tensors[number]
                if tensor.dtype != _JUDGED_TYPE or not tensor.shape:
                    raise _unwritable(penalty)
                if text := penalty_expression(penalty, name):
                    batch = f"({text})" if " + " in text else text
                    lines.append(self._add_line(graph, f"{batch} / len({name})", path))
        except UnwritableError:
            self.lost.add(path)
            return []
        self.summed.setdefault(graph.model, set()).add(path)
        return lines

    def called_model(self, graph: Graph, path: str, text: str, outputs: str) -> list[str]:
        """The lines of a call of a model that sums penalties; none of another.

        Args:
          graph: that the call is in.
        """
        if not self.summed.get(path):
            return []
        result = f"({outputs})" if "," in outputs else outputs
        line = self._add_line(graph, OF_INNER, path)
        return [f"{result}, {OF_INNER} = {self.beside_result(graph, path, text)}", line]

    def beside_result(self, graph: Graph, path: str, text: str) -> str:
        """The call of a model that gives the penalties that it sums beside its result, which then count; "" of another.

        Args:
          graph: that the call is in.
        """
        inner = self.summed.get(path)
        if not inner:
            return ""
        model_text, arguments = text.split("(", 1)
        self.summed.setdefault(graph.model, set()).update(inner)
        return f"{model_text}.penalized({arguments}"

    def _add_line(self, graph: Graph, text: str, path: str) -> str:
        """A line that adds to the sum of a method, or starts it."""
        is_started = graph.model in self.summed
        self.summed.setdefault(graph.model, set())
        return f"{ADDED} {'+=' if is_started else '='} {text}  # {comment_text(path)}"

    def counts(self, path: str) -> bool:
        """Whether a call of a layer or model adds something."""
        return path in self._of or bool(self.summed.get(path))

    def lose(self, path: str) -> None:
        """Note that a call of a layer or model is written without its penalties."""
        if self.counts(path):
            self.lost.add(path)

    def in_call(self, aliases: Mapping[str, str]) -> Sequence[str]:
        """The layers all of whose penalties the call of the whole sums.

        Args:
          aliases: where a layer stands again -> where it stands first.
        """
        paths_lost = {path for model in self.lost for path in (model, *self.summed.get(model, ()))}
        return [path for path in self.summed.get("", ()) if path not in paths_lost and self._is_open(path, aliases)]

    def _is_open(self, path: str, aliases: Mapping[str, str]) -> bool:
        """Whether a layer stands in models alone, wherever it does: no wrapper calls it out of sight."""
        models = {graph.model for graph in self.architecture.graphs}
        for place in (path, *(again for again, first in aliases.items() if first == path)):
            around = place.rpartition("/")[0]
            if around and (around not in models or not self._is_open(around, aliases)):
                return False
        return True
