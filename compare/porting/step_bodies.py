"""The body of a training step that TensorFlow traced: its calls of models, losses, updates and assignments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from compare.porting.functions.statements import Line
from compare.porting.functions.written_module import Module
from compare.porting.functions.written_values import Value
from compare.porting.gradient_updates import GradientUpdates
from compare.porting.losses_by_name import Operands, loss_expression
from compare.porting.safe_expressions import UnwritableError, apart, argument
from compare.porting.safe_expressions import tensors as numbers_in
from compare.porting.taped_functions import Surroundings, number_of
from compare.porting.traced_methods import DRAWS, draw
from workloads.protocol.architecture import ASSIGN, CLIP, LAYER_CALL, LOGITS, LOSS, METRIC, UPDATE, TracedStep
from workloads.protocol.function_graph import Node


class StepBody(GradientUpdates):
    """Writes one step."""

    def __init__(self, module: Module, step: TracedStep, around: Surroundings, inputs: Sequence[Value]) -> None:
        super().__init__(module, step, around, inputs)
        # Where the norm of each gradient is taken, a rule of a node writes it.
        module.calls = {CLIP: lambda writer, node: writer.clip(node)}
        self._own = {
            LAYER_CALL: self._call_layer, LOSS: self._take_loss, UPDATE: self._update, ASSIGN: self._assign_weight,
            METRIC: self._refuse_metric,
            **dict.fromkeys(DRAWS, lambda index, node: draw(self, node, around.stream)),
        }  # fmt: skip

    def write_step(self) -> None:
        """Write all of it."""
        self._run(sorted(self._needed), self._tapes)

    def _call_layer(self, index: int, node: Node) -> list[Value]:
        """The results of a call of a model."""
        call = self._step.graph.calls[number_of(node)]
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
        if self._step.trains[number_of(node)] and call.layer in self._around.normalizing:
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
        loss = self._step.losses[number_of(node)]
        targets, predictions = (self.array(self.values[place]) for place in node.inputs)
        of = Operands(_in_brackets(targets), _in_brackets(predictions))
        text = f"jnp.mean({loss_expression(loss, False, of)})"
        return [Value(node.results[0], text=text)] if len(text) < 100 else self.assign(text, node.results, ["loss"])

    def _refuse_metric(self, index: int, node: Node) -> list[Value]:
        raise UnwritableError("it computes with the result of a metric")

    def _assign_weight(self, index: int, node: Node) -> list[Value]:
        """A weight behind an assignment."""
        key = self._step.assigned[number_of(node)]
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


def _in_brackets(text: str) -> str:
    """An expression that may stand in an arithmetic one."""
    return text if re.fullmatch(r"[\w.]+|[\w.]+\([^()]*\)", text) else f"({text})"
