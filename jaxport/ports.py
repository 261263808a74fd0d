"""A Flax NNX module and its training step as the judges take them, by the receipt of its weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx, traverse_util

from jaxport._carried_leaves import CarriedLeaves, check_places, leaves_of_receipt
from jaxport._linen_port import linen_port as linen_port
from jaxport._model import Model
from jaxport._module_floats import widen
from jaxport._noted_gradients import NOTING
from jaxport._port_states import check_start, state_places
from jaxport._same_masks import DRAWING_BY_PLACE, drop_by_place
from jaxport.stateful import RecurrentState
from workloads.core.written_port import with_states

_CARRIED = (nnx.Param, nnx.BatchStat, RecurrentState)
"""Variables that are parameters of a call; all others are constants."""

Optimizers = optax.GradientTransformation | Mapping[str, optax.GradientTransformation]
"""The optimizer of a step, or several by name."""

_RANDOM = ("rate", "dropout_rate")
"""Attributes that say how much is dropped by modules that draw for themselves."""


def flax_port(
    make: Callable[..., nnx.Module],
    receipt: Path,
    dtype: str,
    *,
    inputs: int,
    loss: Callable[..., jax.Array] | None = None,
    optimizer: Optimizers | None = None,
    train_step: Callable[..., jax.Array] | None = None,
    wrt: Any = nnx.Param,
) -> Model:
    """A port of a Keras model for `jaxport run`, whose weights go the way that `jaxport weights` planned.

    Dropout and noise draw the same in training as on TensorFlow's side; what else draws has rates of 0, as there.

    Args:
      make: the module, of rngs.
      receipt: the receipt that `jaxport weights` wrote of the module.
      dtype: the dtype in which the port is judged.
      inputs: the number of the workload's inputs that the module takes; the others are the targets.
      loss: (module, inputs, targets) -> scalar. By default that of the step: its gradients are then those that the step
        gives to its optimizers.
      optimizer: the optimizer of the step; several by name.
      train_step: (module, nnx.Optimizer, inputs, targets) -> loss, changing both. It is given a dict of several.
      wrt: the variables that the step trains, as a filter of nnx; by the names of several optimizers.
    """
    leaves = leaves_of_receipt(receipt)
    network = _Network(make, jnp.dtype(dtype))
    check_places(network.places, leaves, receipt)

    def forward(parameters: Any, *arguments: Any) -> Any:
        module = network.differentiable(parameters)
        module.eval()
        return _with_states(network, leaves, module(*arguments[:inputs]), module)

    if optimizer is None or train_step is None:
        return Model(forward, leaves.there, leaves.back)
    return _with_training(network, leaves, forward, _Training(loss, optimizer, train_step, wrt, inputs))


@dataclass(frozen=True)
class _Training:
    """See `flax_port`."""

    loss: Callable[..., jax.Array] | None
    optimizer: Optimizers
    train_step: Callable[..., jax.Array]
    wrt: Any
    inputs: int
    first: int = 0

    def data(self, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """Inputs and targets of a step: of all of the workload's, behind those for the forward pass alone."""
        end = self.first + self.inputs
        return tuple(arguments[self.first : end]), _targets(arguments[end:])

    def optimizers(self, module: nnx.Module, instead: optax.GradientTransformation | None = None) -> Any:
        """The optimizers of a module; with another transformation of gradients in the place of each."""
        if isinstance(self.optimizer, Mapping):
            return {
                name: nnx.Optimizer(module, instead or one, wrt=self.wrt[name]) for name, one in self.optimizer.items()
            }
        return nnx.Optimizer(module, instead or self.optimizer, wrt=self.wrt)


def _with_training(network: _Network, leaves: CarriedLeaves, forward: Callable[..., Any], training: _Training) -> Model:
    """A port with its training."""

    def loss_of(parameters: Any, *arguments: Any) -> jax.Array:
        data = training.data(arguments)
        if training.loss is None:
            return _loss_of_step(network, training, parameters, data)
        module = network.differentiable(parameters)
        module.train()
        return training.loss(module, *data)

    def init(parameters: Any) -> Any:
        return _pure(training.optimizers(network.module(parameters)))

    def step(parameters: Any, state: Any, *arguments: Any) -> tuple[Any, Any, jax.Array]:
        module: Any = network.module(parameters)
        # As a validation leaves it: a step that does not turn training on would train without.
        module.eval()
        optimizers = training.optimizers(module)
        _set_states(optimizers, state)
        value = training.train_step(module, optimizers, *training.data(arguments))
        return network.parameters(module), _pure(optimizers), value

    return Model(forward, leaves.there, leaves.back, loss=loss_of, init=init, step=step)


