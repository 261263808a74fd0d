"""Writes the record of a training step's tape as a function that nnx differentiates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.needed_nodes import needed_numbers
from compare.porting.functions.statements import Definition, Line, Variable
from compare.porting.functions.written_module import Module
from compare.porting.functions.written_values import Value
from compare.porting.safe_expressions import UnwritableError
from compare.porting.traced_methods import DRAWS
from workloads.protocol.architecture import ASSIGN, GRADIENT, LAYER_CALL, LOGITS, LOSS, UPDATE, TracedStep
from workloads.protocol.function_graph import Body, Node, Place

CHANGES = (UPDATE, ASSIGN)
_NEVER_BEHIND = (GRADIENT, LAYER_CALL, LOSS, LOGITS)
"""Nodes of a step that keep their order: no gradient of weights may lead to them."""
_MORE_THAN_UPDATES = "it uses the gradients of weights for more than updates by an optimizer"


@dataclass(frozen=True)
class Surroundings:
    """The module and the training that a step is written for.

    Attributes:
      class_name: of the module.
      modules: path of a layer that the step calls -> the expression of its module.
      weights: key -> the expression of its variable; none for one that becomes several, or is turned.
      logits: by the path of a layer, the activation behind what the method `logits` of its module returns.
      filters: of each gradient, what stands behind the function that it is taken of.
      optimizers: the expression of each, by the attribute of the model.
      stream: the expression of the stream of random numbers; "" where the module has none.
      normalizing: the paths of layers in which there is a batch norm.
      looked_up: a layer that gives rows of a table as gradients; "" where there is none.
    """

    class_name: str
    modules: Mapping[str, str]
    weights: Mapping[str, str]
    logits: Mapping[str, str]
    filters: Sequence[str]
    optimizers: Mapping[str, str]
    stream: str = ""
    normalizing: frozenset[str] = frozenset()
    looked_up: str = ""


@dataclass
class Tape:
    """A gradient on its way.

    Attributes:
      number: of the gradient.
      node: of it.
      recorded: the numbers of the nodes that become the function.
      is_written: whether it is.
      tree: the variable of the gradients of weights.
    """

    number: int
    node: int
    recorded: frozenset[int]
    is_written: bool = False
    tree: str = ""


class TapedFunctions(BodyWriter):
    """Writes the functions that tapes record, and their gradients."""

    def __init__(self, module: Module, step: TracedStep, around: Surroundings, inputs: Sequence[Value]) -> None:
        traced = step.graph.traced
        assert traced is not None
        super().__init__(module, _with_plain_outputs(traced.function.bodies[0]), inputs)
        self._step, self._around = step, around
        self.losses: list[str] = []
        self._written_nodes: set[int] = set(self.body.inputs)
        nodes = self.body.nodes
        self._behind = _behind_gradients(nodes, step)
        self._tapes = self._make_tapes()
        self._own: Mapping[str, Callable[[int, Node], list[Value]]] = {}

    def _make_tapes(self) -> list[Tape]:
        names = {node.name: number for number, node in enumerate(self.body.nodes)}
        tapes = []
        for index in sorted(self._needed):
            node = self.body.nodes[index]
            if node.type != GRADIENT:
                continue
            number = number_of(node)
            members = {names[name] for name in self._step.gradients[number].recorded if name in names}
            sources = [place for place, _ in node.inputs[1:]]
            # What an inner gradient is taken with respect to is made before it.
            members -= needed_numbers(self.body, sources)
            members = {one for one in members & self._needed if self.body.nodes[one].type != "Placeholder"}
            if any(self.body.nodes[one].type in CHANGES for one in members):
                raise UnwritableError("it changes weights while a tf.GradientTape records")
            tapes.append(Tape(number, index, frozenset(members)))
        self._check_shared(tapes)
        self._check_second_order(tapes)
        return tapes

    def _check_second_order(self, tapes: Sequence[Tape]) -> None:
        """Raise where a gradient in a gradient is one in which TensorFlow leaves something out."""
        for tape in tapes:
            if not any(tape.node in other.recorded for other in tapes):
                continue
            numbers = [number_of(self.body.nodes[one]) for one in tape.recorded if self._is_call(one)]
            for number in numbers:
                layer = self._step.graph.calls[number].layer
                if self._step.trains[number] and layer in self._around.normalizing:
                    raise UnwritableError(
                        "it takes the gradient of a gradient through a batch norm in training, of which TensorFlow "
                        "leaves a part out (tf.nn.moments stops it)"
                    )

    def _is_call(self, index: int) -> bool:
        return self.body.nodes[index].type == LAYER_CALL

    def _check_shared(self, tapes: Sequence[Tape]) -> None:
        """Raise where a call that changes or draws something would be made once for each of two gradients."""
        for place, tape in enumerate(tapes):
            for other in tapes[:place]:
                both = tape.recorded & other.recorded
                is_nested = other.node in tape.recorded or tape.node in other.recorded
                kinds = {self.body.nodes[one].type for one in both}
                if not is_nested and kinds & {LAYER_CALL, *DRAWS}:
                    raise UnwritableError("it takes two gradients of one call of a model: call it once for each tape")

    def _run(self, indices: Sequence[int], tapes: Sequence[Tape]) -> None:
        """Write nodes in their order; the functions of tapes where these end."""
        inside = [tape for tape in tapes if tape.node in indices]
        outermost = [
            tape for tape in inside if not any(tape.node in other.recorded for other in inside if other is not tape)
        ]
        for index in indices:
            for tape in outermost:
                if not tape.is_written and index > max(tape.recorded, default=-1):
                    self._take_gradient(tape)
            is_deferred = any(index in tape.recorded and not tape.is_written for tape in outermost)
            if is_deferred or index in self._written_nodes or index in self._behind:
                continue
            if self.body.nodes[index].type == GRADIENT:
                continue
            self._write_node(index)

    def _write_node(self, index: int) -> None:
        node = self.body.nodes[index]
        is_of_gradients = any(place[0] in self._behind or self._is_gradient(place) for place in node.inputs)
        if is_of_gradients and node.type != UPDATE:
            raise UnwritableError(_MORE_THAN_UPDATES)
        if any(place not in self.values for place in node.inputs) and node.type != UPDATE:
            raise UnwritableError("it uses in one tf.GradientTape what another one records")
        self._written_nodes.add(index)
        if node.type == LOGITS and (index, 0) in self.values:
            return
        if node.type in self._own:
            results = self._own[node.type](index, node)
            self.values |= {(index, number): value for number, value in enumerate(results)}
        else:
            self._write(index)

    def _take_gradient(self, tape: Tape) -> None:
        """Write the function that a tape records, and its gradient."""
        node, gradient = self.body.nodes[tape.node], self._step.gradients[tape.number]
        tape.is_written = True
        if gradient.keys:
            self._keep_from_before(tape)
        before, outer_statements = dict(self.values), self.statements
        sources = [] if gradient.keys else list(node.inputs[1:])
        arguments = [self.name_value(self.values[place], place) for place in sources]
        parameters = [Variable(self.module.token(), place_name(self, place)) for place in sources]
        self.statements = []
        self._written_nodes -= tape.recorded
        self.values = {
            place: value
            for place, value in self.values.items()
            if place[0] not in tape.recorded or value.host is not None
        }
        for place, parameter in zip(sources, parameters, strict=True):
            self.values[place] = replace(self.values[place], text=parameter.token, host=None)
        members = sorted(tape.recorded)
        self._run(members, [other for other in self._tapes if other.node in tape.recorded])
        loss = self.array(self.values[node.inputs[0]])
        read = self._read_outside(set(members) | {tape.node})
        beside = [place for place in read if place != node.inputs[0]]
        texts = [self.array(self.values[place]) for place in beside]
        body, self.statements = tuple(self.statements), outer_statements
        numbers = {place: value for place, value in self.values.items() if value.host is not None}
        self.values = numbers | before
        result = f"{loss}, ({', '.join(texts)}{',' * (len(texts) == 1)})" if texts else loss
        name = Variable(self.module.token(), f"{_loss_name(self, node)}_fn")
        first = f"model: {self._around.class_name}"
        self.statements.append(Definition(name, tuple(parameters), body, result, first))
        is_read = node.inputs[0] in read
        self._assign_gradient(tape, name, arguments, [(place, self._result(place)) for place in beside], is_read)

    def _keep_from_before(self, tape: Tape) -> None:
        """Hold what was computed of weights before a tape in variables: the function is not differentiated by it."""
        inside = {place for index in tape.recorded for place in self.body.nodes[index].inputs}
        self._hold({place for place in inside if place[0] not in tape.recorded}, self._around.weights.values())

    def _assign_gradient(
        self,
        tape: Tape,
        name: Variable,
        arguments: Sequence[str],
        beside: Sequence[tuple[Place, Any]],
        is_read: bool,
    ) -> None:
        """Write the call of a function and of its gradient; `is_read` says that the value is read beside."""
        node, gradient = self.body.nodes[tape.node], self._step.gradients[tape.number]
        value = Variable(self.module.token(), _loss_name(self, node))
        of_weights = bool(gradient.keys)
        results = [Variable(self.module.token(), "gradients" if of_weights else "slopes")]
        if not of_weights:
            results += [Variable(self.module.token(), "slopes") for _ in node.results[1:]]
        others = [Variable(self.module.token(), place_name(self, place)) for place, _ in beside]
        options = self._around.filters[tape.number] if of_weights else _argnums(len(node.results))
        options += ", has_aux=True" if others else ""
        call = f"nnx.value_and_grad({name.token}{options})({', '.join(['model', *arguments])})"
        values = f"({value.token}, ({', '.join(one.token for one in others)}{',' * (len(others) == 1)}))"
        several = f"({', '.join(one.token for one in results)})" if len(results) > 1 else results[0].token
        if of_weights:
            self.losses.append(value.token)
            tape.tree = results[0].token
        elif not others and not is_read:
            call = call.replace("nnx.value_and_grad(", "nnx.grad(", 1)
        with_value = of_weights or bool(others) or is_read
        defines = (value, *others, *results) if with_value else tuple(results)
        nest = f"{values if others else value.token}, {several}" if with_value else ""
        if is_read:
            self.values[node.inputs[0]] = Value(self._result(node.inputs[0]), text=value.token)
        self.statements.append(Line(call, defines, nest=nest))
        for (place, result), other in zip(beside, others, strict=True):
            self.values[place] = Value(result, text=other.token)
        if not of_weights:
            for number, (result, variable) in enumerate(zip(node.results, results, strict=True)):
                self.values[tape.node, number] = Value(result, text=variable.token)

    def _result(self, place: Place) -> Any:
        return self.body.nodes[place[0]].results[place[1]]

    def _read_outside(self, members: set[int]) -> list[Place]:
        """The results of a function's nodes that are read behind it, and are no numbers."""
        read = dict.fromkeys(
            place
            for index in sorted(self._needed - members)
            for place in self.body.nodes[index].inputs
            if place[0] in members and index not in self._written_nodes
        )
        return [place for place in read if place in self.values and self.values[place].host is None]

    def _is_gradient(self, place: Place) -> bool:
        node = self.body.nodes[place[0]]
        return node.type == GRADIENT and bool(self._step.gradients[number_of(node)].keys)

    def _keep_statistics(self) -> None:
        """Hold what was computed of the statistics of batch norms, before a call in training changes these."""
        keys_trained = {key for gradient in self._step.gradients for key in gradient.keys}
        self._hold(self._waiting(), [text for key, text in self._around.weights.items() if key not in keys_trained])

    def _waiting(self) -> set[Place]:
        """The results that are computed already and read later."""
        return {place for index in self._needed - self._written_nodes for place in self.body.nodes[index].inputs}

    def _hold(self, places: Iterable[Place], texts: Iterable[str]) -> None:
        """Hold what was computed of the expressions of weights in variables; not the weights, which are read later."""
        texts = tuple(texts)
        for place in sorted(places):
            value = self.values.get(place)
            is_weight = self.body.nodes[place[0]].type in ("Placeholder", *CHANGES)
            if value is not None and not is_weight and any(text in value.text for text in texts):
                (self.values[place],) = self.assign(value.text, [value.result], [place_name(self, place)])


