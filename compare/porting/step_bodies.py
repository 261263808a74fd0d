"""The body of a training step that TensorFlow traced: what a tape records is a function, and nnx differentiates it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compare.porting.functions.body_writer import BodyWriter
from compare.porting.functions.needed_nodes import needed_numbers
from compare.porting.functions.statements import TOKEN, Definition, Line, Statement, Variable
from compare.porting.functions.written_module import Module
from compare.porting.functions.written_values import Value
from compare.porting.losses_by_name import Operands, loss_expression
from compare.porting.safe_expressions import UnwritableError, apart, argument
from compare.porting.safe_expressions import tensors as numbers_in
from compare.porting.traced_methods import DRAWS, draw
from workloads._architecture import ASSIGN, CLIP, GRADIENT, LAYER_CALL, LOGITS, LOSS, METRIC, UPDATE, TracedStep
from workloads._function_graph import Body, Node, Place

_OF_ELEMENTS = frozenset({
    "Mul", "AddV2", "Add", "Sub", "RealDiv", "Neg", "Abs", "Sign", "Square", "Sqrt", "Rsqrt", "Maximum", "Minimum",
    "ClipByValue", "Tanh", "Exp", "Pow", "Cast", "Identity", "SelectV2", "IsFinite", "Greater", "Less", "StopGradient",
    "ZerosLike", "OnesLike", "Const",
})  # fmt: skip
"""Operations that compute each element by itself, in whatever order a module has them."""

_SUMS = ("AddV2", "Add", "AddN")
_CHANGES = (UPDATE, ASSIGN)
_NEVER_BEHIND = (GRADIENT, LAYER_CALL, LOSS, LOGITS)
"""What of a step is written in its order, so that no gradient of weights may lead to it."""
_MORE_THAN_UPDATES = "it uses the gradients of weights for more than updates by an optimizer"


@dataclass(frozen=True)
class Surroundings:
    """What a step is written for.

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
class _Tape:
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