def _loss_of_step(network: _Network, training: _Training, parameters: Any, data: tuple[Any, Any]) -> jax.Array:
    """The loss of a step whose optimizers change nothing: its gradients are those that the optimizers are given."""
    still = jax.lax.stop_gradient(parameters)
    module: Any = network.module(still)
    module.eval()
    optimizers = training.optimizers(module, NOTING)
    value = training.train_step(module, optimizers, *data)
    weights, weights_still = _flat(parameters), _flat(still)
    for state in _each(_pure(optimizers), training):
        for place, gradient in _flat(state["opt_state"]).items():
            # 0, with the gradient that was given in place of its own.
            value += jnp.sum(jax.lax.stop_gradient(gradient) * (weights[place] - weights_still[place]))
    return value


def _flat(tree: Any) -> dict[Any, Any]:
    """The arrays of nested dicts by their places."""
    return dict(traverse_util.flatten_dict(tree))


def _each(states: Any, training: _Training) -> Sequence[Any]:
    return list(states.values()) if isinstance(training.optimizer, Mapping) else [states]


def _pure(optimizers: Any) -> Any:
    """The states of one or several optimizers as arrays."""
    if isinstance(optimizers, Mapping):
        return {name: nnx.to_pure_dict(nnx.state(one)) for name, one in optimizers.items()}
    return nnx.to_pure_dict(nnx.state(optimizers))


def _set_states(optimizers: Any, states: Any) -> None:
    """Set one or several optimizers to where the step before left them."""
    if isinstance(optimizers, Mapping):
        for name, one in optimizers.items():
            _set_states(one, states[name])
        return
    own_state = nnx.state(optimizers)
    nnx.replace_by_pure_dict(own_state, states)
    nnx.update(optimizers, own_state)


def flax_rest(
    make: Callable[..., nnx.Module],
    receipt: Path,
    dtype: str,
    *,
    parts: Sequence[tuple[str, str, int, Sequence[tuple[type[nnx.Module], str]]]],
    step_inputs: int = 0,
    optimizer: Optimizers | None = None,
    train_step: Callable[..., jax.Array] | None = None,
    wrt: Any = nnx.Param,
) -> Model:
    """Modules of a port without the methods that are left to be written: inputs stand for what these return.

    What each of them is given is a result too, so that what lies before it is judged as well.

    Args:
      make: the module of the whole, of rngs.
      receipt: the receipt that `jaxport weights` wrote of the module.
      dtype: the dtype in which the port is judged.
      parts: of each module the name of its result, its path in the whole, "" the whole itself, how many of the
        workload's inputs it takes, and the methods that are left in it, each as a class and a name: inputs that stand
        for their results follow, in order.
      step_inputs: the number of inputs after these that the step is trained on.
      optimizer: the optimizer, as in `flax_port`.
      train_step: likewise.
      wrt: likewise.
    """
    leaves = leaves_of_receipt(receipt)
    network = _Network(make, jnp.dtype(dtype))
    stands = {name: [_StandIn(*place) for place in places] for name, _, _, places in parts}

    def forward(parameters: Any, *arguments: Any) -> Any:
        whole = network.differentiable(parameters)
        whole.eval()
        rest, results = list(arguments), {}
        for name, path, count, _ in parts:
            inputs, rest = rest[:count], rest[count:]
            for stand in stands[name]:
                stand.value = rest.pop(0)
            results[name] = _module_at(whole, path)(*inputs)
        stand_in_inputs = [stand.given for of_part in stands.values() for stand in of_part]
        return _with_states(network, leaves, {"result": results.get("", results), "given": stand_in_inputs}, whole)

    if optimizer is None or train_step is None:
        return Model(forward, leaves.there, leaves.back)
    first = sum(count for _, _, count, _ in parts)
    return _with_training(network, leaves, forward, _Training(None, optimizer, train_step, wrt, step_inputs, first))


