"""A train_step of the user's own, traced: calls of models, gradients, updates and assignments are operations in it.

This is for steps that compute more than the sums of losses and clips that `_own_steps` follows through their source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from tf_reference import (
    _call_graphs,
    _drawn_numbers,
    _keras_variables,
    _keras_weights,
    _own_steps,
    _plain_calls,
    _python_state,
    _step_calls,
    _step_data,
    _traced_calls,
    _traced_training,
)
from tf_reference._function_graph import Reading
from tf_reference._layer_calls import op_by_op
from tf_reference._replaced_calls import replaced_calls
from tf_reference._step_replacements import Replacements, without_metrics
from tf_reference._step_trace import ModelNames, Trace
from workloads.protocol.architecture import (
    LAYER_CALL,
    Graph,
    Tensor,
    Traced,
    TracedStep,
)
from workloads.protocol.framework import Unsupported
from workloads.protocol.function_graph import FunctionGraph, Node

Result = TypeVar("Result")
_WIDER = {"float32": "float64"}


@dataclass(frozen=True)
class TracedModel:
    """A step that was traced, and the layers of the model that it uses beside its call.

    Attributes:
      step: as data.
      used: the layers that it calls itself, and the models in which it reads or changes weights.
    """

    step: TracedStep
    used: Sequence[Any]


def read(model: Any) -> TracedModel:
    """Trace the train_step of a model.

    Args:
      model: of Keras, compiled or not.

    Raises:
      Unsupported: it does what is not traced, or what no trace would show.
    """
    _python_state.check_methods(model)
    traced_model = _of_first_data(model, _step_data.data_specs(model), _Step.read)
    if traced_model.step.targets and not _reads_targets(traced_model.step):
        alone = [(inputs, ()) for inputs, targets in _step_data.data_specs(model) if not targets]
        with suppress(Unsupported):
            return _of_first_data(model, alone, _Step.read)
    return traced_model


def _reads_targets(step: TracedStep) -> bool:
    """Whether what a step computes depends on its targets."""
    traced = step.graph.traced
    assert traced is not None
    body, count = traced.function.bodies[0], len(step.graph.inputs)
    targets = set(body.inputs[count - step.targets : count])
    return any(place[0] in targets for node in body.nodes for place in node.inputs)


def optimizers(model: Any) -> Mapping[str, tuple[Any, Sequence[Any]]]:
    """The optimizers of the train_step of a model by their attributes, each with the weights that it updates.

    Raises:
      Unsupported: as of `read`.
    """
    return _of_first_data(model, _step_data.data_specs(model), _Step.optimizers)


def _of_first_data(model: Any, specs: Iterable[_step_data.DataSpec], ask: Callable[[_Step], Result]) -> Result:
    """Ask a step for something, with the first data on which it can be traced."""
    errors: list[Unsupported] = []
    for inputs, targets in specs:
        try:
            return ask(_Step(model, inputs, targets))
        except Unsupported as error:
            errors.append(error)
    if not errors:
        raise Unsupported("what it is trained on is not known: it has no call, and no model that knows its inputs")
    # With targets a step comes furthest.
    raise errors[0]


class _Step:
    """One step, for one kind of data."""

    def __init__(self, model: Any, inputs: Any, targets: Sequence[tuple[Any, str]]) -> None:
        self._model, self._nest, self._targets = model, inputs, targets
        self._names = ModelNames(model)
        self._variables = [*self._names.weights, *self._names.counters]
        self._with_logits: frozenset[int] = frozenset()

    def optimizers(self) -> Mapping[str, tuple[Any, Sequence[Any]]]:
        """The optimizers of the step by their attributes, each with the weights that it updates."""
        trace, by_key = self._trace(False), dict(self._names.weights)
        return {
            update.optimizer: (trace.optimizers[update.optimizer], [by_key[key] for key in update.keys])
            for update in trace.updates
        }

    def read(self) -> TracedModel:
        types = {layer.compute_dtype for layer in self._model._flatten_layers()} - {"float32"}
        if types:
            raise Unsupported(f"it computes in {min(types)}, not in float32")
        self._find_logits(self._trace(False))
        trace = self._trace(False)
        again = self._trace(False)
        if _contents(trace) != _contents(again):
            raise Unsupported("it does something else in each call, by what Python keeps")
        try:
            other, why = self._trace(True), ""
        except Unsupported as error:
            other, why = None, str(error)
        reason = next(filter(None, map(_traced_training.exclusion, trace.optimizers.values())), "")
        if reason:
            raise Unsupported(f"an optimizer of it has {reason}")
        if not trace.updates:
            raise Unsupported("it gives no gradients to an optimizer of the model")
        function, arrays = self._function(trace, other, why)
        keys = tuple(key for key, _ in self._variables)
        traced = Traced(function, keys, {key: _call_graphs.constant(array) for key, array in arrays.items()})
        symbols = tf.nest.flatten(self._nest)
        numbering = _plain_calls.Numbering(tf.is_tensor)
        for (shape, dtype), tensor in zip(self._specs(), trace.inputs, strict=False):
            numbering.add(tensor, Tensor(tuple(shape), dtype))
        paths = _keras_weights.layers_by_path(self._model)
        path_of = {id(layer): path for path, layer in paths.items()}
        if any(id(call.layer) not in path_of for call in trace.calls.calls):
            raise Unsupported("it calls a layer that the model does not hold")
        calls = tuple(_step_calls.describe(path_of[id(call.layer)], call, numbering) for call in trace.calls.calls)
        names = [f"x{number}" for number in range(len(symbols))] + [f"y{n}" for n in range(len(self._targets))]
        graph = Graph(
            "", {name: number for number, name in enumerate(names)}, None, calls, None, tuple(numbering.tensors), traced
        )
        step = TracedStep(
            graph,
            len(self._targets),
            tuple(_step_calls.is_in_training(call) for call in trace.calls.calls),
            tuple(trace.losses),
            tuple(trace.gradients),
            tuple(trace.updates),
            tuple(trace.assigned),
            tuple(trace.clips),
            {name: _traced_training.optimizer(optimizer) for name, optimizer in trace.optimizers.items()},
        )
        return TracedModel(step, self._children_in_use(trace, function))

    def _find_logits(self, trace: Trace) -> None:
        """Note the layers on whose results Keras leaves what their softmax or sigmoid was taken of."""
        self._with_logits = frozenset(
            id(layer_call.layer) for layer_call in trace.calls.calls if _step_calls.keeps_logits(layer_call)
        )

    def _children_in_use(self, trace: Trace, function: FunctionGraph) -> list[Any]:
        """The layers of the model that hold what the step uses itself."""
        body = function.bodies[0]
        read_nodes = {place[0] for node in body.nodes for place in node.inputs}
        first = len(function.inputs) - len(self._variables)
        places = [
            self._names.weights[number - first][0]
            for number, node in enumerate(body.inputs)
            if first <= number < first + len(self._names.weights) and node in read_nodes
        ]
        places += [key for one in (*trace.gradients, *trace.updates) for key in one.keys] + trace.assigned
        paths = {id(layer): path for path, layer in _keras_weights.layers_by_path(self._model).items()}
        places += [f"{paths[id(call.layer)]}/" for call in trace.calls.calls]
        return [
            child
            for name, child in _keras_variables.children(self._model)
            if any(key.startswith(f"{name}/") for key in places)
        ]

    def _specs(self) -> list[tuple[Any, str]]:
        symbols = [(tuple(symbol.shape), str(symbol.dtype)) for symbol in tf.nest.flatten(self._nest)]
        return [*symbols, *self._targets]

    def _trace(self, wider: bool) -> Trace:
        trace, dtypes, model = Trace(), _WIDER if wider else {}, self._model
        specs = self._specs() + [(variable.shape, variable.dtype) for _, variable in self._variables]
        count = len(self._specs())

        def function(*arguments: Any) -> Any:
            vars(trace).update(vars(Trace()))
            trace.inputs = list(arguments)
            values = {id(v): value for (_, v), value in zip(self._variables, arguments[count:], strict=True)}
            with ExitStack() as stack:
                replacements = Replacements(self._names, trace, dtypes, self._with_logits)
                stack.enter_context(replacements.inside(values))
                stack.enter_context(_drawn_numbers.drawn_as_operations(dtypes))
                stack.enter_context(_call_graphs.layers_kept(trace.calls, dtypes))
                stack.enter_context(replaced_calls(replacements.call_with_logits))
                before = _python_state.state_of(model)
                _own_steps.step_of(model)(self._data(arguments[:count]))
                attributes = [
                    name for name, value in _python_state.state_of(model).items() if before.get(name) != value
                ]
            if attributes:
                raise Unsupported(
                    f"it changes self.{attributes[0]}, which Python keeps: a compiled step does that once"
                )
            outputs = [call.results[0] for call in trace.calls.calls]
            return [*outputs, *trace.results]

        try:
            with op_by_op(), _call_graphs.floats(model, wider), without_metrics(model, trace, dtypes):
                tensors = [tf.TensorSpec(shape, dtypes.get(dtype, dtype)) for shape, dtype in specs]
                trace.concrete = tf.function(function, autograph=False).get_concrete_function(*tensors)
        except _traced_calls.NOT_FOLLOWED as error:
            raise Unsupported(_explain(model, error)) from error
        _drawn_numbers.check_draws(trace.concrete.graph)
        for layer_call in trace.calls.calls:
            _step_calls.check_position(layer_call)
        return trace

    def _data(self, arguments: Sequence[Any]) -> Any:
        symbols = len(tf.nest.flatten(self._nest))
        x = tf.nest.pack_sequence_as(self._nest, arguments[:symbols])
        y = list(arguments[symbols:])
        return x if not y else (x, y[0] if len(y) == 1 else y)

    def _function(self, trace: Trace, other: Trace | None, why: str) -> tuple[FunctionGraph, Mapping[str, np.ndarray]]:
        names = [f"input{number}" for number in range(len(trace.inputs))]
        reading = Reading(trace.concrete, None if other is None else other.concrete)
        function, arrays = reading.all("train_step", names, why)
        foreign = next((capture.name for capture in function.captured if capture.is_variable), "")
        if foreign:
            raise Unsupported(f"it reads or changes the variable {foreign}, which is no weight of the model")
        kinds = {**trace.operations}
        kinds |= {operation.name: (LAYER_CALL, n) for n, operation in enumerate(trace.calls.operations)}
        inner = [name for body in function.bodies[1:] for node in body.nodes if (name := node.name) in kinds]
        outer, *bodies = function.bodies
        if inner or any(operation.graph is not trace.concrete.graph for operation in trace.calls.operations):
            raise Unsupported("it calls a layer or changes weights inside of a loop or a branch of TensorFlow")
        outer = replace(outer, nodes=tuple(_node(node, kinds) for node in outer.nodes))
        if any(node.type.startswith(("PyFunc", "EagerPyFunc")) for body in (outer, *bodies) for node in body.nodes):
            raise Unsupported("it calls Python, as tf.py_function does")
        return replace(function, bodies=(outer, *bodies)), arrays


def _contents(trace: Trace) -> list[tuple[str, bytes]]:
    """The type of each operation, with the value of a constant: Python may draw or count one anew in each trace."""
    operations = trace.concrete.graph.get_operations()
    return [
        (one.type, one.node_def.attr["value"].SerializeToString() if one.type == "Const" else b"") for one in operations
    ]


def _explain(model: Any, error: BaseException) -> str:
    """Why a step is not traced, with the user's line."""
    if isinstance(error, Unsupported):
        return str(error)
    return _traced_calls.explain(model, error).replace(f"the call of {type(model).__name__}", "it", 1)


def _node(node: Node, kinds: Mapping[str, tuple[str, int]]) -> Node:
    if node.name not in kinds:
        return node
    kind, number = kinds[node.name]
    return replace(node, type=kind, attributes={"call": number})
