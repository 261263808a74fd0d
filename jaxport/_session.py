"""One model in one float type: its passes as pure functions, and where each parameter comes from."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxport import _private
from jaxport._layouts import in_canonical_layout, keeps_layouts
from jaxport._model import Model, of_function
from workloads.core.spec import Arrays, dtype_in, is_differentiable, is_integer
from workloads.core.target import WeightsError, resolve
from workloads.core.tree import leaves
from workloads.protocol.framework import (
    COTANGENT_CENTRE,
    COTANGENT_PERIOD,
    COTANGENT_SCALE,
    FORWARD,
    GRADIENTS,
    STEP,
    UNROLLED,
    WEIGHTS,
    Twin,
    Unsupported,
)

_ROUNDING = 1e-6
"""The largest error, relative to the largest value, of scaling a weight in float32 and back."""

_WIDE = (np.float64, np.complex128)
_X64 = "JAX_ENABLE_X64"


class Session:
    """A built twin. Passes take (parameters, *inputs), a step (parameters, state, *inputs).

    `anew` also runs the module again that a twin is imported from: what it held may hold arrays of a trace.
    """

    def __init__(self, twin: Twin, dtype: str, anew: bool = False) -> None:
        self.twin = twin
        self.dtype = dtype
        self._inputs: dict[str, list[jax.Array]] = {}
        self._is_wide = dtype == "float64" or _keeps_64_bits(twin)
        # A setting of this thread would hide the one that the twin's code makes.
        with self.precision() if self._is_wide else nullcontext():
            self.model = _build(twin, dtype, anew)
        if not self._is_wide and _asks_for_64_bits():
            self._is_wide = True
            if not _has_64_bits():
                # JAX has read the environment long before: what the twin made is of 32 bits.
                with self.precision():
                    self.model = _build(twin, dtype, True)
        with self.precision():
            parameters = self.parameters(twin.first_case)
            self._check_weights(parameters)
            if twin.weights and not keeps_layouts(self.model, parameters):
                self.model = in_canonical_layout(self.model)

    def precision(self) -> AbstractContextManager[object]:
        """The setting under which everything of this session is traced and run."""
        # Without it JAX makes float32 of an input that is float64 in TensorFlow.
        return _private.enable_x64(self._is_wide)

    def inputs(self, arrays: Arrays) -> list[jax.Array]:
        """The inputs of one call, floats in this session's type.

        Args:
          arrays: by name, each in its spec's shape and dtype.
        """
        return [self._array(arrays[name]) for name in self.twin.inputs]

    def parameters(self, case: str, replacements: Arrays | None = None) -> Any:
        """The initial parameters of a run of this case, some of them replaced."""
        return self.parameters_of(self.twin.weights_of(case, replacements))

    def parameters_of(self, weights: Arrays) -> Any:
        """The parameters that hold some weights.

        Args:
          weights: all of them, by canonical path.
        """
        return self.model.from_weights({path: self._array(array) for path, array in weights.items()})

    def arguments(self, pass_: str, case: str, replacements: Arrays | None = None) -> list[Any]:
        """All arguments of a pass function.

        Args:
          replacements: inputs and weights in place of those of the case, by name.
        """
        parameters = self.parameters(case, replacements)
        state = [self.model.init(parameters)] if pass_ in (STEP, UNROLLED) and self.model.init else []
        if replacements:
            return [parameters, *state, *self.inputs({**self.twin.cases[case], **replacements})]
        inputs = self.inputs(self.twin.first_batches) if pass_ == UNROLLED else self.case_inputs(case)
        return [parameters, *state, *inputs]

    def case_inputs(self, case: str) -> list[jax.Array]:
        """The inputs of a case as arrays of their own, since a port may keep what it computed by the identity of one.

        They share their memory: at paper size one is a gigabyte.
        """
        if case not in self._inputs:
            with self.precision():
                self._inputs[case] = self.inputs(self.twin.cases[case])
        return [_private.another(array) for array in self._inputs[case]]

    def pass_function(self, pass_: str) -> Callable[..., Any]:
        """The function of one pass.

        Raises:
          Unsupported: the workload has no such pass.
        """
        if pass_ == FORWARD:
            return lambda parameters, *inputs: leaves(self.model.forward(parameters, *inputs))
        if pass_ == STEP and self.model.step is not None:
            return self.model.step
        if pass_ == UNROLLED and self.model.step is not None:
            return self._unroll
        if pass_ == GRADIENTS and self.twin.is_differentiable:
            return self._gradients
        raise Unsupported(f"the workload has no {pass_} pass")

    def apart(self, pass_: str) -> Callable[..., Any]:
        """The main pass of parts that are compiled each on its own.

        Raises:
          Unsupported: the twin hands over none.
        """
        function = self.model.apart
        if function is None:
            raise Unsupported("expected Model.apart, found none: hand over the main pass of compiled parts")
        return function if pass_ == STEP else lambda *arguments: leaves(function(*arguments))

    def by_weight(self, parameters: Any) -> dict[str, Any]:
        """A pytree like the parameters as `{canonical path: leaf}`."""
        return dict(self.model.to_weights(parameters)) if self.twin.weights else {}

    def fetch(self, leaf: str, value: Any) -> np.ndarray:
        """A result on the host; a weight in the dtype that it was given in, of which JAX without x64 kept 32 bits."""
        array = np.array(value)
        weight = self.twin.weights.get(leaf.removeprefix(WEIGHTS)) if leaf.startswith(WEIGHTS) else None
        if weight is None or not is_integer(weight.dtype) or array.dtype != jax.dtypes.canonicalize_dtype(weight.dtype):
            return array
        return array.astype(weight.dtype)

    def scalar(self, parameters: Any, *inputs: jax.Array) -> jax.Array:
        """The scalar that is differentiated: the loss, or without one all outputs times a fixed cotangent."""
        if self.model.loss is not None:
            return self.model.loss(parameters, *inputs)
        return _contract(self.model.forward(parameters, *inputs))

    def changed_weights(self, case: str) -> tuple[str, ...]:
        """Weights that `to_weights` does not give back as `from_weights` took them, but for rounding."""
        given_back = self.by_weight(self.parameters(case))
        return tuple(
            path
            for path, array in self.twin.weights_of(case).items()
            if path in given_back and not _alike(np.asarray(given_back[path], np.float64), array.astype(np.float64))
        )

    def _array(self, array: np.ndarray) -> jax.Array:
        return jnp.asarray(array.astype(dtype_in(array.dtype, self.dtype), copy=False))

    def _unroll(self, parameters: Any, state: Any, *batches: jax.Array) -> tuple[Any, Any, jax.Array]:
        """A step over batches [steps, ...]; the losses are [steps]."""
        step: Any = self.model.step

        def one(carry: tuple[Any, Any], batch: tuple[jax.Array, ...]) -> tuple[tuple[Any, Any], jax.Array]:
            parameters, state, loss = step(*carry, *batch)
            return (parameters, state), loss

        (parameters, state), losses = jax.lax.scan(one, (parameters, state), batches)
        return parameters, state, losses

    def _gradients(self, parameters: Any, *inputs: jax.Array) -> dict[str, jax.Array]:
        if self.model.loss is not None:
            gradients = jax.grad(self.model.loss, allow_int=True)(parameters, *inputs)
            return self._of_weights(gradients, parameters)
        indices = self.twin.float_inputs

        def contract(parameters: Any, values: list[jax.Array]) -> jax.Array:
            full = list(inputs)
            for index, value in zip(indices, values, strict=True):
                full[index] = value
            return _contract(self.model.forward(parameters, *full))

        inputs_watched = [inputs[index] for index in indices]
        of_parameters, of_inputs = jax.grad(contract, argnums=(0, 1), allow_int=True)(parameters, inputs_watched)
        by_input = {self.twin.inputs[index]: leaf for index, leaf in zip(indices, _ascending(of_inputs), strict=True)}
        return self._of_weights(of_parameters, parameters) | by_input

    def _of_weights(self, gradients: Any, parameters: Any) -> dict[str, jax.Array]:
        """The gradients of weights that have any, by canonical path: an integer has none."""
        by_path = self.by_weight(_ascending(_without_float0(gradients, parameters)))
        return {path: leaf for path, leaf in by_path.items() if is_differentiable(self.twin.weights[path].dtype)}

    def _check_weights(self, parameters: Any) -> None:
        given_back = self.by_weight(parameters)
        expected = self.twin.weights_of(self.twin.first_case)
        for path in expected.keys() | given_back.keys():
            want = expected[path].shape if path in expected else "no such weight"
            have = given_back[path].shape if path in given_back else "no such weight"
            if want != have:
                raise WeightsError(
                    f"expected weight {path!r} as {want}, found {have} after a round trip through the JAX twin: "
                    "correct from_weights and to_weights, or the workload's weights"
                )


def _alike(actual: np.ndarray, expected: np.ndarray) -> bool:
    scale = np.max(np.abs(expected), initial=0.0)
    return bool(np.allclose(actual, expected, rtol=0, atol=_ROUNDING * scale, equal_nan=True))


def _keeps_64_bits(twin: Twin) -> bool:
    """Whether to keep 64 bits: as the environment says, or else if an input is a float of 64 bits."""
    if _X64 in os.environ:
        return _has_64_bits()
    case = next(iter(twin.cases.values()))
    return any(case[name].dtype in _WIDE for name in twin.inputs)


def _asks_for_64_bits() -> bool:
    """Whether the code of the twin has turned 64-bit types on: in JAX's settings, or where JAX would have read it."""
    return _has_64_bits() or os.environ.get(_X64, "").lower() in ("y", "yes", "t", "true", "on", "1")


