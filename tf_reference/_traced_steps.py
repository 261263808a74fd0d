"""A train_step of the user's own, traced: calls of models, gradients, updates and assignments are operations in it.

This is for steps that compute more than the sums of losses and clips that `_own_steps` follows through their source.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import keras
import numpy as np
import tensorflow as tf

from tf_reference import (
    _call_graphs,
    _drawn_numbers,
    _keras_variables,
    _keras_weights,
    _own_steps,
    _plain_calls,
    _python_effects,
    _traced_calls,
    _traced_training,
)
from tf_reference._function_graph import Reading
from tf_reference._keras_described import describe
from tf_reference._layer_calls import op_by_op
from tf_reference._replaced_calls import replaced_attribute, replaced_calls
from workloads._architecture import (
    ASSIGN,
    CLIP,
    GRADIENT,
    LAYER_CALL,
    LOGITS,
    LOSS,
    METRIC,
    UPDATE,
    Call,
    Described,
    Graph,
    OptimizerUpdate,
    TapeGradient,
    Tensor,
    Traced,
    TracedStep,
    drawn_size,
)
from workloads._framework import Unsupported
from workloads._function_graph import FunctionGraph, Node

Result = TypeVar("Result")
_DataSpec = tuple[Any, Sequence[tuple[Any, str]]]
_WIDER = {"float32": "float64"}
_MEAN = ("sum_over_batch_size", "mean")
_OF_CLASSES = ("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy")
_OF_SHARES = (
    *_OF_CLASSES,
    *("CategoricalCrossentropy", "categorical_crossentropy", "BinaryCrossentropy", "binary_crossentropy"),
)
"""Losses of probabilities, which Keras takes of logits where it finds these."""

_HIDDEN = (_python_effects.STATE, _python_effects.RANDOM, _python_effects.CLOCK)
_COUNTED = (bool, int, float, str, type(None), list, tuple, dict, set)
"""Types of attributes in which a step may count."""

_OF_KERAS = frozenset(vars(keras.Model()))
"""Attributes that Keras itself sets."""


@dataclass
class _Trace:
    """One trace of a step, in float32 or float64."""

    calls: _call_graphs.Trace = field(default_factory=_call_graphs.Trace)
    concrete: Any = None
    inputs: list[Any] = field(default_factory=list)
    operations: dict[str, tuple[str, int]] = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)
    losses: list[Described] = field(default_factory=list)
    gradients: list[TapeGradient] = field(default_factory=list)
    updates: list[OptimizerUpdate] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    clips: list[float] = field(default_factory=list)
    optimizers: dict[str, Any] = field(default_factory=dict)

    def add(
        self,
        kind: str,
        number: int,
        inputs: Sequence[Any],
        outputs: Sequence[tuple[Any, Any]],
        *,
        is_kept: bool = True,
    ) -> list[Any]:
        """Add an operation that is read and never run, and return its results.

        Args:
          kind: of node that it becomes.
          number: of its kind.
          inputs: tensors.
          outputs: dtype and shape of each.
          is_kept: whether it is a part of the step where nothing reads it.
        """
        results = _call_graphs.add_operation(inputs, outputs)
        self.operations[results[0].op.name] = kind, number
        self.results += results[:1] if is_kept else []
        return results


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
    """What the train_step of a model does.

    Args:
      model: of Keras, compiled or not.

    Raises:
      Unsupported: it does what is not traced, or what no trace would show.
    """
    _check_python(model)
    traced_model = _of_first_data(model, _data_specs(model), _Step.read)
    if traced_model.step.targets and not _reads_targets(traced_model.step):
        alone = [(inputs, ()) for inputs, targets in _data_specs(model) if not targets]
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

    Args:
      model: of Keras.

    Raises:
      Unsupported: as of `read`.
    """
    return _of_first_data(model, _data_specs(model), _Step.optimizers)


def _of_first_data(model: Any, specs: Iterable[_DataSpec], ask: Callable[[_Step], Result]) -> Result:
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


