"""One model in one float type: its passes are functions of tensors, and its variables are reset between runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_reference._model import Model
from tf_reference._own_traces import with_own_traces
from tf_reference._recurrent_states import recurrent_states_of, without_states_left
from tf_reference._traced_calls import pack
from workloads.core.spec import Arrays, dtype_in, is_differentiable
from workloads.core.target import WeightsError, resolve
from workloads.core.tree import leaves
from workloads.protocol.framework import (
    COTANGENT_CENTRE,
    COTANGENT_PERIOD,
    COTANGENT_SCALE,
    FORWARD,
    GRADIENTS,
    NO_FLOAT_OUTPUT,
    NO_GRADIENT_OF,
    STEP,
    UNROLLED,
    WEIGHTS,
    Twin,
    Unsupported,
)

Pass = Callable[..., Mapping[str, tf.Tensor]]


class Session:
    """A built twin. Tensors go in by position, flat `{leaf: tensor}` comes out.

    `anew` also reruns the module of the twin: its objects may hold tensors of a graph.
    """

    def __init__(self, twin: Twin, dtype: str, anew: bool = False) -> None:
        self.twin = twin
        self.dtype = dtype
        self.model = _build(twin, dtype, anew)
        self.weights = {path: as_variable(value) for path, value in self.model.weights.items()}
        self.own_names = {path: own_name(value) for path, value in self.model.weights.items()}
        self.state = {name: as_variable(value) for name, value in self.model.state.items()}
        _check_weights(self.weights, twin.weights, dtype)
        self._initial_state = {name: value.numpy() for name, value in self.state.items()}

    def reset(self, case: str, replacements: Arrays | None = None) -> None:
        """Sets every variable to its initial value in a run of this case; `replacements` replaces some weights."""
        self.assign(self.twin.weights_of(case, replacements))
        for name, value in self._initial_state.items():
            self.state[name].assign(value)

    def assign(self, weights: Arrays) -> None:
        """Sets weights, each in the type of its variable.

        Args:
          weights: by canonical path.
        """
        for path, array in weights.items():
            self.weights[path].assign(tf.cast(array, self.weights[path].dtype))

    def tensors(self, arrays: Arrays) -> list[tf.Tensor]:
        """The inputs of one call as tensors, floats in this session's type.

        Args:
          arrays: by name, each in its spec's shape and dtype.
        """
        return [tf.constant(arrays[name].astype(dtype_in(arrays[name].dtype, self.dtype))) for name in self.twin.inputs]

    def pass_function(self, pass_: str) -> Pass:
        """The function of one pass.

        Raises:
          Unsupported: the workload has no such pass.
        """
        if pass_ == FORWARD:
            return lambda *inputs: leaves(self.model.forward(*inputs))
        if pass_ == STEP and self.model.step is not None:
            return _as_step(self.model.step)
        if pass_ == UNROLLED and self.model.step is not None:
            return self._unroll
        if pass_ == GRADIENTS and self.twin.is_differentiable:
            return self._gradients
        raise Unsupported(f"the workload has no {pass_} pass")

    def otherwise(self, pass_: str, mode: str) -> Pass:
        """The main pass as the twin computes it otherwise: "handwritten" or "apart".

        Raises:
          Unsupported: the twin hands over none.
        """
        function = getattr(self.model, mode)
        if function is None:
            raise Unsupported(f"expected Model.{mode}, found none: hand over the main pass computed so")
        return _as_step(function) if pass_ == STEP else lambda *inputs: leaves(function(*inputs))

    def updated_weights(self) -> dict[str, np.ndarray]:
        """The weights as they stand, by leaf name."""
        return {WEIGHTS + path: variable.numpy() for path, variable in self.weights.items()}

    def _unroll(self, *batches: tf.Tensor) -> dict[str, tf.Tensor]:
        """As a step, over batches [steps, ...]; the losses are [steps]."""
        step, steps = self.model.step, int(batches[0].shape[0])
        assert step is not None

        def one(step_number: tf.Tensor, losses: Any) -> tuple[tf.Tensor, Any]:
            loss = step(*(batch[step_number] for batch in batches))
            return step_number + 1, losses.write(step_number, tf.cast(loss, self.dtype))

        loss_array = tf.TensorArray(self.dtype, size=steps, element_shape=())
        # One at a time: each step reads the variables that the previous step wrote.
        _, losses = tf.while_loop(
            lambda step_number, losses: step_number < steps,
            one,
            (tf.constant(0), loss_array),
            parallel_iterations=1,
            maximum_iterations=steps,
        )
        return {"loss": losses.stack()}

    def scalar(self, *inputs: tf.Tensor) -> tf.Tensor:
        """The scalar to differentiate: the loss, or else all outputs contracted with a fixed cotangent."""
        return self.model.loss(*inputs) if self.model.loss else _contract(self.model.forward(*inputs))

    def _gradients(self, *inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        try:
            return self._differentiate(*inputs)
        except LookupError as error:
            without = _NO_GRADIENT.search(str(error))
            if without is None:
                raise
            raise Unsupported(f"{NO_GRADIENT_OF} {without[1] or without[2]}") from error

    def _differentiate(self, *inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        # With a loss, only the weights are trained. Without a loss, every float input is differentiated too.
        indices = [] if self.model.loss else self.twin.float_inputs
        with tf.GradientTape() as tape:
            for index in indices:
                tape.watch(inputs[index])
            value = self.scalar(*inputs)
        # An integer has no gradient.
        weights = {
            path: variable
            for path, variable in self.weights.items()
            if is_differentiable(variable.dtype.as_numpy_dtype)
        }
        sources = weights | {self.twin.inputs[index]: inputs[index] for index in indices}
        gradients = tape.gradient(value, sources, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return {path: tf.convert_to_tensor(gradient) for path, gradient in gradients.items()}


_NO_GRADIENT = re.compile(
    r"gradient registry has no entry for: (\w+)|No gradient defined for operation.*\(op type: (\w+)\)"
)
"""TensorFlow's messages that an operation has no registered gradient: in eager mode, and in a function."""


