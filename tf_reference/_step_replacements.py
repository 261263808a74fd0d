"""Replacements of tapes, optimizers, losses, metrics and assignments while a training step is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _drawn_numbers
from tf_reference._keras_described import describe
from tf_reference._replaced_calls import replaced_attribute
from tf_reference._step_trace import ModelNames, Trace
from workloads.protocol.architecture import (
    ASSIGN,
    CLIP,
    GRADIENT,
    LOGITS,
    LOSS,
    METRIC,
    UPDATE,
    OptimizerUpdate,
    TapeGradient,
)
from workloads.protocol.framework import Unsupported

_MEAN = ("sum_over_batch_size", "mean")
_OF_CLASSES = ("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy")
_OF_SHARES = (
    *_OF_CLASSES,
    *("CategoricalCrossentropy", "categorical_crossentropy", "BinaryCrossentropy", "binary_crossentropy"),
)
"""Losses of probabilities, which Keras takes of logits where it finds these."""


class Replacements:
    """The objects that replace Keras' while a step is traced.

    Args:
      dtypes: wider ones, by those of the model.
      with_logits: the ids of layers on whose results Keras leaves logits.
    """

    def __init__(self, names: ModelNames, trace: Trace, dtypes: Mapping[str, str], with_logits: frozenset[int]) -> None:
        self._names, self._trace, self._dtypes, self._with_logits = names, trace, dtypes, with_logits
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
        if len(self._trace.calls.calls) > number and id(layer) in self._with_logits:
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
        keys = tuple(self._names.key(weight, "takes gradients with respect to") for weight in weights)
        if weights and not tape._watch_accessed_variables:
            raise Unsupported(
                "it takes gradients with respect to weights by a tape with watch_accessed_variables=False"
            )
        is_zero = unconnected_gradients in (tf.UnconnectedGradients.ZERO, tf.UnconnectedGradients.ZERO.value)
        weight = None if is_zero else self._find_unreached(loss, weights, names)
        if weight is not None:
            key = self._names.key(weight, "takes gradients with respect to")
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
        weights = self._names.trainable if trainable_variables is None else trainable_variables
        pairs = [(grad, w) for grad, w in zip(list(grads), list(weights), strict=True) if grad is not None]
        if any(not tf.is_tensor(grad) or not isinstance(w, keras.Variable) for grad, w in pairs):
            raise Unsupported("it gives an optimizer what is no gradient of a weight")
        name = self._names.optimizer_name(optimizer)
        keys = tuple(self._names.key(weight, "updates") for _, weight in pairs)
        self._trace.optimizers[name] = optimizer
        counter = self._names.counter(optimizer)
        self._scope.state_mapping[id(counter)] = self._scope.state_mapping[id(counter)] + 1
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
        key = self._names.key(variable, "assigns to")
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


@contextmanager
def without_metrics(model: Any, trace: Trace, dtypes: Mapping[str, str]) -> Iterator[None]:
    """Inside, metrics keep nothing, and the result of one is an operation: a step that reads it is not written.

    Args:
      dtypes: wider ones, by those of the model.
    """
    dtype = tf.as_dtype(dtypes.get("float32", "float32"))

    def result() -> Any:
        return trace.add(METRIC, 0, [], [(dtype, ())], is_kept=False)[0]

    with ExitStack() as stack:
        for metric in model.metrics:
            stack.enter_context(replaced_attribute(metric, "update_state", lambda *positional, **keywords: None))
            stack.enter_context(replaced_attribute(metric, "result", result))
        yield


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