def _check_python(model: Any) -> None:
    """Raise where Python itself counts or draws: a trace shows one of many steps."""
    methods = [type(model).train_step, type(model).compute_loss]
    effect = next(
        (effect for effect in _python_effects.effects(methods, type(model)) if effect.kind in _HIDDEN),
        None,
    )
    if effect is not None:
        line = effect.source.rpartition("/")[2]
        what = {
            _python_effects.STATE: "changes what Python keeps",
            _python_effects.RANDOM: "draws by Python or NumPy",
            _python_effects.CLOCK: "reads the clock",
        }[effect.kind]
        raise Unsupported(f"it {what} at {line}, which a compiled step does once: {effect.line[:60]}")


def _data_specs(model: Any) -> Iterator[_DataSpec]:
    """What a step may be trained on: a nest of symbols, and shape and dtype of targets.

    Without targets last: a step that does less without them would be another one.
    """
    try:
        nest = _traced_calls.pack(model, _inputs(model))
        outputs = keras.tree.flatten(_output_nest(model))
    except Unsupported:
        # Of a model without a call: what it hands to one of those in it.
        for _, child in _keras_variables.children(model):
            symbols = getattr(child, "inputs", None)
            if isinstance(child, keras.Model) and symbols:
                yield (symbols[0] if len(symbols) == 1 else list(symbols)), ()
        return
    of_outputs = [(tuple(output.shape), "float32") for output in outputs]
    numbers = [(tuple(output.shape)[:-1], "int32") for output in outputs if len(output.shape) > 1]
    yield nest, of_outputs
    if len(numbers) == len(outputs):
        yield nest, numbers
    yield nest, ()


def _inputs(model: Any) -> list[Any]:
    if _traced_calls.is_followed(model):
        return tf.nest.flatten(_traced_calls.first(model))
    symbols = getattr(model, "inputs", None)
    if not symbols:
        raise Unsupported("expected a model that knows its inputs, found one that does not")
    return list(symbols)


def _output_nest(model: Any) -> Any:
    graph = getattr(model, "_functional", None) or model
    structure = getattr(graph, "_outputs_struct", None)
    return _traced_calls.output_nest(model) if structure is None else structure