def _with_plain_outputs(body: Body) -> Body:
    """A body that returns what it does without the copies that TensorFlow makes of what a function returns."""
    nodes = body.nodes
    through = ((nodes[place[0]], place) for place in body.outputs)
    return replace(body, outputs=tuple(node.inputs[0] if node.type == "Identity" else place for node, place in through))


def _behind_gradients(nodes: Sequence[Node], step: TracedStep) -> frozenset[int]:
    """The numbers of the nodes that compute with gradients of weights, up to the changes of weights.

    Raises:
      UnwritableError: a gradient, a call or a loss is among them.
    """
    behind: set[int] = set()
    for index, node in enumerate(nodes):
        if node.type in CHANGES:
            continue
        of_weights = {
            place[0]
            for place in node.inputs
            if nodes[place[0]].type == GRADIENT and step.gradients[number_of(nodes[place[0]])].keys
        }
        if of_weights or any(place[0] in behind for place in node.inputs):
            if node.type in _NEVER_BEHIND:
                raise UnwritableError(_MORE_THAN_UPDATES)
            behind.add(index)
    return frozenset(behind)


def number_of(node: Node) -> int:
    """The number of an operation of a step among those of its kind."""
    number = node.attributes["call"]
    assert isinstance(number, int)
    return number


def _argnums(count: int) -> str:
    return ", argnums=1" if count == 1 else f", argnums=({', '.join(str(one + 1) for one in range(count))})"


def place_name(writer: BodyWriter, place: Place) -> str:
    """The name of the variable with the value of a place."""
    node = writer.body.nodes[place[0]]
    if node.type == "Placeholder":
        return "x"
    names = writer.wanted_names(place[0], node)
    return names[place[1]] if place[1] < len(names) else names[0]


def _loss_name(writer: BodyWriter, node: Node) -> str:
    """The name of the value that is differentiated."""
    loss = writer.body.nodes[node.inputs[0][0]]
    # A sum that TensorFlow takes of what is no number.
    loss = writer.body.nodes[loss.inputs[0][0]] if loss.type == "Sum" and loss.line == node.line else loss
    return loss.assigned[0] if len(loss.assigned) == 1 and loss.type != LAYER_CALL else "loss"
