"""A Flax Linen module and its training step as the judges take them, by the receipt of its weights."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import traverse_util

from jaxport._carried_leaves import CarriedLeaves, check_places, leaves_of
from jaxport._linen_reading import KINDS
from jaxport._model import Model
from jaxport._module_floats import is_float_type
from jaxport._noted_gradients import NOTING
from jaxport._same_masks import drop_elements
from workloads.core import foreign

_MOST_BYTES = 256 << 20
_COLLECTIONS = {kind: collection for collection, kind in KINDS.items()}
_PARAMS = "params"
_RATES = ("rate", "dropout_rate")
"""Attributes that say how much is dropped by modules that draw for themselves."""


def linen_port(
    module: nn.Module,
    receipt: Path,
    dtype: str,
    *,
    inputs: int,
    loss: Callable[..., Any] | None = None,
    make_state: Callable[[Any], Any] | None = None,
    train_step: Callable[..., tuple[Any, jax.Array]] | None = None,
) -> Model:
    """A port of a Keras model for `jaxport run`, as `flax_port`, of a module of Linen.

    `nn.Dropout` drops the same in training as on TensorFlow's side; what else draws has rates of 0, as there.

    Args:
      receipt: the receipt that `jaxport weights` wrote of the module.
      inputs: the number of the workload's inputs that the module takes; the others are the targets.
      loss: (params, state, inputs, targets) -> scalar, or that and the collections that the call changed. By default
        that of the step: its gradients are then those that the step gives to its optimizer.
      make_state: variables by collection -> the `TrainState` before the first step. It has "params", and other
        collections by their names.
      train_step: (state, inputs, targets) -> (state, loss).
    """
    leaves, kind = _leaves(receipt), jnp.dtype(dtype)

    def forward(parameters: Any, *arguments: Any) -> Any:
        values = arguments[:inputs]
        check_places(_places(module, values), leaves, receipt)
        with _interception(kind):
            return module.apply(_differentiable(parameters), *values)

    if make_state is None or train_step is None:
        return Model(forward, leaves.there, leaves.back)

    def loss_of(parameters: Any, *arguments: Any) -> jax.Array:
        state, data = make_state(jax.lax.stop_gradient(parameters)), _data(arguments, inputs)
        with _interception(kind):
            if loss is None:
                return _loss_of_step(train_step, state, parameters[_PARAMS], data)
            value = loss(parameters[_PARAMS], state, *data)
        return value[0] if isinstance(value, tuple) else value

    def init(parameters: Any) -> Any:
        return jax.tree.map(jnp.asarray, _beside(make_state(parameters), parameters))

    def step(parameters: Any, state: Any, *arguments: Any) -> tuple[Any, Any, jax.Array]:
        before = make_state(parameters).replace(**state)
        with _interception(kind):
            after, value = train_step(before, *_data(arguments, inputs))
        return {name: getattr(after, name) for name in parameters}, _beside(after, parameters), value

    return Model(forward, leaves.there, leaves.back, loss=loss_of, init=init, step=step)


def _loss_of_step(step: Callable[..., Any], state: Any, params: Any, data: tuple[Any, Any]) -> jax.Array:
    """The loss of a step whose optimizer changes nothing: its gradients are those that the optimizer is given."""
    after, value = step(state.replace(tx=NOTING, opt_state=NOTING.init(state.params)), *data)
    # 0, with the gradient that was given in place of its own.
    terms = jax.tree.map(
        lambda gradient, weight, still: jnp.sum(jax.lax.stop_gradient(gradient) * (weight - still)),
        *(after.opt_state, params, state.params),
    )
    return value + sum(jax.tree.leaves(terms))


def _leaves(receipt: Path) -> CarriedLeaves:
    """The weights in a receipt, at places that begin with the collection."""
    foreign.check(receipt, _MOST_BYTES)
    descriptions = json.loads(receipt.read_bytes())["leaves"]
    return leaves_of([
        {**leaf, "variables": [{**variable, "path": _path(variable)} for variable in leaf["variables"]]}
        for leaf in descriptions
    ])  # fmt: skip


def _path(variable: Mapping[str, Any]) -> str:
    return f"{_COLLECTIONS.get(variable['kind'], variable['kind'])}.{variable['path']}"


def _places(module: nn.Module, inputs: Sequence[Any]) -> frozenset[Any]:
    """Where the variables of a module stand."""
    keys = {name: jax.random.key(0) for name in (_PARAMS, "dropout")}
    return frozenset(traverse_util.flatten_dict(jax.eval_shape(module.init, keys, *inputs)))


def _differentiable(parameters: Any) -> Any:
    """Variables that gradients are taken of: TensorFlow has none to statistics, which batch norms compute with."""
    return {name: tree if name == _PARAMS else jax.lax.stop_gradient(tree) for name, tree in parameters.items()}


def _data(arguments: Sequence[Any], inputs: int) -> tuple[Any, Any]:
    """Inputs and targets of a step."""
    targets = arguments[inputs:]
    return tuple(arguments[:inputs]), targets[0] if len(targets) == 1 else tuple(targets)


def _beside(state: Any, parameters: Any) -> dict[str, Any]:
    """The parts of a state that a step changes besides the variables, without keys: they draw nothing."""
    fields = (field for field in dataclasses.fields(state) if field.metadata.get("pytree_node", True))
    values = {field.name: getattr(state, field.name) for field in fields if field.name not in parameters}
    return {name: value for name, value in values.items() if not any(map(_is_key, jax.tree.leaves(value)))}


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _interception(dtype: Any) -> Any:
    """The context in which modules drop by place and compute in a float type."""
    return nn.intercept_methods(functools.partial(_call, dtype))


def _call(dtype: Any, call: Callable[..., Any], arguments: Any, keywords: Any, context: Any) -> Any:
    """The call of a module. `apply` has made it for this call alone."""
    module = context.module
    if dtype == jnp.float64 and is_float_type(getattr(module, "dtype", None)):
        # Mixed precision is rounding: float64 judges the rest.
        object.__setattr__(module, "dtype", dtype)
    if type(module) is nn.Dropout and context.method_name == "__call__":
        return _drop(module, *arguments, **keywords)
    if type(module).__module__.startswith("flax."):
        # A field of the user's own under such a name may be anything.
        for name in _RATES:
            if getattr(module, name, None):
                object.__setattr__(module, name, 0.0)
    return call(*arguments, **keywords)


def _drop(module: nn.Dropout, inputs: jax.Array, deterministic: bool | None = None, rng: Any = None) -> jax.Array:
    still = nn.merge_param("deterministic", module.deterministic, deterministic)
    if not still and module.rate > 0 and rng is None:
        # Nothing is drawn by it here, but without a key of this stream training fails.
        module.make_rng(module.rng_collection)
    return inputs if still else drop_elements(inputs, module.rate, module.broadcast_dims)