def _as_step(step: Callable[..., Any]) -> Pass:
    return lambda *inputs: {"loss": step(*inputs)}


def as_variable(value: Any) -> tf.Variable:
    """The tf.Variable behind a tf.Variable or a Keras variable."""
    return value if isinstance(value, tf.Variable) else value.value


def own_name(value: Any) -> str:
    """The name of a variable in Keras or TensorFlow, after which its slots are named: "dense/kernel"."""
    return str(getattr(value, "path", None) or value.name.partition(":")[0])


def _build(twin: Twin, dtype: str, anew: bool) -> Model:
    target = resolve(twin.target, anew)
    if twin.builds:
        result = target(twin.dimensions, dtype)
        return result if isinstance(result, Model) else Model(result)
    target = with_own_traces(target)
    if not twin.weights:
        return Model(in_inference(target), state=written_in_calls(target))
    weights = {
        path: tf.Variable(tf.constant(array.astype(dtype) if array.dtype.kind == "f" else array))
        for path, array in twin.weights.items()
    }
    return Model(lambda *inputs: target(weights, *inputs), weights)


def in_inference(target: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself; for a Keras model or layer, its call in inference.

    A model gets its arrays in the nest that it takes. Stateful recurrent layers start every call from their current
    states and do not change them.
    """
    if isinstance(target, keras.Model):
        call = lambda *inputs: target(pack(target, list(inputs)), training=False)  # noqa: E731
    elif isinstance(target, keras.layers.Layer):
        call = lambda *inputs: target(*inputs, training=False)  # noqa: E731
    else:
        return target
    return without_states_left(call, recurrent_states_of(target))


def written_in_calls(target: Any, apart: Collection[int] = ()) -> dict[str, Any]:
    """The variables that a call of a Keras model or layer may write: every run resets them.

    Args:
      target: a model, a layer, or anything else, which has no such variables.
      apart: ids of variables to leave out.
    """
    if not isinstance(target, keras.layers.Layer):
        return {}
    return {
        f"{number} {own_name(variable)}": variable
        for number, variable in enumerate(target.non_trainable_variables)
        if id(variable) not in apart and variable.dtype != "string"
    }


def _check_weights(variables: Mapping[str, tf.Variable], arrays: Arrays, dtype: str) -> None:
    missing, more = sorted(arrays.keys() - variables.keys()), sorted(variables.keys() - arrays.keys())
    if missing or more:
        unlike = [f"{what} {_name_list(of)}" for what, of in (("without", missing), ("also", more)) if of]
        raise WeightsError(
            f"expected the {len(arrays)} weights of the workload, found the TensorFlow twin {' and '.join(unlike)}: "
            "map every weight exactly once"
        )
    for path, variable in variables.items():
        if tuple(variable.shape) != arrays[path].shape:
            raise WeightsError(
                f"expected weight {path!r} of shape {arrays[path].shape}, found {tuple(variable.shape)} in the "
                "TensorFlow twin: correct the map or the workload's weights"
            )
        if dtype == "float64" and variable.dtype.is_floating and variable.dtype != tf.float64:
            raise Unsupported(f"weight {path!r} stays {variable.dtype.name} when the twin is built in float64")


def _name_list(weights: Sequence[str], most: int = 8) -> str:
    more = f" and {len(weights) - most} more" if len(weights) > most else ""
    return f"{', '.join(map(repr, weights[:most]))}{more}"


def _contract(structure: Any) -> tf.Tensor:
    tensors = list(map(tf.convert_to_tensor, leaves(structure).values()))
    differentiable = [leaf for leaf in tensors if is_differentiable(leaf.dtype.as_numpy_dtype)]
    if not differentiable:
        raise Unsupported(NO_FLOAT_OUTPUT)
    floats = [
        part
        for leaf in differentiable
        for part in ([tf.math.real(leaf), tf.math.imag(leaf)] if leaf.dtype.is_complex else [leaf])
    ]
    terms = [tf.reduce_sum(leaf * _cotangent(leaf)) for leaf in floats]
    widest = max((term.dtype for term in terms), key=lambda dtype: dtype.size)
    return tf.add_n([tf.cast(term, widest) for term in terms])


def _cotangent(leaf: tf.Tensor) -> tf.Tensor:
    flat = tf.cast(tf.range(tf.size(leaf)) % COTANGENT_PERIOD, leaf.dtype)
    return tf.reshape((flat - COTANGENT_CENTRE) / COTANGENT_SCALE, tf.shape(leaf))