def _with_states(network: _Network, leaves: CarriedLeaves, result: Any, module: nnx.Module) -> Any:
    """The result of a call with the states that it left in the module."""
    if not network.states:
        return result
    arrays = leaves.back(network.parameters(module))
    states = (leaf.key for leaf in leaves.all if network.states.issuperset(leaf.places))
    return with_states(result, {key: arrays[key] for key in states})


def _module_at(module: nnx.Module, path: str) -> Any:
    """The module at a path in another one."""
    return functools.reduce(getattr, path.split("."), module) if path else module


class _StandIn:
    """A method that returns preset values, and keeps its arguments.

    Attributes:
      value: the value that the next call returns.
      given: it last.
    """

    def __init__(self, owner: type[nnx.Module], name: str) -> None:
        self.value: Any = None
        self.given: list[Any] = []
        setattr(owner, name, lambda module, *arguments: self._return(arguments))

    def _return(self, arguments: Sequence[Any]) -> Any:
        self.given = list(arguments)
        return self.value


def _targets(arguments: Sequence[Any]) -> Any:
    return arguments[0] if len(arguments) == 1 else tuple(arguments)


class _Network:
    """A module without weights, and one with them; random states are constants, since nothing is drawn."""

    def __init__(self, make: Callable[..., nnx.Module], dtype: Any) -> None:
        abstract: Any = nnx.eval_shape(lambda: make(rngs=nnx.Rngs(0)))
        abstract.set_attributes(param_dtype=dtype, raise_if_not_found=False)
        if dtype == jnp.float64:
            # Mixed precision is rounding: float64 judges the rest.
            widen(abstract, dtype)
        drop_by_place(abstract)
        others = nnx.Not(nnx.Any(*DRAWING_BY_PLACE))
        for name in _RANDOM:
            abstract.set_attributes(others, raise_if_not_found=False, **{name: 0.0})
        self.states = state_places(abstract)
        if self.states:
            check_start(make)
        self._graph, weights, others = nnx.split(abstract, _CARRIED, ...)
        self.places = frozenset(traverse_util.flatten_dict(nnx.to_pure_dict(weights)))
        self._others = jax.tree.map(_constant, nnx.to_pure_dict(others))

    def module(self, parameters: Any) -> nnx.Module:
        return nnx.merge(self._graph, parameters, self._others)

    def differentiable(self, parameters: Any) -> Any:
        """A module that gradients are taken of: TensorFlow has none to statistics, which batch norms compute with."""
        graph, weights, others = nnx.split(self.module(parameters), nnx.Param, ...)
        return nnx.merge(graph, weights, jax.lax.stop_gradient(others))

    def parameters(self, module: nnx.Module) -> Any:
        return nnx.to_pure_dict(nnx.split(module, _CARRIED, ...)[1])


def _constant(spec: Any) -> Any:
    return jax.random.key(0) if jnp.issubdtype(spec.dtype, jax.dtypes.prng_key) else jnp.zeros(spec.shape, spec.dtype)


def own_gradient(backward: Callable[..., Any], results: Any, inputs: Any, residuals: Any) -> Any:
    """The results as they are, with gradients of their own, as tf.custom_gradient gives them to inputs.

    The results themselves are not differentiated: what leads to them may hold loops that JAX has no reverse mode of.

    Args:
      backward: (*residuals, *gradients of the results) -> a gradient for each input.
      results: a tuple of arrays.
      inputs: those that gradients go to.
      residuals: the values of the forward pass that the backward pass needs.
    """
    return _own_gradient(backward, jax.lax.stop_gradient(results), inputs, residuals)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _own_gradient(backward: Callable[..., Any], results: Any, inputs: Any, residuals: Any) -> Any:
    return results


def _own_forward(backward: Callable[..., Any], results: Any, inputs: Any, residuals: Any) -> tuple[Any, Any]:
    return results, residuals


def _own_backward(backward: Callable[..., Any], residuals: Any, gradients: Any) -> tuple[Any, Any, Any]:
    return None, tuple(backward(*residuals, *gradients)), None


_own_gradient.defvjp(_own_forward, _own_backward)
