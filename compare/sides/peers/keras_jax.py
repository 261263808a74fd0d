"""Keras 3 on its JAX backend: a Keras twin run without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import keras

from compare.sides.peers._peer import NotInstalled, Peer, Staged, on_device
from tf_reference import Model
from workloads.core.target import resolve
from workloads.core.tree import leaves
from workloads.protocol.framework import FORWARD, STEP, Twin, Unsupported

Values = dict[str, Any]


class KerasJax(Peer):
    """The twin's own functions, run inside keras.StatelessScope: variables go in and come out as values."""

    side = "keras_jax"
    _model: Model
    _start: Values
    _variables: dict[str, keras.Variable]

    def version(self) -> str:
        """The version of Keras."""
        return f"keras {keras.__version__}"

    def build(self, twin: Twin) -> None:
        """The twin as Keras builds it for JAX."""
        keras.utils.clear_session()
        # Keras makes what a layer raises anew from its text, which JAX's errors do not take: another error comes out. A
        # cleared session filters again.
        keras.config.disable_traceback_filtering()
        model = resolve(twin.target)(twin.dimensions, "float32") if twin.builds else None
        if not isinstance(model, Model) or not model.weights:
            raise Unsupported("its TensorFlow twin is not built of Keras layers")
        variables = {**model.weights, **{f"state/{name}": value for name, value in model.state.items()}}
        foreign = [path for path, variable in variables.items() if not isinstance(variable, keras.Variable)]
        if foreign:
            raise Unsupported(
                f"its TensorFlow twin is not built of Keras layers only: {foreign[0]} is no Keras variable"
            )
        self._model, self._variables = model, variables
        self._start = {path: variable.value for path, variable in variables.items()}

    def trains(self) -> bool:
        """Whether the twin has a step."""
        return self._model.step is not None

    def stage(self, pass_: str, case: str) -> Staged:
        """The pass as a function of the values of all variables."""
        if pass_ not in (FORWARD, STEP) or (pass_ == STEP and not self.trains()):
            raise Unsupported(f"the workload has no {pass_} pass")
        if pass_ == STEP and (self._model.optimizer is None or self._model.loss is None):
            raise Unsupported("its TensorFlow twin hands over no Keras optimizer (Model.optimizer), or no loss")
        values = self._start | on_device(self._twin.weights_of(case))
        if pass_ == FORWARD:
            return Staged(jax.jit(self._forward), values)
        return Staged(jax.jit(self._step), values, lambda values: {path: values[path] for path in self._model.weights})

    def _forward(self, values: Values, *inputs: jax.Array) -> Mapping[str, Any]:
        with _traced_by_jax(), self._scope(values):
            return leaves(self._model.forward(*inputs))

    def _step(self, values: Values, *inputs: jax.Array) -> tuple[Values, Any]:
        trainable = [path for path, variable in self._model.weights.items() if variable.trainable]

        def loss(weights: Values) -> tuple[Any, tuple[Any, Values]]:
            assert self._model.loss is not None
            with _traced_by_jax(), self._scope(values | weights) as scope:
                value = self._model.loss(*inputs)
                scaled_loss = self._model.optimizer.scale_loss(value)
            return scaled_loss, (value, self._after(scope))

        weights = {path: values[path] for path in trainable}
        gradients, (value, values) = jax.grad(loss, has_aux=True)(weights)
        with self._scope(values) as scope:
            variables = [self._variables[path] for path in trainable]
            self._model.optimizer.apply([gradients[path] for path in trainable], variables)
        return self._after(scope), value

    def _scope(self, values: Values) -> keras.StatelessScope:
        return keras.StatelessScope([(self._variables[path], value) for path, value in values.items()])

    def _after(self, scope: keras.StatelessScope) -> Values:
        return {path: scope.get_current_value(variable) for path, variable in self._variables.items()}


@contextmanager
def _traced_by_jax() -> Iterator[None]:
    try:
        yield
    except jax.errors.TracerArrayConversionError as error:
        raise Unsupported("its TensorFlow twin calls TensorFlow's own operations, which JAX cannot trace") from error


def create() -> KerasJax:
    """This peer's Framework.

    Raises:
      NotInstalled: Keras was imported with another backend.
    """
    if keras.backend.backend() != "jax":
        raise NotInstalled(f"expected Keras on JAX, found {keras.backend.backend()}: set KERAS_BACKEND=jax")
    return KerasJax()