def _has_64_bits() -> bool:
    """Whether JAX keeps arrays of 64 bits now, in this thread."""
    return jax.dtypes.canonicalize_dtype(np.int64) == np.int64


def _build(twin: Twin, dtype: str, anew: bool) -> Model:
    target = resolve(twin.target, anew)
    if not twin.builds:
        return Model(target) if twin.weights else of_function(target)
    result = target(twin.dimensions, dtype)
    if isinstance(result, Model):
        return result
    return Model(result) if twin.weights else of_function(result)


def _without_float0(gradients: Any, of: Any) -> Any:
    """Gradients with zeros where JAX has a type without values: `to_weights` takes arrays."""

    def with_value(gradient: Any, value: Any) -> Any:
        return jnp.zeros_like(value) if gradient.dtype == jax.dtypes.float0 else gradient

    return jax.tree.map(with_value, gradients, of)


def _ascending(gradients: Any) -> Any:
    """Gradients as TensorFlow has them: JAX's of a complex number is the conjugate of the steepest ascent."""
    return jax.tree.map(lambda leaf: jnp.conj(leaf) if jnp.iscomplexobj(leaf) else leaf, gradients)


def _contract(structure: Any) -> jax.Array:
    differentiable = [leaf for leaf in map(jnp.asarray, leaves(structure).values()) if is_differentiable(leaf.dtype)]
    if not differentiable:
        raise Unsupported("no output is a float: there is no gradient to take")
    floats = [
        part for leaf in differentiable for part in ([leaf.real, leaf.imag] if jnp.iscomplexobj(leaf) else [leaf])
    ]
    return sum((jnp.sum(leaf * _cotangent(leaf)) for leaf in floats), start=jnp.zeros((), floats[0].dtype))


def _cotangent(leaf: jax.Array) -> jax.Array:
    flat = (jnp.arange(leaf.size) % COTANGENT_PERIOD).astype(leaf.dtype)
    return ((flat - COTANGENT_CENTRE) / COTANGENT_SCALE).reshape(leaf.shape)


def named_results(session: Session, pass_: str, results: Any) -> dict[str, Any]:
    """The results of a pass function under the leaf names that both sides use.

    Args:
      session: the twin in one float type.
      pass_: "forward", "gradients" or "step".
    """
    if pass_ not in (STEP, UNROLLED):
        return dict(results)
    parameters, state, loss = results
    weights = {WEIGHTS + path: leaf for path, leaf in session.by_weight(parameters).items()}
    return {"loss": loss} | weights | {f"state/{path}": leaf for path, leaf in leaves_by_path(state).items()}


def leaves_by_path(tree: Any) -> dict[str, Any]:
    """Leaves by their place in the pytree: "momentum/dense/kernel"."""
    flat = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in flat}