class _Step:
    """One step, for one kind of data."""

    def __init__(self, model: Any, inputs: Any, targets: Sequence[tuple[Any, str]]) -> None:
        self._model, self._nest, self._targets = model, inputs, targets
        keys = _keras_weights.keys(model)
        variables = {id(variable): variable for layer in model._flatten_layers() for variable in layer.weights}
        # Of Keras' own: what it counts and draws by is no weight.
        self._weights = [(key, variables[one]) for one, key in keys.items() if one in variables]
        self._key_of = {id(variable): key for key, variable in self._weights}
        self.with_logits: set[int] = set()

    def optimizers(self) -> Mapping[str, tuple[Any, Sequence[Any]]]:
        """The optimizers of the step by their attributes, each with the weights that it updates."""
        trace, by_key = self._trace(False), dict(self._weights)
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
        keys = tuple(key for key, _ in self._weights)
        traced = Traced(function, keys, {key: _call_graphs.constant(array) for key, array in arrays.items()})
        symbols = tf.nest.flatten(self._nest)
        numbering = _plain_calls.Numbering(tf.is_tensor)
        for (shape, dtype), tensor in zip(self._specs(), trace.inputs, strict=False):
            numbering.add(tensor, Tensor(tuple(shape), dtype))
        paths = _keras_weights.layers_by_path(self._model)
        path_of = {id(layer): path for path, layer in paths.items()}
        if any(id(call.layer) not in path_of for call in trace.calls.calls):
            raise Unsupported("it calls a layer that the model does not hold")
        calls = tuple(_call(path_of[id(call.layer)], call, numbering) for call in trace.calls.calls)
        names = [f"x{number}" for number in range(len(symbols))] + [f"y{n}" for n in range(len(self._targets))]
        graph = Graph(
            "", {name: number for number, name in enumerate(names)}, None, calls, None, tuple(numbering.tensors), traced
        )
        step = TracedStep(
            graph,
            len(self._targets),
            tuple(_is_in_training(call) for call in trace.calls.calls),
            tuple(trace.losses),
            tuple(trace.gradients),
            tuple(trace.updates),
            tuple(trace.assigned),
            tuple(trace.clips),
            {name: _traced_training.optimizer(optimizer) for name, optimizer in trace.optimizers.items()},
        )
        return TracedModel(step, self._children_in_use(trace, function))

    def _find_logits(self, trace: _Trace) -> None:
        """Note the layers on whose results Keras leaves what their softmax or sigmoid was taken of."""
        for layer_call in trace.calls.calls:
            if _keeps_logits(layer_call):
                self.with_logits.add(id(layer_call.layer))

    def _children_in_use(self, trace: _Trace, function: FunctionGraph) -> list[Any]:
        """The layers of the model that hold what the step uses itself."""
        body = function.bodies[0]
        read_nodes = {place[0] for node in body.nodes for place in node.inputs}
        first = len(function.inputs) - len(self._weights)
        places = [
            self._weights[number - first][0]
            for number, node in enumerate(body.inputs)
            if number >= first and node in read_nodes
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

    def _trace(self, wider: bool) -> _Trace:
        trace, dtypes, model = _Trace(), _WIDER if wider else {}, self._model
        specs = self._specs() + [(variable.shape, variable.dtype) for _, variable in self._weights]
        count = len(self._specs())

        def function(*arguments: Any) -> Any:
            vars(trace).update(vars(_Trace()))
            trace.inputs = list(arguments)
            values = {id(v): value for (_, v), value in zip(self._weights, arguments[count:], strict=True)}
            with ExitStack() as stack:
                replacements = _Replacements(self, trace, dtypes)
                stack.enter_context(replacements.inside(values))
                stack.enter_context(_drawn_numbers.drawn_as_operations(dtypes))
                stack.enter_context(_call_graphs.layers_kept(trace.calls, dtypes))
                stack.enter_context(replaced_calls(replacements.call_with_logits))
                before = _python_state(model)
                _own_steps.step_of(model)(self._data(arguments[:count]))
                attributes = [name for name, value in _python_state(model).items() if before.get(name) != value]
            if attributes:
                raise Unsupported(
                    f"it changes self.{attributes[0]}, which Python keeps: a compiled step does that once"
                )
            outputs = [call.results[0] for call in trace.calls.calls]
            return [*outputs, *trace.results]

        try:
            with op_by_op(), _call_graphs.floats(model, wider), _without_metrics(model, trace, dtypes):
                tensors = [tf.TensorSpec(shape, dtypes.get(dtype, dtype)) for shape, dtype in specs]
                trace.concrete = tf.function(function, autograph=False).get_concrete_function(*tensors)
        except _traced_calls.NOT_FOLLOWED as error:
            raise Unsupported(_explain(model, error)) from error
        _drawn_numbers.check_draws(trace.concrete.graph)
        for layer_call in trace.calls.calls:
            _check_position(layer_call)
        return trace

    def _data(self, arguments: Sequence[Any]) -> Any:
        symbols = len(tf.nest.flatten(self._nest))
        x = tf.nest.pack_sequence_as(self._nest, arguments[:symbols])
        y = list(arguments[symbols:])
        return x if not y else (x, y[0] if len(y) == 1 else y)

    def _function(
        self, trace: _Trace, other: _Trace | None, why: str
    ) -> tuple[FunctionGraph, Mapping[str, np.ndarray]]:
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

    def key(self, variable: Any, what: str) -> str:
        """The key of a weight.

        Raises:
          Unsupported: it is none of the model.
        """
        if id(variable) not in self._key_of:
            name = getattr(variable, "path", None) or getattr(variable, "name", type(variable).__name__)
            raise Unsupported(f"it {what} {name}, which is no weight of the model")
        return self._key_of[id(variable)]

    def optimizer_name(self, optimizer: Any) -> str:
        """The attribute of the model that holds an optimizer."""
        attributes = {name: value for name, value in vars(self._model).items() if value is optimizer}
        if self._model.optimizer is optimizer:
            return "optimizer"
        if not attributes:
            raise Unsupported("it updates weights by an optimizer that is no attribute of the model")
        return next(iter(attributes))

    @property
    def trainable(self) -> Sequence[Any]:
        """The weights that an optimizer is given where it is given none."""
        return self._model.trainable_variables


class _Replacements:
    """What stands in for tapes, optimizers, losses and assignments while a step is traced."""

    def __init__(self, step: _Step, trace: _Trace, dtypes: Mapping[str, str]) -> None:
        self._step, self._trace, self._dtypes = step, trace, dtypes
        self._starts: dict[int, int] = {}
        self._recorded: dict[int, list[str]] = {}
        self._kept: list[Any] = []
        self._reads: dict[str, int] = {}
        self._scope: Any = None
        self._graph: Any = None

    @contextmanager
    def inside(self, values: Mapping[int, Any]) -> Iterator[None]:
        """Inside, variables are what is given, by their ids."""
        with keras.StatelessScope() as scope, ExitStack() as stack:
            scope.state_mapping.update(values)
            self._scope, self._graph = scope, _graph()
            scope.get_current_value = self._read
            if self._dtypes:
                # The losses of a compiled model were made for float32.
                wide = property(lambda loss: "float64")
                _drawn_numbers.replace_until_end(stack, keras.losses.Loss, "dtype", wide)
            for owner, name, value in (
                (tf.GradientTape, "__enter__", self._enter(tf.GradientTape.__enter__)),
                (tf.GradientTape, "__exit__", self._exit(tf.GradientTape.__exit__)),
                (tf.GradientTape, "gradient", self._gradient),
                (tf.GradientTape, "jacobian", _refuse("takes a jacobian by a tf.GradientTape")),
                (tf.GradientTape, "batch_jacobian", _refuse("takes a jacobian by a tf.GradientTape")),
                (tf.GradientTape, "stop_recording", _refuse("stops a tf.GradientTape from recording")),
                (tf.GradientTape, "reset", _refuse("resets a tf.GradientTape")),
                (tf, "clip_by_norm", self._clipping(tf.clip_by_norm)),
                (tf, "gradients", _refuse("calls tf.gradients: use a tf.GradientTape")),
                (keras.optimizers.Optimizer, "apply", self._apply),
                (keras.optimizers.LossScaleOptimizer, "apply", _refuse("updates weights by a LossScaleOptimizer")),
                (keras.Variable, "assign", self._assigning(keras.Variable.assign)),
                (keras.losses.Loss, "__call__", self._loss(keras.losses.Loss.__call__)),
            ):
                _drawn_numbers.replace_until_end(stack, owner, name, _as_function(value))
            yield

    def call_with_logits(
        self, original: Callable[..., Any], layer: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> Any:
        """The result of a call, with the logits on it that Keras leaves there."""
        number = len(self._trace.calls.calls)
        result = original(layer, *positional, **keywords)
        if len(self._trace.calls.calls) > number and id(layer) in self._step.with_logits:
            (result._keras_logits,) = self._trace.add(
                LOGITS, number, [result], [(result.dtype, result.shape)], is_kept=False
            )
        return result

    def _enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def enter(tape: Any) -> Any:
            if id(tape) in self._starts:
                raise Unsupported("it enters a tf.GradientTape twice")
            self._starts[id(tape)] = len(_graph().get_operations())
            self._kept.append(tape)
            return original(tape)

        return enter

    def _exit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(tape: Any, *error: Any) -> Any:
            if not any(error):
                self._recorded[id(tape)] = self._names_since(self._starts[id(tape)])
            return original(tape, *error)

        return leave

    def _names_since(self, start: int) -> list[str]:
        return [operation.name for operation in _graph().get_operations()[start:]]

    def _gradient(
        self, tape: Any, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: Any = None
    ) -> Any:
        if output_gradients is not None:
            raise Unsupported("it gives output_gradients to a tf.GradientTape")
        start = self._starts.get(id(tape))
        if start is None:
            raise Unsupported("it asks a tf.GradientTape that records nothing")
        names = self._recorded.get(id(tape)) or self._names_since(start)
        before = len(_graph().get_operations())
        losses = [tf.reduce_sum(loss) if loss.shape.rank else loss for loss in tf.nest.flatten(target)]
        loss = losses[0] if len(losses) == 1 else tf.add_n(losses)
        names = [*names, *self._names_since(before)]
        flat = tf.nest.flatten(sources)
        weights = [source for source in flat if isinstance(source, keras.Variable)]
        if weights and len(weights) != len(flat):
            raise Unsupported("it takes gradients with respect to weights and to tensors at once")
        if not weights and any(self._is_weight(source) for source in flat):
            raise Unsupported("it takes gradients with respect to the value of a weight")
        keys = tuple(self._step.key(weight, "takes gradients with respect to") for weight in weights)
        if weights and not tape._watch_accessed_variables:
            raise Unsupported(
                "it takes gradients with respect to weights by a tape with watch_accessed_variables=False"
            )
        is_zero = unconnected_gradients in (tf.UnconnectedGradients.ZERO, tf.UnconnectedGradients.ZERO.value)
        weight = None if is_zero else self._find_unreached(loss, weights, names)
        if weight is not None:
            key = self._step.key(weight, "takes gradients with respect to")
            raise Unsupported(f"it takes gradients of a loss with respect to {key}, which the loss does not reach")
        outputs = [(self._dtype(one), one.shape) for one in flat]
        number = len(self._trace.gradients)
        self._trace.gradients.append(TapeGradient(keys, tuple(names)))
        results = self._trace.add(GRADIENT, number, [loss, *([] if weights else flat)], outputs)
        return tf.nest.pack_sequence_as(sources, results)

    def _find_unreached(self, loss: Any, weights: Sequence[Any], names: Sequence[str]) -> Any:
        """The first of the weights that a loss is not computed of by what a tape recorded; None where there is none.

        TensorFlow's gradient is None then, where nnx has zeros, which an optimizer with a decay applies.
        """
        calls = {
            operation.name: call
            for operation, call in zip(self._trace.calls.operations, self._trace.calls.calls, strict=True)
        }
        open_, names_seen, weight_ids = [loss], set[str](), set[int]()
        tape_names = set(names)
        while open_:
            operation = open_.pop().op
            if operation.name in names_seen or operation.name not in tape_names:
                continue
            names_seen.add(operation.name)
            weight_ids.add(self._reads.get(operation.name, 0))
            if operation.name in calls:
                weight_ids.update(id(weight) for weight in calls[operation.name].layer.trainable_variables)
            open_ += list(operation.inputs)
        return next((weight for weight in weights if id(weight) not in weight_ids), None)

    def _clipping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip(t: Any, clip_norm: Any, axes: Any = None, name: Any = None) -> Any:
            is_recorded = len(self._recorded) < len(self._starts)
            if is_recorded or axes is not None or not isinstance(clip_norm, int | float) or not tf.is_tensor(t):
                return original(t, clip_norm, axes, name)
            # Of each rank TensorFlow's own sum is another operation.
            self._trace.clips.append(float(clip_norm))
            (result,) = self._trace.add(CLIP, len(self._trace.clips) - 1, [t], [(t.dtype, t.shape)], is_kept=False)
            return result

        return clip

    def _read(self, variable: Any) -> Any:
        """The value of a variable; of a weight, an operation of its own, so that it is known where it is read."""
        value = self._scope.state_mapping.get(id(variable))
        if value is None or _graph() is not self._graph:
            return value
        value = tf.identity(value)
        self._reads[value.op.name] = id(variable)
        return value

    def _is_weight(self, source: Any) -> bool:
        return source.op.name in self._reads

    def _dtype(self, value: Any) -> Any:
        dtype = keras.backend.standardize_dtype(value.dtype)
        return tf.as_dtype(self._dtypes.get(dtype, dtype))

    def _apply(self, optimizer: Any, grads: Any, trainable_variables: Any = None) -> None:
        weights = self._step.trainable if trainable_variables is None else trainable_variables
        pairs = [(grad, w) for grad, w in zip(list(grads), list(weights), strict=True) if grad is not None]
        if any(not tf.is_tensor(grad) or not isinstance(w, keras.Variable) for grad, w in pairs):
            raise Unsupported("it gives an optimizer what is no gradient of a weight")
        name = self._step.optimizer_name(optimizer)
        keys = tuple(self._step.key(weight, "updates") for _, weight in pairs)
        self._trace.optimizers[name] = optimizer
        number = len(self._trace.updates)
        self._trace.updates.append(OptimizerUpdate(name, keys))
        outputs = [(self._dtype(weight), weight.shape) for _, weight in pairs]
        results = self._trace.add(UPDATE, number, [grad for grad, _ in pairs], outputs)
        self._scope.state_mapping.update(
            {id(weight): result for (_, weight), result in zip(pairs, results, strict=True)}
        )

    def _assigning(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def assign(variable: Any, value: Any) -> Any:
            if _graph() is self._graph:
                return self._assign(variable, value)
            # Keras finds the shape of a result by a call of its own, which leaves weights alone.
            before = self._scope.state_mapping.get(id(variable))
            result = original(variable, value)
            if self._scope.state_mapping.get(id(variable)) is not before:
                raise Unsupported("it assigns to weights inside of a loop or a branch of TensorFlow")
            return result

        return assign

    def _assign(self, variable: Any, value: Any) -> Any:
        key = self._step.key(variable, "assigns to")
        value = value.value if isinstance(value, keras.Variable) else value
        value = value if tf.is_tensor(value) else tf.convert_to_tensor(value, self._dtype(variable))
        number = len(self._trace.assigned)
        self._trace.assigned.append(key)
        (result,) = self._trace.add(ASSIGN, number, [value], [(self._dtype(variable), variable.shape)])
        self._scope.state_mapping[id(variable)] = result
        return result

    def _loss(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(loss: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
            function = getattr(loss, "fn", None)
            own = not _is_of_keras(type(loss)) or (function is not None and not _is_of_keras(function))
            if sample_weight is not None or loss.reduction not in _MEAN:
                return original(loss, y_true, y_pred, sample_weight)
            if not tf.is_tensor(y_pred):
                return original(loss, y_true, y_pred)
            if own or not tf.is_tensor(y_true):
                y_true = tf.cast(y_true, y_pred.dtype)
                return tf.reduce_mean(loss.call(y_true, y_pred))
            if function is not None:
                # Keras gives the function both with equal ranks, where a last axis of size 1 is what differs.
                with replaced_attribute(loss, "fn", lambda y_true, y_pred, **keywords: (y_true, y_pred)):
                    y_true, y_pred = loss.call(y_true, y_pred)
            number, description = len(self._trace.losses), describe(loss)
            if type(loss).__name__ == "LossFunctionWrapper" and function is not None:
                description = replace(description, class_name=function.__name__)
            if description.class_name in _OF_CLASSES and y_true.shape.rank != y_pred.shape.rank - 1:
                raise TypeError(f"{description.class_name} takes numbers of classes")
            if description.class_name not in _OF_CLASSES and y_true.shape.rank != y_pred.shape.rank:
                raise Unsupported(f"it gives {description.class_name} targets and predictions of different ranks")
            logits = getattr(y_pred, "_keras_logits", None)
            if logits is not None and description.class_name in _OF_SHARES:
                y_pred, config = logits, {**description.config, "from_logits": True}
                description = replace(description, config=config)
            self._trace.losses.append(description)
            (result,) = self._trace.add(LOSS, number, [y_true, y_pred], [(y_pred.dtype, ())])
            return result

        return call


def _as_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a class binds: what is bound already would not be given the object."""
    return lambda *positional, **keywords: function(*positional, **keywords)


def _graph() -> Any:
    return tf.compat.v1.get_default_graph()


def _is_of_keras(kind: Any) -> bool:
    return str(getattr(kind, "__module__", "")).split(".")[0] == "keras"


def _refuse(what: str) -> Callable[..., Any]:
    def refuse(*positional: Any, **keywords: Any) -> Any:
        raise Unsupported(f"it {what}")

    return refuse


@contextmanager
def _without_metrics(model: Any, trace: _Trace, dtypes: Mapping[str, str]) -> Iterator[None]:
    """Inside, metrics keep nothing, and the result of one is an operation: a step that reads it is not written."""
    dtype = tf.as_dtype(dtypes.get("float32", "float32"))

    def result() -> Any:
        return trace.add(METRIC, 0, [], [(dtype, ())], is_kept=False)[0]

    with ExitStack() as stack:
        for metric in model.metrics:
            stack.enter_context(replaced_attribute(metric, "update_state", lambda *positional, **keywords: None))
            stack.enter_context(replaced_attribute(metric, "result", result))
        yield


def _python_state(model: Any) -> dict[str, str]:
    """What Python keeps in a model and in objects of the user's classes that it holds, by attribute."""
    attributes = {name: value for name, value in vars(model).items() if name not in _OF_KERAS}
    own = {name: value for name, value in attributes.items() if _is_of_user(type(value)) and hasattr(value, "__dict__")}
    return _counts("", attributes) | {
        name: text for owner, value in own.items() for name, text in _counts(f"{owner}.", vars(value)).items()
    }


def _counts(prefix: str, attributes: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{prefix}{name}": repr(value)
        for name, value in attributes.items()
        if name not in _OF_KERAS and (isinstance(value, _COUNTED) or type(value).__module__ == "itertools")
    }


def _is_of_user(kind: type) -> bool:
    """Whether a class is none of Python, Keras, TensorFlow or NumPy."""
    return kind.__module__.split(".")[0] not in {*sys.stdlib_module_names, "keras", "tensorflow", "numpy"}


def _contents(trace: _Trace) -> list[tuple[str, bytes]]:
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


def _call(path: str, layer_call: Any, numbering: _plain_calls.Numbering) -> Call:
    keywords = {str(name): numbering.plain(value) for name, value in layer_call.named.items() if value is not None}
    keywords.pop("training", None)
    arguments = tuple(numbering.plain(argument) for argument in layer_call.given)
    return Call(path, arguments, keywords, numbering.numbers(layer_call.results))


def _check_position(layer_call: Any) -> None:
    """Raise where a call is given `training` by position: Keras itself takes that by name alone."""
    names = list(inspect.signature(layer_call.layer.call).parameters)
    if "training" in names[: len(layer_call.given)]:
        raise Unsupported(f"it gives {layer_call.layer.name} training by position, which Keras takes by name alone")


def _is_in_training(layer_call: Any) -> bool:
    """Whether a call is in training: where nothing is said, as the layer itself has it."""
    training = layer_call.named.get("training")
    if training is None:
        parameter = inspect.signature(layer_call.layer.call).parameters.get("training")
        training = parameter is not None and parameter.default is True
    if not isinstance(training, bool):
        raise Unsupported(f"it calls {layer_call.layer.name} with a training that is no bool")
    return training


def _keeps_logits(layer_call: Any) -> bool:
    """Whether Keras leaves logits on what a layer returns, for crossentropies."""
    layer = layer_call.layer
    parameter = inspect.signature(layer.call).parameters.get("training")
    if layer_call.named.keys() - {"training"} or (parameter is not None and parameter.default is True):
        return False
    states = [state for inner in layer._flatten_layers() for state in _keras_variables.recurrent_states(inner)]
    # A call leaves the model as it was.
    old_values = [(variable, variable.numpy()) for variable in (*layer.non_trainable_variables, *states)]
    try:
        with _keras_variables.seeds_kept(layer):
            result = layer(*tf.nest.map_structure(_zeros, layer_call.given))
    except _traced_calls.NOT_FOLLOWED as error:
        raise Unsupported(f"it calls {layer.name}, which takes no zeros: {type(error).__name__}") from error
    finally:
        for variable, value in old_values:
            variable.assign(value)
    return hasattr(result, "_keras_logits")


def _zeros(value: Any) -> Any:
    """An array in place of a tensor, with the sizes that are drawn where it has none."""
    if not tf.is_tensor(value):
        return value
    shape = [drawn_size(size, len(value.shape)) if place else 1 for place, size in enumerate(value.shape)]
    return np.zeros(shape, value.dtype.as_numpy_dtype)


def _node(node: Node, kinds: Mapping[str, tuple[str, int]]) -> Node:
    if node.name not in kinds:
        return node
    kind, number = kinds[node.name]
    return replace(node, type=kind, attributes={"call": number})