class StepBody(BodyWriter):
    """Writes one step.

    Args:
      module: that it is in.
      step: itself.
      around: what it is written for.
      inputs: what stands for its inputs.
    """

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
        # Where the norm of each gradient is taken, a rule of a node writes it.
        module.calls = {CLIP: lambda writer, node: writer.clip(node)}
        self._own: Mapping[str, Callable[[int, Node], list[Value]]] = {
            LAYER_CALL: self._call_layer, LOSS: self._take_loss, UPDATE: self._update, ASSIGN: self._assign_weight,
            METRIC: self._refuse_metric,
            **dict.fromkeys(DRAWS, lambda index, node: draw(self, node, around.stream)),
        }  # fmt: skip

    def _make_tapes(self) -> list[_Tape]:
        names = {node.name: number for number, node in enumerate(self.body.nodes)}
        tapes = []
        for index in sorted(self._needed):
            node = self.body.nodes[index]
            if node.type != GRADIENT:
                continue
            number = _number_of(node)
            members = {names[name] for name in self._step.gradients[number].recorded if name in names}
            sources = [place for place, _ in node.inputs[1:]]
            # What an inner gradient is taken with respect to is made before it.
            members -= needed_numbers(self.body, sources)
            members = {one for one in members & self._needed if self.body.nodes[one].type != "Placeholder"}
            if any(self.body.nodes[one].type in _CHANGES for one in members):
                raise UnwritableError("it changes weights while a tf.GradientTape records")
            tapes.append(_Tape(number, index, frozenset(members)))
        self._check_shared(tapes)
        self._check_second_order(tapes)
        return tapes

    def _check_second_order(self, tapes: Sequence[_Tape]) -> None:
        """Raise where a gradient in a gradient is one in which TensorFlow leaves something out."""
        for tape in tapes:
            if not any(tape.node in other.recorded for other in tapes):
                continue
            numbers = [_number_of(self.body.nodes[one]) for one in tape.recorded if self._is_call(one)]
            for number in numbers:
                layer = self._step.graph.calls[number].layer
                if self._step.trains[number] and layer in self._around.normalizing:
                    raise UnwritableError(
                        "it takes the gradient of a gradient through a batch norm in training, of which TensorFlow "
                        "leaves a part out (tf.nn.moments stops it)"
                    )

    def _is_call(self, index: int) -> bool:
        return self.body.nodes[index].type == LAYER_CALL

    def _check_shared(self, tapes: Sequence[_Tape]) -> None:
        """Raise where a call that changes or draws something would be made once for each of two gradients."""
        for place, tape in enumerate(tapes):
            for other in tapes[:place]:
                both = tape.recorded & other.recorded
                is_nested = other.node in tape.recorded or tape.node in other.recorded
                kinds = {self.body.nodes[one].type for one in both}
                if not is_nested and kinds & {LAYER_CALL, *DRAWS}:
                    raise UnwritableError("it takes two gradients of one call of a model: call it once for each tape")

    def write_step(self) -> None:
        """Write all of it."""
        self._run(sorted(self._needed), self._tapes)

    def _run(self, indices: Sequence[int], tapes: Sequence[_Tape]) -> None:
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

    def _take_gradient(self, tape: _Tape) -> None:
        """Write the function that a tape records, and its gradient."""
        node, gradient = self.body.nodes[tape.node], self._step.gradients[tape.number]
        tape.is_written = True
        if gradient.keys:
            self._keep_from_before(tape)
        before, outer_statements = dict(self.values), self.statements
        sources = [] if gradient.keys else list(node.inputs[1:])
        arguments = [self.name_value(self.values[place], place) for place in sources]
        parameters = [Variable(self.module.token(), _name(self, place)) for place in sources]
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

    def _keep_from_before(self, tape: _Tape) -> None:
        """Hold what was computed of weights before a tape in variables: the function is not differentiated by it."""
        inside = {place for index in tape.recorded for place in self.body.nodes[index].inputs}
        self._hold({place for place in inside if place[0] not in tape.recorded}, self._around.weights.values())

    def _assign_gradient(
        self,
        tape: _Tape,
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
        others = [Variable(self.module.token(), _name(self, place)) for place, _ in beside]
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
        """What of the nodes of a function is read behind it, and is no number."""
        read = dict.fromkeys(
            place
            for index in sorted(self._needed - members)
            for place in self.body.nodes[index].inputs
            if place[0] in members and index not in self._written_nodes
        )
        return [place for place in read if place in self.values and self.values[place].host is None]

    def _call_layer(self, index: int, node: Node) -> list[Value]:
        """The results of a call of a model."""
        call = self._step.graph.calls[_number_of(node)]
        tensors_in_call = dict.fromkeys(
            tensor for value in (*call.arguments, *call.keywords.values()) for tensor in numbers_in(value)
        )
        if call.keywords:
            raise UnwritableError(f"it calls {call.layer or 'the model'} with {next(iter(call.keywords))}=")
        if call.layer not in self._around.modules:
            raise UnwritableError(f"it calls {call.layer}, which is no model of its own: call a keras.Model around it")
        texts = {tensor: self.array(self.values[node.inputs[place]]) for place, tensor in enumerate(tensors_in_call)}
        arguments = ", ".join(argument(value, texts) for nest in call.arguments for value in apart(nest))
        wanted_names = ["predictions" if name == "layer_call" else name for name in self.wanted_names(index, node)]
        module = self._around.modules[call.layer]
        logits = [one for one in sorted(self._needed) if self._is_logits_of(one, index)]
        if self._step.trains[_number_of(node)] and call.layer in self._around.normalizing:
            self._keep_statistics()
        if not logits:
            return self.assign(f"{module}({arguments})", node.results, wanted_names)
        activation = self._around.logits.get(call.layer, "")
        if not activation:
            raise UnwritableError(f"it takes a crossentropy behind the last activation of {call.layer or 'the model'}")
        (value,) = self.assign(f"{module}.logits({arguments})", node.results, ["scores"])
        self.values |= {(one, 0): value for one in logits}
        return [replace(value, text=f"jax.nn.{activation}({value.text})")]

    def _is_logits_of(self, index: int, call: int) -> bool:
        node = self.body.nodes[index]
        return node.type == LOGITS and node.inputs[0] == (call, 0)

    def _take_loss(self, index: int, node: Node) -> list[Value]:
        """The mean of a loss of Keras."""
        loss = self._step.losses[_number_of(node)]
        targets, predictions = (self.array(self.values[place]) for place in node.inputs)
        of = Operands(_in_brackets(targets), _in_brackets(predictions))
        text = f"jnp.mean({loss_expression(loss, False, of)})"
        return [Value(node.results[0], text=text)] if len(text) < 100 else self.assign(text, node.results, ["loss"])

    def _update(self, index: int, node: Node) -> list[Value]:
        """The weights behind an update by an optimizer."""
        update = self._step.updates[_number_of(node)]
        tape, order = self._gradients_of(node, update.keys)
        self._gather_all(node, tape)
        texts, bodies = list[str](), list[tuple[Statement, ...]]()
        for place, own in zip(node.inputs, order, strict=True):
            text, body = self._of_one(place, (tape.node, own))
            texts.append(text)
            bodies.append(body)
        normal = {_normal(text, body) for text, body in zip(texts, bodies, strict=True)}
        if len(normal) != 1:
            raise UnwritableError("it does something else with each gradient: give all of them the same treatment")
        tree = self._transform_all(tape, texts[0], bodies[0])
        self._keep_before_change(update.keys)
        self.statements.append(Line(f"{self._around.optimizers[update.optimizer]}.update(model, {tree})"))
        return [self._weight(key, result) for key, result in zip(update.keys, node.results, strict=True)]

    def _transform_all(self, tape: _Tape, text: str, body: tuple[Statement, ...]) -> str:
        """The expression of the gradients as an optimizer has them."""
        if text == _ONE and not body:
            return tape.tree
        if self._around.looked_up:
            raise UnwritableError(
                f"{self._around.looked_up} gives rows as gradients, which it changes before it adds up those of a token"
            )
        if not body:
            function = f"lambda {_ONE}: {text}"
        else:
            name = Variable(self.module.token(), "transform")
            self.statements.append(Definition(name, (), body, text, f"{_ONE}: jax.Array"))
            function = name.token
        result = Variable(self.module.token(), "gradients")
        self.statements.append(Line(f"jax.tree.map({function}, {tape.tree})", (result,)))
        return result.token

    def _gradients_of(self, node: Node, keys: Sequence[str]) -> tuple[_Tape, list[int]]:
        """The gradients that an update is of, and the number of that of each weight among them."""
        sources = {source for place in node.inputs for source in self._sources(place)}
        if len({source[0] for source in sources}) != 1:
            raise UnwritableError("it gives an optimizer what is no gradient, or the sum of several gradients")
        (index,) = {source[0] for source in sources}
        tape = next(tape for tape in self._tapes if tape.node == index)
        of_tape = self._step.gradients[tape.number].keys
        if sorted(of_tape) != sorted(keys):
            raise UnwritableError("it gives an optimizer the gradients of other weights than it takes them of")
        return tape, [of_tape.index(key) for key in keys]

    def _sources(self, place: Place) -> set[Place]:
        """The gradients of weights that lead to a place."""
        if self._is_gradient(place):
            return {place}
        if place[0] not in self._behind:
            return set()
        return {source for inner in self.body.nodes[place[0]].inputs for source in self._sources(inner)}

    def _is_gradient(self, place: Place) -> bool:
        node = self.body.nodes[place[0]]
        return node.type == GRADIENT and bool(self._step.gradients[_number_of(node)].keys)

    def _gather_all(self, node: Node, tape: _Tape) -> None:
        """Write the numbers that are computed of all gradients, as their norm is."""
        for index in sorted(needed_numbers(self.body, [place for place, _ in node.inputs])):
            inner = self.body.nodes[index]
            is_shared = index in self._behind and len(self._sources((index, 0))) > 1
            if not is_shared or index in self._written_nodes or not _is_scalar(inner):
                continue
            parts = self._parts(index)
            if all(self._sources(place) == {(tape.node, n)} for n, place in enumerate(parts)) and parts:
                texts = {_normal(*self._of_one(place, (tape.node, n))) for n, place in enumerate(parts)}
                text, body = self._of_one(parts[0], (tape.node, 0))
                if len(texts) != 1 or body or len(parts) != len(self._step.gradients[tape.number].keys):
                    raise UnwritableError("it sums up something else of each gradient")
                items = f"[{text} for {_ONE} in jax.tree.leaves({tape.tree})]"
                whole = f"jnp.stack({items})" if inner.type == "Pack" else f"sum({items[1:-1]})"
                (self.values[index, 0],) = self.assign(whole, inner.results, self.wanted_names(index, inner))
            elif all(place in self.values for place in inner.inputs):
                self._write(index)
            else:
                continue
            self._written_nodes.add(index)

    def _parts(self, index: int) -> list[Place]:
        """What a node sums or stacks, a place for each gradient."""
        node = self.body.nodes[index]
        if node.type not in (*_SUMS, "Pack"):
            return []
        parts: list[Place] = []
        for place in node.inputs:
            inner = self._parts(place[0]) if node.type != "Pack" and len(self._sources(place)) > 1 else []
            if not self._sources(place) and not self._is_zero(place):
                return []
            parts += inner or ([place] if self._sources(place) else [])
        return parts

    def _is_zero(self, place: Place) -> bool:
        node = self.body.nodes[place[0]]
        array = self.module.arrays.get(node.constant) if node.constant else None
        return array is not None and not np.any(array)

    def _of_one(self, place: Place, own: Place) -> tuple[str, tuple[Statement, ...]]:
        """The expression that turns `gradient` into what the optimizer takes, and the statements before it."""
        if self._sources_left(place) != {own}:
            raise UnwritableError("it computes the gradient of a weight from those of others")
        before, statements, nodes_before = dict(self.values), self.statements, set(self._written_nodes)
        self.statements = []
        self.values[own] = Value(self._result(own), text=_ONE)
        for index in sorted(needed_numbers(self.body, [place[0]])):
            if index in self._behind and index not in self._written_nodes:
                self._check_elements(index, own)
                if all(inner in self.values for inner in self.body.nodes[index].inputs):
                    self._write(index)
        text, body = self.array(self.values[place]), tuple(self.statements)
        last = body[-1] if body else None
        if isinstance(last, Line) and [one.token for one in last.defines] == [text]:
            text, body = last.text, body[:-1]
        self.values, self.statements, self._written_nodes = before, statements, nodes_before
        return text, body

    def _sources_left(self, place: Place) -> set[Place]:
        """As `_sources`, without those that lead to it through numbers that are written already."""
        if place in self.values and not self._is_gradient(place):
            return set()
        if self._is_gradient(place):
            return {place}
        inner = self.body.nodes[place[0]].inputs if place[0] in self._behind else ()
        return {source for one in inner for source in self._sources_left(one)}

    def _check_elements(self, index: int, own: Place) -> None:
        """Raise where a variable of the module has the elements of a gradient in another order, and that matters."""
        kind = self.body.nodes[index].type
        key = self._step.gradients[_number_of(self.body.nodes[own[0]])].keys[own[1]]
        if kind not in _OF_ELEMENTS and key not in self._around.weights:
            raise UnwritableError(f"it computes {kind} of the gradient of {key}, which is several variables here")

    def clip(self, node: Node) -> list[Value]:
        """An array that is clipped by its norm."""
        bound, array = repr(self._step.clips[_number_of(node)]), self.variable(node, 0)
        norm = f"jaxport.elementwise.maximum(jnp.linalg.norm({array}.ravel()), {bound})"
        return [Value(node.results[0], text=f"{array} * {bound} / {norm}")]

    def _refuse_metric(self, index: int, node: Node) -> list[Value]:
        raise UnwritableError("it computes with the result of a metric")

    def _assign_weight(self, index: int, node: Node) -> list[Value]:
        """A weight behind an assignment."""
        key = self._step.assigned[_number_of(node)]
        if key not in self._around.weights:
            raise UnwritableError(f"it assigns to {key}, which is several variables here")
        self._keep_before_change([key])
        text = self.array(self.values[node.inputs[0]])
        last = self.statements[-1] if self.statements else None
        if isinstance(last, Line) and [one.token for one in last.defines] == [text] and not self._is_read_on(node):
            # However long it is: it is read here alone.
            text = last.text
            self.statements.pop()
        self.statements.append(Line(f"{self._around.weights[key]} = {text}"))
        return [self._weight(key, node.results[0])]

    def _is_read_on(self, node: Node) -> bool:
        """Whether what a node takes is read by another one too."""
        return self._uses[node.inputs[0]] > 1

    def _weight(self, key: str, result: Any) -> Value:
        return Value(result, text=self._around.weights.get(key, ""))

    def _keep_before_change(self, keys: Sequence[str]) -> None:
        """Hold what was computed of weights in variables, before these are others."""
        self._hold(self._waiting(), [self._around.weights[key] for key in keys if key in self._around.weights])

    def _keep_statistics(self) -> None:
        """Hold what was computed of the statistics of batch norms, before a call in training changes these."""
        keys_trained = {key for gradient in self._step.gradients for key in gradient.keys}
        self._hold(self._waiting(), [text for key, text in self._around.weights.items() if key not in keys_trained])

    def _waiting(self) -> set[Place]:
        """What is computed already and read later."""
        return {place for index in self._needed - self._written_nodes for place in self.body.nodes[index].inputs}

    def _hold(self, places: Iterable[Place], texts: Iterable[str]) -> None:
        """Hold what was computed of the expressions of weights in variables; not the weights, which are read later."""
        texts = tuple(texts)
        for place in sorted(places):
            value = self.values.get(place)
            is_weight = self.body.nodes[place[0]].type in ("Placeholder", *_CHANGES)
            if value is not None and not is_weight and any(text in value.text for text in texts):
                (self.values[place],) = self.assign(value.text, [value.result], [_name(self, place)])


_ONE = "gradient"
"""The variable of one gradient among those of all weights."""


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
        if node.type in _CHANGES:
            continue
        of_weights = {
            place[0]
            for place in node.inputs
            if nodes[place[0]].type == GRADIENT and step.gradients[_number_of(nodes[place[0]])].keys
        }
        if of_weights or any(place[0] in behind for place in node.inputs):
            if node.type in _NEVER_BEHIND:
                raise UnwritableError(_MORE_THAN_UPDATES)
            behind.add(index)
    return frozenset(behind)


def _is_scalar(node: Node) -> bool:
    return node.type == "Pack" or node.results[0].shape == ()


def _number_of(node: Node) -> int:
    number = node.attributes["call"]
    assert isinstance(number, int)
    return number


def _argnums(count: int) -> str:
    return ", argnums=1" if count == 1 else f", argnums=({', '.join(str(one + 1) for one in range(count))})"


def _name(writer: StepBody, place: Place) -> str:
    node = writer.body.nodes[place[0]]
    if node.type == "Placeholder":
        return "x"
    names = writer.wanted_names(place[0], node)
    return names[place[1]] if place[1] < len(names) else names[0]


def _loss_name(writer: StepBody, node: Node) -> str:
    """What the value that a gradient is taken of is called."""
    loss = writer.body.nodes[node.inputs[0][0]]
    # A sum that TensorFlow takes of what is no number.
    loss = writer.body.nodes[loss.inputs[0][0]] if loss.type == "Sum" and loss.line == node.line else loss
    return loss.assigned[0] if len(loss.assigned) == 1 and loss.type != LAYER_CALL else "loss"


def _in_brackets(text: str) -> str:
    """An expression that may stand in an arithmetic one."""
    return text if re.fullmatch(r"[\w.]+|[\w.]+\([^()]*\)", text) else f"({text})"


def _normal(text: str, body: Sequence[Statement]) -> str:
    """A text and its statements with their own variables counted from 0, so that equal ones are equal.

    Variables from outside keep their tokens: bodies that read others are different.
    """
    order = {token: f"t{number}" for number, token in enumerate(_tokens_defined(body))}
    return TOKEN.sub(lambda match: order.get(match[0], match[0]), f"{body} {text}")


def _tokens_defined(statements: Sequence[Statement]) -> list[str]:
    """The variables that statements define, in order."""
    tokens: list[str] = []
    for one in statements:
        if isinstance(one, Definition):
            tokens += [one.name.token, *(parameter.token for parameter in one.parameters), *_tokens_defined(one.body)]
        else:
            tokens += [variable.token for variable in one.defines]
    return tokens
